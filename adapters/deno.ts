/**
 * The service on `Deno.serve`.
 *
 * @module
 */

import { systemClock, within } from "../core/clock.ts";
import type { Service } from "../core/service.ts";
import { lastAnswersMs, type RunningServer, type ServeOptions, urlOf } from "./running-server.ts";
import { respond } from "./web-server.ts";

export type { RunningServer, ServeOptions } from "./running-server.ts";

/** The part of Deno that is used here, so that this file type-checks without Deno's own types. */
declare const Deno: {
  serve(
    options: { readonly hostname: string; readonly port: number; onListen(): void },
    handler: (request: Request) => Promise<Response>,
  ): {
    readonly addr: { readonly hostname: string; readonly port: number };
    shutdown(): Promise<void>;
  };
};

/**
 * Starts a server. Rejects if it cannot listen.
 *
 * @example
 * ```ts
 * import { serve } from "twin-service/deno";
 *
 * const server = await serve(service, { port: 8787 });
 * ```
 */
export async function serve(service: Service, options: ServeOptions = {}): Promise<RunningServer> {
  const { host = "127.0.0.1", port = 8787 } = options;
  let closing = false;
  const how = { isClosing: () => closing, keepsBodies: true };
  const server = Deno.serve({ hostname: host, port, onListen() {} }, (request) =>
    respond(service, request, how),
  );

  return {
    url: urlOf(server.addr.hostname, server.addr.port),
    async close({ graceMs } = {}) {
      closing = true;
      const sent = server.shutdown();
      await service.close({ graceMs });
      await within(systemClock, lastAnswersMs, sent);
    },
  };
}
