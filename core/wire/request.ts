/**
 * What comes in and what goes out, as the core sees it: the parts of a web `Request` that it reads, and an
 * answer that an adapter can write without building a web `Response` first.
 *
 * @module
 */

import { type SenderTimers, stallMs } from "./event-sender.ts";
import type { EventStream } from "./sse.ts";
import { toTextOrStream } from "./web-body.ts";

/** Header fields by name, in any case, as in a web `Headers`. Fields that were sent twice are joined by `, `. */
export interface RequestHeaders {
  get(name: string): string | null;
}

/** The header fields that the service reads: each one's name here, and its name on the wire. */
export const headerNames = {
  host: "Host",
  origin: "Origin",
  authorization: "Authorization",
  apiKey: "X-API-Key",
  contentType: "Content-Type",
  contentEncoding: "Content-Encoding",
  contentLength: "Content-Length",
  idempotencyKey: "Idempotency-Key",
  lastEventId: "Last-Event-ID",
  traceparent: "traceparent",
  fetchSite: "Sec-Fetch-Site",
} as const;

/**
 * The values of the header fields that the service reads. Null: the request does not have it, or its `traceparent` is no
 * W3C trace context (https://www.w3.org/TR/trace-context/).
 */
export type HeaderFields = Readonly<Record<keyof typeof headerNames, string | null>>;

/** Reads a request's header fields, once. Only those that a route names besides, and a preflight's, are read later. */
export function readHeaderFields(headers: RequestHeaders): HeaderFields {
  return {
    host: headers.get(headerNames.host),
    origin: headers.get(headerNames.origin),
    authorization: headers.get(headerNames.authorization),
    apiKey: headers.get(headerNames.apiKey),
    contentType: headers.get(headerNames.contentType),
    contentEncoding: headers.get(headerNames.contentEncoding),
    contentLength: headers.get(headerNames.contentLength),
    // In quotes, it is a string of structured fields (RFC 9651), as the draft of the header has it.
    idempotencyKey: headers.get(headerNames.idempotencyKey)?.replace(/^"(.*)"$/, "$1") ?? null,
    lastEventId: headers.get(headerNames.lastEventId),
    fetchSite: headers.get(headerNames.fetchSite),
    traceparent: traceContextPattern.exec(headers.get(headerNames.traceparent) ?? "")?.[0] ?? null,
  };
}

/** A trace context: version, trace, parent and flags. */
const traceContextPattern = /^(?!ff)[\da-f]{2}-(?!0{32})[\da-f]{32}-(?!0{16})[\da-f]{16}-[\da-f]{2}$/;

/** A request's body in pieces. An array means that it has already arrived. */
export type RequestBody = AsyncIterable<Uint8Array> | readonly Uint8Array[];

/** Tells when the client has left. A web `AbortSignal` is one. */
export interface ClientSignal {
  readonly aborted: boolean;
  addEventListener(type: "abort", listener: () => void): void;
  removeEventListener(type: "abort", listener: () => void): void;
}

/** The parts of a request that the service reads. A web `Request` is one. */
export interface IncomingRequest {
  readonly method: string;
  /** Absolute, or beginning with the path. The authority is ignored. */
  readonly url: string;
  readonly headers: RequestHeaders;
  /** Read at most once, and only where a body is expected. */
  readonly body: RequestBody | null;
  /** Whether the host has read the body already. */
  readonly bodyUsed?: boolean;
  /**
   * Reads the whole body, where the runtime can. Called instead of reading `body` if there is a `Content-Length`; leave
   * it out where that header may be wrong.
   */
  arrayBuffer?(): Promise<ArrayBuffer>;
  /** Aborts when the client has left. It may also abort after the answer. */
  readonly signal?: ClientSignal;
  /** The request as the host has it, for its own `authenticate`: a web `Request`, or Node's with what others added to it. */
  readonly original?: unknown;
}

/** What becomes a response. */
export interface Answer {
  readonly status: number;
  /** Belongs to this answer alone: an adapter may add to it. */
  readonly headers: Record<string, string>;
  /** An event stream that was complete from the start may be text. Bytes are compressed, as `Content-Encoding` says. */
  readonly body: string | Uint8Array<ArrayBuffer> | EventStream | null;
  /** Called once all bytes have been taken, or their client has left. Idempotent. Absent: they are not held for this answer alone. */
  readonly sent?: (() => void) | undefined;
}

/** Whether a body is still being made. */
export function isEventStream(body: Answer["body"]): body is EventStream {
  return body !== null && typeof body === "object" && "next" in body;
}

/**
 * A host's request, without its `arrayBuffer`: hosts that decompress a body or rebuild a request may keep the old
 * header fields. Its body is not touched before it is needed: some hosts then build a whole web request, and this
 * takes time and can fail. `withSignal`: only where disconnecting matters, because some hosts abort the signal once they
 * have read the body.
 */
export class HostRequest implements IncomingRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: RequestHeaders;
  readonly signal?: ClientSignal;
  readonly original: Request;

  constructor(request: Request, withSignal: boolean) {
    this.method = request.method;
    this.url = request.url;
    this.headers = request.headers;
    if (withSignal) this.signal = request.signal;
    this.original = request;
  }

  get body(): RequestBody | null {
    return this.original.body;
  }

  get bodyUsed(): boolean {
    return this.original.bodyUsed;
  }
}

/**
 * The answer as a web `Response`. Its body is a stream if more is to come. `timers`: those that streams can
 * share.
 */
export async function toResponse(
  { status, headers, body, sent }: Answer,
  timers?: SenderTimers,
): Promise<Response> {
  // workerd would compress a compressed body again; the others do not know that option.
  const init: ResponseInit & { readonly encodeBody: "manual" } = { status, headers, encodeBody: "manual" };
  if (isEventStream(body)) return new Response(await toTextOrStream(body, timers), init);
  return new Response(body instanceof Uint8Array && sent ? toStream(body, sent) : body, init);
}

/** How many bytes are given at a time. */
const pieceBytes = 64 * 1024;

/** Bytes as they are taken. Who takes nothing for {@link stallMs} is cut. */
function toStream(bytes: Uint8Array<ArrayBuffer>, sent: () => void): ReadableStream<Uint8Array> {
  let taken = 0;
  let timer: ReturnType<typeof setTimeout>;
  const end = () => {
    clearTimeout(timer);
    sent();
  };
  const wait = (controller: ReadableStreamDefaultController) => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      controller.error(new Error("The client takes nothing."));
      sent();
    }, stallMs);
  };
  const source: UnderlyingDefaultSource<Uint8Array> = {
    start: wait,
    pull(controller) {
      wait(controller);
      if (taken < bytes.length) controller.enqueue(bytes.slice(taken, taken + pieceBytes));
      taken += pieceBytes;
      if (taken < bytes.length) return;
      controller.close();
      end();
    },
    cancel: end,
  };
  return new ReadableStream(source, { highWaterMark: 0 });
}

/**
 * A text without leading and trailing spaces and tabs, HTTP's optional white space (RFC 9110 section 5.6.3). `trim`
 * would also remove NBSP and the like, and so accept a key that was never issued; a regular expression for trailing
 * white space would retry at each of the 32,000 spaces that a header section may have.
 */
export function trimBlanks(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && isBlank(text, start)) start++;
  while (end > start && isBlank(text, end - 1)) end--;
  return text.slice(start, end);
}

function isBlank(text: string, index: number): boolean {
  return text[index] === " " || text[index] === "\t";
}

/** What proxies add. */
const forwardingFields = [
  "forwarded",
  "via",
  "x-forwarded-for",
  "x-forwarded-host",
  "x-forwarded-proto",
  "x-real-ip",
];

/** Whether a request came through a proxy, as it says. */
export function isForwarded(headers: RequestHeaders): boolean {
  return forwardingFields.some((name) => headers.get(name) !== null);
}
