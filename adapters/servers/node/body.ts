/**
 * Writes bodies to `node:http` responses: texts of known length, and event streams. Neither keeps more than a piece
 * waiting for a slow client.
 *
 * @module
 */

import { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { type EventBody, EventSender, sharedTimers, stallMs } from "../../../core/wire/event-sender.ts";
import type { Answer } from "../../../core/wire/request.ts";
import type { EventStream } from "../../../core/wire/sse.ts";
import type { NodeRequest } from "./request.ts";

/**
 * The largest piece of a text that is written at once, in bytes. A client that does not take one within {@link stallMs}
 * is disconnected.
 */
const pieceBytes = 64 * 1024;

/** Writes an answer whose body is there as a whole, or absent. */
export function writeWhole(
  { status, headers, sent }: Omit<Answer, "body">,
  body: string | Uint8Array | null,
  response: ServerResponse,
): void {
  if (response.destroyed) {
    sent?.(); // its client has left, and no event would release the text
    return;
  }
  if (sent) response.once("close", sent);
  if (body !== null) headers["Content-Length"] = String(Buffer.byteLength(body));
  response.writeHead(status, headers); // may be a middleware's, and return nothing
  if (body === null) response.end();
  else endWith(body, response);
  cutIfStalled(response);
}

/** Writes the last part of a body. Bytes are not copied: many clients may be sent the same. */
function endWith(text: string | Uint8Array, response: ServerResponse): void {
  const length = Buffer.byteLength(text);
  if (length <= pieceBytes && length === text.length && typeof text === "string")
    return void response.end(text, "latin1"); // ASCII, as most texts are: this is faster
  // A head that is sent with a text in UTF-8 would be in UTF-8, too.
  const bytes = typeof text === "string" ? Buffer.from(text) : text;
  if (length > pieceBytes) writePieces(bytes, response);
  else response.end(bytes);
}

/** Writes bytes piece by piece, as the client takes them, and ends the response. */
function writePieces(bytes: Uint8Array, response: ServerResponse): void {
  let written = 0;
  function writeOn(): void {
    while (written < bytes.length) {
      const piece = bytes.subarray(written, written + pieceBytes);
      written += piece.length;
      if (response.write(piece) === false) return; // to go on when it drains
    }
    response.off("drain", writeOn);
    response.end();
  }
  response.on("drain", writeOn);
  writeOn();
}

/** Cuts a stalled reader: a client that takes nothing of what is wholly written. */
function cutIfStalled(response: ServerResponse): void {
  if (response.writableEnded && !response.socket?.writableLength) return; // usually, the system has taken all of it
  let timer: NodeJS.Timeout;
  function wait(): void {
    clearTimeout(timer);
    timer = setTimeout(() => response.destroy(), stallMs).unref();
  }
  response.on("drain", wait);
  response.once("close", () => clearTimeout(timer));
  wait();
}

/**
 * Writes an answer whose body is an event stream, no faster than its client takes it. A stream whose first part is all
 * of it is written as a text of known length, which needs no chunks.
 */
export function writeEvents(answer: Answer, events: EventStream, { signal, response }: NodeRequest): void {
  const sender = new EventSender(
    events,
    (sender) => new NodeEventBody(answer, response, sender),
    sharedTimers,
  );
  signal.addEventListener("abort", () => sender.leave());
  if (response.destroyed) sender.leave();
}

/** After so many code units, in one piece or several, a stream waits for its turn. */
const charactersOfTurn = 8192;

const waiting: (() => void)[] = [];

/**
 * Calls back when it is a stream's turn to send on: of all that send much, one goes on in a turn of the event
 * loop. Else those whose clients take all at once would follow each other before anything else has its turn.
 */
function inTurn(sendOn: () => void): void {
  if (waiting.push(sendOn) === 1) setImmediate(nextTurn);
}

function nextTurn(): void {
  waiting.shift()?.();
  if (waiting.length > 0) setImmediate(nextTurn);
}

/** Something to write to. */
type Writable = ServerResponse | Socket;

/** Writes the parts of an event stream. */
class NodeEventBody implements EventBody {
  readonly #answer: Answer;
  readonly #response: ServerResponse;
  readonly #sender: EventSender;
  #begun = false;
  /** A part went through the response, and the head with it: later ones may bypass the response. */
  #headSent = false;
  /** How much was written since it last waited for its turn, in code units. */
  #written = 0;

  constructor(answer: Answer, response: ServerResponse, sender: EventSender) {
    this.#answer = answer;
    this.#response = response;
    this.#sender = sender;
  }

  write(text: string): boolean {
    if (this.#isOfHost()) return false;
    const full = this.#begun ? this.#writeOn(text) : this.#writeFirst(text);
    this.#begun = true;
    this.#written += text.length;
    const isMuch = this.#written >= charactersOfTurn;
    if (isMuch) this.#written = 0;
    // Never resumes if the connection closes: then nothing is left to write.
    if (full) full.once("drain", isMuch ? this.#resumeInTurn : this.#resume);
    else if (isMuch) this.#resumeInTurn();
    return !full && !isMuch;
  }

  end(text: string): void {
    if (this.#isOfHost()) return;
    if (!this.#begun) {
      writeWhole(this.#answer, text, this.#response);
      return;
    }
    const response = this.#response;
    const socket = this.#plainSocket();
    if (socket && text !== "" && Buffer.byteLength(text) <= pieceBytes) {
      socket.cork(); // `end` uncorks it: the last events leave together with the body's end
      writeChunk(socket, text);
      response.end();
    } else {
      endWith(text, response);
    }
    cutIfStalled(response);
  }

  cut(): void {
    this.#response.destroy();
  }

  readonly #resume = (): void => this.#sender.resume();
  readonly #resumeInTurn = (): void => inTurn(this.#resume);

  /** Whether the host has answered, or ended the body, in the meantime. Then the sender leaves. */
  #isOfHost(): boolean {
    const response = this.#response;
    const isOfHost = this.#begun ? response.writableEnded : response.headersSent;
    if (isOfHost) this.#sender.leave();
    return isOfHost;
  }

  /** Sends the head together with the first part. */
  #writeFirst(first: string): Writable | undefined {
    const { status, headers } = this.#answer;
    const response = this.#response;
    const { socket } = response;
    socket?.cork();
    response.writeHead(status, headers); // may be a middleware's, and hold the head back: then flushing would send another
    if (response.headersSent) response.flushHeaders(); // or the response would keep a text that is joined to it in memory
    const full = first === "" ? undefined : this.#writeOn(first);
    socket?.uncork();
    return full;
  }

  /** Returns what was written to if that is full. Hosts that simulate a request may return nothing. */
  #writeOn(text: string): Writable | undefined {
    const socket = this.#plainSocket();
    if (socket) return writeChunk(socket, text) ? undefined : socket;
    this.#headSent = true;
    return this.#response.write(text) === false ? this.#response : undefined;
  }

  /**
   * The socket, if a chunk can be written to it directly, in one piece: `response.write` makes three, which is a third
   * of what a token costs. The head must be sent, the body be chunked, and no middleware replace `write` or hold pieces
   * back.
   */
  #plainSocket(): Socket | null {
    const response = this.#response;
    const plain =
      this.#headSent &&
      response instanceof ServerResponse &&
      response.chunkedEncoding &&
      response.write === ServerResponse.prototype.write &&
      response.writableCorked === 0;
    return plain ? response.socket : null;
  }
}

/** Writes a part of a body as a chunk (RFC 9112, section 7.1). False: the socket is full. */
function writeChunk(socket: Socket, text: string): boolean {
  const length = Buffer.byteLength(text);
  const encoding = length === text.length ? "latin1" : "utf8"; // the same for ASCII, and faster
  return socket.write(`${length.toString(16)}\r\n${text}\r\n`, encoding);
}
