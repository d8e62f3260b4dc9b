/**
 * The service on `Bun.serve`.
 *
 * @module
 */

import type { Service } from "../core/service.ts";
import type { RunningServer, ServeOptions } from "./node.ts";
import { lastAnswers, refuseHeaders, urlOf } from "./web-server.ts";

export type { RunningServer, ServeOptions } from "./node.ts";

/** The part of Bun that is used here, so that this file can be checked without Bun's own types. */
declare const Bun: {
  serve(options: {
    readonly hostname: string;
    readonly port: number;
    readonly idleTimeout: number;
    readonly development: boolean;
    fetch(request: Request): Promise<Response>;
  }): {
    readonly port: number;
    readonly hostname: string;
    stop(closeConnections?: boolean): Promise<void>;
  };
};

/**
 * Starts a server. Rejects if it cannot listen.
 *
 * @example
 * ```ts
 * import { serve } from "twin-service/bun";
 *
 * const server = await serve(service, { port: 8787 });
 * ```
 */
export async function serve(service: Service, options: ServeOptions = {}): Promise<RunningServer> {
  const { host = "127.0.0.1", port = 8787 } = options;
  const server = Bun.serve({
    hostname: host,
    port,
    idleTimeout: 0, // Bun would cut a stream that is silent for ten seconds
    development: false,
    async fetch(request) {
      return refuseHeaders(service, request.headers) ?? (await service.fetch(request));
    },
  });

  return {
    url: urlOf(server.hostname, server.port),
    async close({ graceMs } = {}) {
      const sent = server.stop();
      await service.close(graceMs === undefined ? {} : { graceMs });
      await lastAnswers(sent);
      await server.stop(true); // connections that never sent a request
    },
  };
}
