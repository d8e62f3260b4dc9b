/**
 * The service on `Deno.serve`.
 *
 * @module
 */

import { systemClock, within } from "../../core/base/clock.ts";
import type { Service } from "../../core/service.ts";
import { respond } from "./respond.ts";
import {
  addressIn,
  lastAnswersMs,
  type RunningServer,
  requireService,
  type ServeOptions,
  urlOf,
} from "./running-server.ts";

export type { RunningServer, ServeOptions } from "./running-server.ts";

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
  const listener = new Listener(host, port, (request) => respond(service, request, how));
  const close: RunningServer["close"] = async ({ graceMs } = {}) => {
    closing = true;
    const sent = listener.close();
    await service.close({ graceMs });
    await within(systemClock, lastAnswersMs, sent);
  };
  return { url: urlOf(listener.addr.hostname, listener.addr.port), close, [Symbol.asyncDispose]: close };
}

/** Listens on a port, again and again: Deno gives up when no file descriptor is left, as any client can cause. */
class Listener {
  readonly addr: DenoServer["addr"];
  readonly #host: string;
  readonly #respondTo: (request: Request) => Promise<Response>;
  /** Servers that stop, with answers still to be sent. */
  readonly #stopping = new Set<Promise<void>>();
  #server: DenoServer;
  #closing = false;

  constructor(host: string, port: number, respondTo: (request: Request) => Promise<Response>) {
    this.#host = host;
    this.#respondTo = respondTo;
    this.#server = this.#listen(port);
    this.addr = this.#server.addr;
  }

  /** Stops listening. Resolves once all answers are sent. */
  async close(): Promise<void> {
    this.#closing = true;
    this.#stop(this.#server);
    await Promise.all(this.#stopping);
  }

  #listen(port: number): DenoServer {
    const started = Deno.serve({ hostname: this.#host, port, onListen() {} }, this.#respondTo);
    started.finished.catch(() => {
      if (this.#closing) return;
      this.#stop(started); // closes its idle connections
      systemClock.after(pauseMs, () => this.#listenAgain());
    });
    return started;
  }

  #listenAgain(): void {
    if (this.#closing) return;
    try {
      this.#server = this.#listen(this.addr.port);
    } catch {
      systemClock.after(pauseMs, () => this.#listenAgain());
    }
  }

  #stop(stopped: DenoServer): void {
    const sent = stopped
      .shutdown()
      .catch(() => {}) // as `finished`
      .finally(() => this.#stopping.delete(sent));
    this.#stopping.add(sent);
  }
}
