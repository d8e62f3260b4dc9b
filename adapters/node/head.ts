/**
 * The head of a `node:http` request: its fields, read once, and what is refused beyond what Node's parser refuses.
 *
 * @module
 */

import type { IncomingMessage } from "node:http";
import { ApiError } from "../../core/wire/errors.ts";
import type { RequestHeaders } from "../../core/wire/request.ts";
import { bodyFieldsError, maxHeaderFields, tooManyHeaders } from "../http/header-section.ts";

/** A request's head. */
export class NodeHead implements RequestHeaders {
  readonly #message: IncomingMessage;
  /** The fields as they were sent, by their names in lower case. Those that were sent twice are joined. */
  readonly #sent = new Map<string, string>();
  #count = 0;

  constructor(message: IncomingMessage) {
    this.#message = message;
    const lines = linesOf(message);
    for (let index = 0; index < lines.length; index += 2) this.#add(lines[index], lines[index + 1]);
  }

  #add(name = "", value = ""): void {
    const field = name.toLowerCase();
    const before = this.#sent.get(field);
    const text = String(value); // a simulated request may have a number as its length
    this.#sent.set(field, before === undefined ? text : `${before}, ${text}`);
    this.#count++;
  }

  /**
   * As it was sent, because Node's `headers` drop a second Authorization, unless the host has changed it there, for
   * example to use its own sessions.
   */
  get(name: string): string | null {
    const field = name.toLowerCase();
    const told = this.#message.headers[field];
    if (told === undefined) return null;
    const value = String(told);
    const sent = this.#sent.get(field);
    return sent?.startsWith(`${value}, `) ? sent : value; // Node keeps the first of several
  }

  /** What is wrong with a head that Node's parser accepts. */
  get error(): ApiError | undefined {
    const { httpVersion } = this.#message;
    if (httpVersion !== "1.1" && httpVersion !== "1.0") {
      return invalid("The protocol must be HTTP/1.1 or HTTP/1.0.");
    }
    if (this.#count > maxHeaderFields) return tooManyHeaders();
    const host = this.#sent.get("host");
    if (host === undefined ? httpVersion === "1.1" : host.includes(",")) {
      return invalid("There must be exactly one Host header.");
    }
    if (httpVersion === "1.0" && this.#sent.has("transfer-encoding")) {
      return invalid("There is no Transfer-Encoding in HTTP/1.0.");
    }
    return bodyFieldsError({ get: (name) => this.#sent.get(name) ?? null });
  }
}

/**
 * The fields as they arrived, names and values in turn. Hosts that simulate a request, such as `serverless-http`, may
 * only provide them as an object.
 */
function linesOf(message: IncomingMessage): readonly string[] {
  const { rawHeaders = [] }: Partial<IncomingMessage> = message;
  if (rawHeaders.length > 0) return rawHeaders;
  return Object.entries(message.headers).flatMap(([name, values = []]) =>
    [values].flat().flatMap((value) => [name, value]),
  );
}

function invalid(message: string): ApiError {
  return new ApiError("invalid_request", message);
}
