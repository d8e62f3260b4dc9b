/**
 * The service on `Bun.serve`.
 *
 * @module
 */

import { lookup } from "node:dns/promises";
import { setImmediate as nextTurn } from "node:timers/promises";
import { systemClock, within } from "../../core/base/clock.ts";
import type { Service } from "../../core/service.ts";
import { respond } from "./respond.ts";
import {
  addressIn,
  keepAliveMs,
  lastAnswersMs,
  type RunningServer,
  requireService,
  type ServeOptions,
  urlOf,
} from "./running-server.ts";

export type { RunningServer, ServeOptions } from "./running-server.ts";

/** The part of Bun that is used here, so that this file type-checks without Bun's own types. */
declare const Bun: {
  serve(options: {
    readonly hostname: string;
    readonly port: number;
    readonly idleTimeout: number;
    readonly development: boolean;
    readonly reusePort: boolean;
    readonly maxRequestBodySize: number;
    fetch(request: Request): Promise<Response>;
  }): BunServer;
};

interface BunServer {
  readonly port: number;
  readonly hostname: string;
  /** Sets how long the request's connection may be silent from now on. 0: forever. */
  timeout(request: Request, seconds: number): void;
  stop(closeConnections?: boolean): Promise<void>;
}

/** How long a connection may be silent while nothing is streamed on it, in seconds. */
const idleSeconds = keepAliveMs / 1000;

/**
 * How many requests are answered without a pause in one turn of the event loop. In one packet, Bun finds any number of
 * pipelined requests, and handles nothing else until it has called back for each. An answer that is not ready at once
 * makes it close that connection.
 */
const mostInATurn = 200;

/**
 * Starts a server. Rejects if it cannot listen, and with a `TypeError` for an empty host or anything but a service.
 *
 * @example
 * ```ts
 * import { serve } from "twin-service/bun";
 *
 * const server = await serve(service, { port: 8787 });
 * ```
 */
export async function serve(service: Service, options: ServeOptions = {}): Promise<RunningServer> {
  requireService(service);
  const { host, port } = addressIn(options);
  await lookup(host); // for an unknown host name, Bun would report that the port is in use
  let closing = false;
  const inTurn = createTurns();
  const how = {
    isClosing: () => closing,
    drainsBodies: true,
    answered: (request: Request) => server.timeout(request, idleSeconds),
  };
  const server = Bun.serve({
    hostname: host,
    port,
    idleTimeout: idleSeconds,
    development: false,
    reusePort: false, // the default without `development` is true: two servers would share a port and the requests
    maxRequestBodySize: Number.MAX_SAFE_INTEGER, // the service refuses long bodies with its own error
    fetch(request) {
      server.timeout(request, 0); // the service has limits of its own: for bodies, replies, stalled readers
      return inTurn(() => respond(service, request, how));
    },
  });

  const close: RunningServer["close"] = async ({ graceMs } = {}) => {
    closing = true;
    const sent = server.stop();
    await service.close({ graceMs });
    await within(systemClock, lastAnswersMs, sent);
    await server.stop(true); // connections whose request is incomplete
  };
  return { url: urlOf(server.hostname, server.port), close, [Symbol.asyncDispose]: close };
}

/** Creates a function that answers at most {@link mostInATurn} requests in a turn, and the others in the next one. */
function createTurns(): (answer: () => Promise<Response>) => Promise<Response> {
  let begun = 0;
  const endTurn = () => {
    begun = 0;
  };
  return (answer) => {
    if (begun === 0) setImmediate(endTurn);
    begun++;
    return begun > mostInATurn ? nextTurn().then(answer) : answer();
  };
}
