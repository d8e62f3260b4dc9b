/**
 * The service on `Deno.serve`.
 *
 * @module
 */

import { systemClock, within } from "../../core/base/clock.ts";
import type { Service } from "../../core/service.ts";
import {
  addressIn,
  lastAnswersMs,
  type RunningServer,
  requireService,
  type ServeOptions,
  urlOf,
} from "../http/running-server.ts";
import { respond } from "./respond.ts";

export type { RunningServer, ServeOptions } from "../http/running-server.ts";

/** The part of Deno that is used here, so that this file type-checks without Deno's own types. */
declare const Deno: {
  serve(
    options: { readonly hostname: string; readonly port: number; onListen(): void },
    handler: (request: Request) => Promise<Response>,
  ): DenoServer;
};

interface DenoServer {
  readonly addr: { readonly hostname: string; readonly port: number };
  /** Rejects if it stops listening because a connection could not be accepted. */
  readonly finished: Promise<void>;
  shutdown(): Promise<void>;
}

/** How long to wait before listening again, in milliseconds. */
const pauseMs = 100;

/**
 * Starts a server. Rejects if it cannot listen, and with a `TypeError` for an empty host or anything but a service.
 *
 * @example
 * ```ts
 * import { serve } from "twin-service/deno";
 *
 * const server = await serve(service, { port: 8787 });
 * ```
 */
export async function serve(service: Service, options: ServeOptions = {}): Promise<RunningServer> {
  requireService(service);
  const { host, port } = addressIn(options);
  let closing = false;
  const how = { isClosing: () => closing, keepsBodies: true };
  const respondTo = (request: Request) => respond(service, request, how);
  /** Servers that stop, with answers still to be sent. */
  const stopping = new Set<Promise<void>>();
  let server = listen(port);
  const { addr } = server;

  function listen(port: number): DenoServer {
    const started = Deno.serve({ hostname: host, port, onListen() {} }, respondTo);
    // It gives up when no file descriptor is left. Any client may cause that, with idle connections.
    started.finished.catch(() => {
      if (closing) return;
      stop(started); // closes the idle ones
      systemClock.after(pauseMs, listenAgain);
    });
    return started;
  }

  function listenAgain(): void {
    if (closing) return;
    try {
      server = listen(addr.port);
    } catch {
      systemClock.after(pauseMs, listenAgain);
    }
  }

  function stop(stopped: DenoServer): void {
    const sent = stopped
      .shutdown()
      .catch(() => {}) // as `finished`
      .finally(() => stopping.delete(sent));
    stopping.add(sent);
  }

  return {
    url: urlOf(addr.hostname, addr.port),
    async close({ graceMs } = {}) {
      closing = true;
      stop(server);
      await service.close({ graceMs });
      await within(systemClock, lastAnswersMs, Promise.all(stopping));
    },
  };
}
