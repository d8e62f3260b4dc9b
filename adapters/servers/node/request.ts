/**
 * A `node:http` request as the service reads it, and what is refused of its head beyond what Node's parser refuses.
 *
 * @module
 */

import type { IncomingMessage, ServerResponse } from "node:http";
import { maxBodyBytes, requireFewPieces } from "../../../core/http/body.ts";
import { ApiError } from "../../../core/wire/errors.ts";
import type {
  ClientSignal,
  IncomingRequest,
  RequestBody,
  RequestHeaders,
} from "../../../core/wire/request.ts";
import { bodyFieldsError, maxHeaderFields, tooManyHeaders } from "../header-section.ts";
import { JoinedMessage } from "./joined-message.ts";

/** Where hosts keep a body that they have read. */
interface HostBody {
  readonly rawBody?: unknown;
  readonly body?: unknown;
}

/** What a host's parser has made of a body. Where it parses when it is asked, as Vercel's does, invalid JSON is thrown then. */
function parsedBody(message: HostBody): unknown {
  try {
    return message.body;
  } catch {
    return "not JSON";
  }
}

/** A request and the response to it. */
export class NodeRequest implements IncomingRequest, ClientSignal {
  readonly headers: NodeHead;
  readonly response: ServerResponse;
  readonly #message: IncomingMessage;
  /** Whether the client waits for `100 Continue`, which Node then leaves to its host. */
  #awaitsContinue: boolean;
  /** Whether the service waits or has waited for more of the body. */
  #awaitsBody = false;
  /** Why the rest of the body will not arrive. */
  #broken: Error | undefined;
  readonly #closeListeners: (() => void)[] = [];

  constructor(message: IncomingMessage, response: ServerResponse, awaitsContinue = false) {
    this.#message = message;
    this.response = response;
    this.headers = new NodeHead(message);
    this.#awaitsContinue = awaitsContinue;
  }

  get socket(): unknown {
    return this.#message.socket;
  }

  get original(): IncomingMessage {
    return this.#message;
  }

  get method(): string {
    return this.#message.method ?? "";
  }

  /** The full path, even if a framework removed its mount point from `url`. */
  get url(): string {
    const { originalUrl, url = "" } = this.#message as IncomingMessage & { readonly originalUrl?: string };
    return originalUrl ?? url;
  }

  /** Reading this property sends `100 Continue` to a client that waits for it. */
  get body(): RequestBody {
    if (this.#keptBody) return [this.#keptBody];
    if (this.#awaitsContinue) this.response.writeContinue();
    this.#awaitsContinue = false;
    // A short body usually arrives with its head: then there is nothing to wait for.
    this.#awaitsBody = !this.#hasArrived;
    if (this.#awaitsBody) return this.#arrivingBody();
    const arrived = this.#takeArrived();
    this.#message.resume(); // to its end, which may not have been reported yet
    return arrived;
  }

  get bodyUsed(): boolean {
    return this.#message.readableEnded && !this.#keptBody;
  }

  /**
   * The body, if the host has read it: its bytes, as cloud functions keep them in `rawBody`, or what a parser has made of
   * it in `body`, as Express' do.
   */
  get #keptBody(): Uint8Array | undefined {
    const message: IncomingMessage & HostBody = this.#message;
    if (message.rawBody instanceof Uint8Array) return message.rawBody;
    if (!message.readableEnded) return undefined; // a parser that read nothing leaves `{}`
    const body = parsedBody(message);
    if (body === undefined) return undefined;
    if (body instanceof Uint8Array) return body;
    return Buffer.from(typeof body === "string" ? body : JSON.stringify(body));
  }

  async *#arrivingBody(): AsyncGenerator<Uint8Array> {
    if (this.#broken) throw this.#broken;
    const message = this.#message;
    for await (const piece of message.iterator({ destroyOnReturn: false })) {
      if (message instanceof JoinedMessage) requireFewPieces(message.shortChunks, message.shortLength);
      yield piece;
    }
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
    return complete || (readableLength > 0 && String(readableLength) === this.headers.get("content-length"));
  }

  /** Whether some of the body has not arrived. */
  get isIncomplete(): boolean {
    return !this.#message.complete;
  }

  /** How much of it is held until it is begun, in bytes: its head, and what has arrived of its body. */
  get waitingBytes(): number {
    return this.headers.length + this.#message.readableLength;
  }

  /** Whether more of the body may follow than is worth skipping to reach the next request. */
  get leavesBodyUnread(): boolean {
    if (!this.isIncomplete) return false;
    if (this.#awaitsContinue || this.#awaitsBody || this.#broken) return true; // it arrives late, or is too long
    const { "transfer-encoding": coding, "content-length": length = 0 } = this.#message.headers;
    return coding !== undefined || Number(length) > maxBodyBytes;
  }

  /** The rest of the body cannot be read. The service gets the error when it reads on, and can still answer. */
  breakOff(error: Error): void {
    if (this.#broken) return;
    this.#broken = error;
    if (this.#awaitsBody) this.#message.on("error", () => {}).emit("error", error);
  }

  /**
   * Aborts when the response closes, even after the answer was sent. A real `AbortSignal` would cost a sixth of a send
   * with the memory store.
   */
  get signal(): ClientSignal {
    return this;
  }

  get aborted(): boolean {
    return this.response.destroyed;
  }

  /**
   * The response gets one listener for all of ours. For several, it would copy their list each time, and V8 may
   * allocate those copies in the old generation, where they keep everything that the listeners reference.
   */
  addEventListener(_type: "abort", listener: () => void): void {
    if (this.#closeListeners.push(listener) === 1) this.response.on("close", this.#tellClosed);
  }

  removeEventListener(_type: "abort", listener: () => void): void {
    const index = this.#closeListeners.indexOf(listener);
    if (index >= 0) this.#closeListeners.splice(index, 1);
  }

  readonly #tellClosed = (): void => {
    for (const listener of this.#closeListeners.splice(0)) listener();
  };
}

/** A request's header fields, read once. */
class NodeHead implements RequestHeaders {
  readonly #message: IncomingMessage;
  /** The fields as they were sent, by their names in lower case. Those that were sent twice are joined. */
  readonly #sent = new Map<string, string>();
  #count = 0;
  /** The length of all fields, without what stands between them. */
  length = 0;

  constructor(message: IncomingMessage) {
    this.#message = message;
    // Hosts that simulate a request, such as `serverless-http`, may only provide the fields as an object.
    const { rawHeaders = [] }: Partial<IncomingMessage> = message;
    const lines =
      rawHeaders.length > 0
        ? rawHeaders
        : Object.entries(message.headers).flatMap(([name, values = []]) =>
            [values].flat().flatMap((value) => [name, value]),
          );
    for (let index = 0; index < lines.length; index += 2) this.#add(lines[index], lines[index + 1]);
  }

  #add(name = "", value = ""): void {
    const field = name.toLowerCase();
    const before = this.#sent.get(field);
    const text = String(value); // a simulated request may have a number as its length
    this.#sent.set(field, before === undefined ? text : `${before}, ${text}`);
    this.#count++;
    this.length += field.length + text.length;
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

function invalid(message: string): ApiError {
  return new ApiError("invalid_request", message);
}
