/**
 * Reading a request's body, up to a length and up to a deadline.
 *
 * @module
 */

import { type Clock, within } from "../base/clock.ts";
import { ApiError } from "../wire/errors.ts";
import type { HeaderFields, IncomingRequest } from "../wire/request.ts";

/** The maximum size of a body, in bytes, unless its route has another. */
export const maxBodyBytes = 256 * 1024;

/** For how long a body may be silent, in milliseconds, and how fast it must arrive later, in bytes a millisecond. */
const patienceMs = 5_000;
const leastSpeed = 65.536;

/** Up to this length, in bytes, a body that the runtime reads by itself is counted once it is there. */
const shortBody = 64 * 1024;

/**
 * In how many pieces a body may come, or how long they must be then on average, in bytes. While pieces are at hand, Deno does
 * nothing else: with a body of single bytes, for seconds.
 */
const mostPieces = 16_384;
const shortPiece = 256;

/** What a piece takes in memory besides its bytes. */
const bytesOfPiece = 256;

/** How a body is read. */
export interface BodyOptions {
  readonly clock: Clock;
  /** The maximum size, in bytes. */
  readonly most: number;
  /** Called with what each piece takes as it arrives, in bytes. Throws if it would be too much. */
  readonly reserve: (bytes: number) => void;
}

/**
 * A request's body. Its declared size has been checked before.
 *
 * @throws {ApiError} `payload_too_large`, also for more than 16,384 pieces; `request_timeout` if it comes too slowly;
 * `invalid_request` if it breaks off; whatever `reserve` throws.
 * @throws {TypeError} if the host has already read it: this is not the client's fault.
 */
export async function readBytes(
  request: IncomingRequest,
  { contentLength }: HeaderFields,
  options: BodyOptions,
): Promise<Uint8Array> {
  if (request.bodyUsed) {
    throw new TypeError("The request's body was read before: mount the service before what parses bodies.");
  }
  const { most, reserve } = options;
  // Runtimes read a whole body several times as fast as its pieces; with a known length, that is no risk.
  if (contentLength !== null && Number(contentLength) <= shortBody && request.arrayBuffer) {
    return readAtOnce(request.arrayBuffer(), options);
  }
  const { body } = request;
  if (!body) return new Uint8Array();
  if (Symbol.asyncIterator in body) return readPieces(body[Symbol.asyncIterator](), options);
  const length = body.reduce((sum, chunk) => sum + chunk.byteLength, 0);
  requireShort(length, most);
  reserve(length);
  return concatenate(body);
}

/** @throws {ApiError} `payload_too_large`, also for NaN: two lengths that were joined are none. */
export function requireShort(length: number, most: number): void {
  if (length <= most) return;
  throw new ApiError("payload_too_large", `The body is longer than ${most} bytes.`);
}

/**
 * `length`: of the pieces together, in bytes.
 *
 * @throws {ApiError} `payload_too_large`
 */
export function requireFewPieces(count: number, length: number): void {
  if (count <= mostPieces || length >= count * shortPiece) return;
  throw new ApiError("payload_too_large", `The body is in more than ${mostPieces} short pieces.`);
}

async function readAtOnce(
  arriving: Promise<ArrayBuffer>,
  { clock, most, reserve }: BodyOptions,
): Promise<Uint8Array> {
  try {
    const bytes = new Uint8Array(await inTime(clock, arriving, () => 0));
    requireShort(bytes.byteLength, most);
    reserve(bytes.byteLength);
    return bytes;
  } catch (error) {
    throw asApiError(error);
  }
}

async function readPieces(
  pieces: AsyncIterator<Uint8Array>,
  { clock, most, reserve }: BodyOptions,
): Promise<Uint8Array> {
  const received: Uint8Array[] = [];
  let length = 0;
  async function collect(): Promise<void> {
    for (let next = await pieces.next(); !next.done; next = await pieces.next()) {
      received.push(next.value.slice()); // copied, as even a single byte keeps 64 KiB on Deno
      length += next.value.byteLength;
      requireShort(length, most);
      requireFewPieces(received.length, length);
      reserve(next.value.byteLength + bytesOfPiece);
    }
  }
  try {
    await inTime(clock, collect(), () => length);
    return concatenate(received);
  } catch (error) {
    // Not awaited, because it would wait for a pending read. It rejects with `error` again.
    void pieces.return?.().catch(() => {});
    throw asApiError(error);
  }
}

/** The result of reading, unless what has arrived of it is too little for the time that it took. */
async function inTime<Result>(
  clock: Clock,
  reading: Promise<Result>,
  arrived: () => number,
): Promise<Result> {
  const done = reading.then((result) => ({ result }));
  for (let waitMs = patienceMs, waited = 0; ; ) {
    const read = await within(clock, waitMs, done);
    if (read) return read.result;
    waited += waitMs;
    waitMs = Math.floor(arrived() / leastSpeed) - (waited - patienceMs);
    if (waitMs > 0) continue;
    const message = "The body came too slowly: after 5 seconds, send 64 KiB a second or more.";
    throw new ApiError("request_timeout", message);
  }
}

function asApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  return new ApiError("invalid_request", "The body did not arrive completely.", { cause: error });
}

function concatenate(pieces: readonly Uint8Array[]): Uint8Array {
  const [first] = pieces;
  if (first && pieces.length === 1) return first;
  const whole = new Uint8Array(pieces.reduce((sum, piece) => sum + piece.byteLength, 0));
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.byteLength;
  }
  return whole;
}
