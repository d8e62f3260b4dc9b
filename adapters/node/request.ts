/**
 * A `node:http` request as the service reads it. Nothing is built before it is needed.
 *
 * @module
 */

import type { IncomingMessage, ServerResponse } from "node:http";
import { maxBodyBytes } from "../../core/http/body.ts";
import type { ApiError } from "../../core/wire/errors.ts";
import type { ClientSignal, IncomingRequest, RequestBody, RequestHeaders } from "../../core/wire/request.ts";
import { headError, readField } from "../http/header-section.ts";

/**
 * The header section as it arrived, names and values in turn. Hosts that simulate a request, such as `serverless-http`,
 * may only provide the fields as an object.
 */
export function rawHeadersOf(message: IncomingMessage): readonly string[] {
  const { rawHeaders = [] }: Partial<IncomingMessage> = message;
  if (rawHeaders.length > 0) return rawHeaders;
  return Object.entries(message.headers).flatMap(([name, values = []]) =>
    [values].flat().flatMap((value) => [name, String(value)]),
  );
}

/** What is wrong with a head that Node's parser accepts. */
export function framingError(message: IncomingMessage): ApiError | undefined {
  return headError({ httpVersion: message.httpVersion, rawHeaders: rawHeadersOf(message) });
}

export class NodeRequest implements IncomingRequest, RequestHeaders, ClientSignal {
  readonly #message: IncomingMessage;
  readonly #response: ServerResponse;
  /** Whether somebody waits or has waited for more of the body. */
  #awaitsBody = false;
  readonly #closeListeners: (() => void)[] = [];

  constructor(message: IncomingMessage, response: ServerResponse) {
    this.#message = message;
    this.#response = response;
  }

  get method(): string {
    return this.#message.method ?? "";
  }

  /** The full path, even if a framework removed its mount point from `url`. */
  get url(): string {
    const { originalUrl, url = "" } = this.#message as IncomingMessage & { readonly originalUrl?: string };
    return originalUrl ?? url;
  }

  get headers(): RequestHeaders {
    return this;
  }

  /**
   * As it was sent, because `message.headers` drops a second Authorization, unless the host has changed it there, for
   * example to use its own sessions.
   */
  get(name: string): string | null {
    const told = this.#message.headers[name.toLowerCase()];
    if (told === undefined) return null;
    const value = String(told);
    const sent = readField(rawHeadersOf(this.#message), name);
    return sent?.startsWith(`${value}, `) ? sent : value; // Node keeps the first of several
  }

  get body(): RequestBody {
    if (this.#keptBody) return [this.#keptBody];
    // A short body usually arrives with its head: then there is nothing to wait for.
    this.#awaitsBody = !this.#hasArrived;
    if (this.#awaitsBody) return this.#message.iterator({ destroyOnReturn: false });
    const arrived = this.#takeArrived();
    this.#message.resume(); // to its end, which may not have been reported yet
    return arrived;
  }

  get bodyUsed(): boolean {
    return this.#message.readableEnded && !this.#keptBody;
  }

  /** The body, if the host has read it and kept its bytes, as cloud functions do and body parsers can. */
  get #keptBody(): Uint8Array | undefined {
    const { rawBody } = this.#message as IncomingMessage & { readonly rawBody?: unknown };
    return rawBody instanceof Uint8Array ? rawBody : undefined;
  }

  /** A read returns everything that has arrived or, since Node 26, one of the pieces in which it arrived. */
  #takeArrived(): Buffer[] {
    const pieces: Buffer[] = [];
    for (let piece = this.#message.read(); piece !== null; piece = this.#message.read()) pieces.push(piece);
    return pieces;
  }

  /** Node runs other code between the last byte of a body and the report of its end. */
  get #hasArrived(): boolean {
    const { complete, readableLength } = this.#message;
    return complete || (readableLength > 0 && String(readableLength) === this.get("content-length"));
  }

  /**
   * Aborts when the response closes, even after the answer was sent. A real `AbortSignal` would cost a sixth of a send
   * with the memory store.
   */
  get signal(): ClientSignal {
    return this;
  }

  get aborted(): boolean {
    return this.#response.destroyed;
  }

  /**
   * The response gets one listener for all of ours. For several, it would copy their list each time, and V8 may
   * allocate those copies in the old generation, where they keep everything that the listeners reference.
   */
  addEventListener(_type: "abort", listener: () => void): void {
    if (this.#closeListeners.push(listener) === 1) this.#response.on("close", this.#tellClosed);
  }

  removeEventListener(_type: "abort", listener: () => void): void {
    const index = this.#closeListeners.indexOf(listener);
    if (index >= 0) this.#closeListeners.splice(index, 1);
  }

  readonly #tellClosed = (): void => {
    for (const listener of this.#closeListeners.splice(0)) listener();
  };

  /** Whether more of the body may follow than is worth skipping to reach the next request. */
  get leavesBodyUnread(): boolean {
    const { complete, headers } = this.#message;
    if (complete) return false;
    if (this.#awaitsBody) return true; // it arrived too late, or was too long
    return (
      headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > maxBodyBytes
    );
  }
}
