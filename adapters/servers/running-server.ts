/**
 * What the servers of all runtimes have in common.
 *
 * @module
 */

import { hasMethods, unusable } from "../../core/base/rules.ts";
import type { Service } from "../../core/service.ts";

/** Options of a runtime's `serve`. */
export interface ServeOptions {
  /** A name or an address. Default `127.0.0.1`. */
  readonly host?: string | undefined;
  /** Default 8787; 0 picks a free port. */
  readonly port?: number | undefined;
}

/** A server that listens. `await using` closes it. */
export interface RunningServer extends AsyncDisposable {
  /** Where it listens, such as `http://127.0.0.1:8787`. */
  readonly url: string;
  /**
   * Refuses new connections, closes the service with `graceMs` milliseconds for running replies (default 25,000), then
   * closes the connections.
   */
  close(options?: { readonly graceMs?: number | undefined }): Promise<void>;
}

/**
 * Checks what a server is created for, because it would only be missed at the first request.
 *
 * @throws {TypeError} for anything but a service, such as a promise of one.
 */
export function requireService(service: Service): void {
  if (hasMethods(service, ["answer", "refuse"])) return;
  throw unusable("The service", "what createService() returns", service);
}

/**
 * Where a server listens.
 *
 * @throws {TypeError} for an empty host, as of an empty variable: on Node, that is all addresses of the machine.
 */
export function addressIn({ host = "127.0.0.1", port = 8787 }: ServeOptions) {
  if (host === "") throw unusable("serve: host", "a name or an address", host);
  return { host, port };
}

/** How long idle connections stay open, in milliseconds: longer than load balancers keep theirs. */
export const keepAliveMs = 65_000;

/** How long the last answers may take to reach their readers once the service is closed, in milliseconds. */
export const lastAnswersMs = 5_000;

/** The address of a server, such as `http://127.0.0.1:8787`. */
export function urlOf(host: string, port: number): string {
  return `http://${host.includes(":") ? `[${host}]` : host}:${port}`;
}
