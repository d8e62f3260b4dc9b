/**
 * What comes in and what goes out, as the core sees it: the parts of a web `Request` that it reads, and an
 * answer that an adapter can write without building a web `Response` first.
 *
 * @module
 */

import { type EventStream, type JoinTimer, toTextOrStream } from "./sse.ts";

/** Header fields by name, of whichever case, as a web `Headers` has them. Fields sent twice are joined by `, `. */
export interface RequestHeaders {
  get(name: string): string | null;
}

/** A request's body, piece by piece. An array: it has arrived already. */
export type RequestBody = AsyncIterable<Uint8Array> | readonly Uint8Array[];

/** Tells that the client has gone. A web `AbortSignal` is one. */
export interface ClientSignal {
  readonly aborted: boolean;
  addEventListener(type: "abort", listener: () => void): void;
  removeEventListener(type: "abort", listener: () => void): void;
}

/** The parts of a request that the service reads. A web `Request` is one. */
export interface IncomingRequest {
  readonly method: string;
  /** Absolute, or beginning with the path. The authority is never looked at. */
  readonly url: string;
  readonly headers: RequestHeaders;
  /** Read at most once, and only where a body is expected. */
  readonly body: RequestBody | null;
  /** Whether somebody has read the body already. */
  readonly bodyUsed?: boolean;
  /**
   * The whole body, where the runtime has it at hand. Called instead of reading `body`, if `Content-Length` tells how long
   * it is: to be left out where that may be untrue.
   */
  arrayBuffer?(): Promise<ArrayBuffer>;
  /** Aborts when the client has gone. It may abort after the answer, too. */
  readonly signal?: ClientSignal;
}

/** A response before it is one. */
export interface Answer {
  readonly status: number;
  /** The answer's own object: an adapter may add to it. */
  readonly headers: Record<string, string>;
  readonly body: string | EventStream | null;
}

/** A host's request, without its `arrayBuffer`: hosts that inflate a body, or make a request anew, may keep its fields. */
export function toIncoming({ method, url, headers, body, bodyUsed, signal }: Request): IncomingRequest {
  return { method, url, headers, body, bodyUsed, signal };
}

/** The answer as a web `Response`. */
export async function toResponse(answer: Answer): Promise<Response> {
  const { status, headers } = answer;
  return new Response(await toWebBody(answer), { status, headers });
}

/** The body of a web `Response`: a stream where more is to come. `afterJoin`: its timer, where streams can share one. */
export async function toWebBody(
  { body }: Answer,
  afterJoin?: JoinTimer,
): Promise<string | ReadableStream<Uint8Array<ArrayBuffer>> | null> {
  return body === null || typeof body === "string" ? body : toTextOrStream(body, afterJoin);
}
