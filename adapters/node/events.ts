/**
 * Writes event streams to `node:http` responses.
 *
 * @module
 */

import { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Answer, ClientSignal } from "../../core/wire/request.ts";
import { type EventStream, joinMs } from "../../core/wire/sse.ts";
import { afterJoin, forEach } from "../http/join-timer.ts";
import {
  asChunk,
  cutIfStalled,
  encodingFor,
  type Outgoing,
  pieceBytes,
  writePieces,
  writeText,
} from "./text.ts";

/** Writes an answer whose body is an event stream. */
export function writeEvents(
  answer: Answer,
  events: EventStream,
  signal: ClientSignal,
  response: Outgoing,
): void {
  const writer = new EventWriter(answer, events, response);
  events.attach(writer.ready, () => response.destroy());
  response.on("drain", writer.drained);
  signal.addEventListener("abort", () => events.detach());
  if (response.destroyed) events.detach();
  else writer.begin();
}

/** Writers that begin in one step of the event loop, such as those whose questions one commit stored. */
let beginning: EventWriter[] = [];

/** If several begin together, those whose end is about to follow wait for it: then they need one write instead of two. */
function beginTogether(): void {
  const writers = beginning;
  beginning = [];
  const now = performance.now();
  forEach(writers, (writer) => (writers.length === 1 ? writer.flush() : writer.writeOrJoin(now)));
}

/** Writers with something to write in this turn of the event loop. */
let due: EventWriter[] = [];

function writeDue(): void {
  const writers = due;
  due = [];
  const now = performance.now();
  forEach(writers, (writer) => writer.writeOrJoin(now));
}

/**
 * Writes an event stream: what is ready, once per turn of the event loop, or once in {@link joinMs} if tokens come
 * faster, and no more than the socket takes. So the head is sent together with the first events, the last event with
 * the body's end, and a reply that is complete by then as one text of known length.
 */
class EventWriter {
  readonly #answer: Answer;
  readonly #events: EventStream;
  readonly #response: Outgoing;
  #due = false;
  #writtenAt = 0;
  #blocked = false;
  #headWritten = false;
  /** Everything was handed to the response: nothing is left to do here, though it may still be on its way. */
  #handedOver = false;
  /** A piece went through the response, and the head with it: later ones may bypass the response. */
  #headSent = false;

  constructor(answer: Answer, events: EventStream, response: Outgoing) {
    this.#answer = answer;
    this.#events = events;
    this.#response = response;
  }

  /** Begins once the engine has written what it has immediately. */
  begin(): void {
    this.#writtenAt = performance.now();
    if (beginning.push(this) === 1) process.nextTick(beginTogether);
  }

  readonly ready = (): void => {
    if (this.#due || this.#blocked) return;
    this.#due = true;
    if (due.push(this) === 1) setImmediate(writeDue);
  };

  /** Writes what is ready, unless it came so soon after the last write that it waits for more. */
  writeOrJoin(now: number): void {
    this.#due = false;
    if (!this.#events.urgent && now - this.#writtenAt < joinMs) afterJoin(this.flush);
    else this.flush();
  }

  readonly drained = (): void => {
    this.#blocked = false;
    this.flush();
  };

  readonly flush = (): void => {
    if (this.#handedOver) return;
    if (this.#headWritten) this.#writeEvents();
    else if (!this.#response.destroyed) this.#writeFirst();
  };

  #writeFirst(): void {
    this.#headWritten = true;
    if (this.#response.headersSent) {
      this.#events.detach(); // the host has answered in the meantime
      return;
    }
    const text = this.#events.read();
    if (this.#events.ended) this.#writeWhole(text);
    else this.#writeHead(text);
  }

  /** Writes a complete stream as a text of known length, which needs no chunks. */
  #writeWhole(text: string): void {
    this.#handedOver = true;
    writeText(this.#answer, text, this.#response);
    this.#events.detach();
  }

  #writeHead(firstText: string): void {
    const response = this.#response;
    const { socket } = response;
    socket?.cork(); // the head is sent together with the first events
    response.writeHead(this.#answer.status, this.#answer.headers);
    // A response of `node:http` flushes it by itself, because it would keep a text that is joined to it in memory. Not if
    // a middleware holds it back: then flushing would send a second one.
    const isAlone = firstText === "" || response instanceof ServerResponse;
    if (isAlone && response.headersSent) response.flushHeaders();
    if (firstText !== "") this.#write(firstText);
    this.#writeEvents();
    socket?.uncork();
  }

  #writeEvents(): void {
    const response = this.#response;
    while (!this.#blocked && !response.destroyed && !response.writableEnded) {
      const text = this.#events.read();
      if (this.#events.ended) {
        this.#end(text);
        return;
      }
      if (text === "") return;
      this.#write(text);
    }
  }

  #write(text: string): void {
    this.#writtenAt = performance.now();
    const socket = this.#plainSocket();
    if (socket) {
      this.#blocked = writeChunk(socket, text) === false;
      if (this.#blocked) socket.once("drain", this.drained);
    } else {
      this.#headSent = true;
      this.#blocked = this.#response.write(text) === false; // hosts that play a request may tell nothing
    }
  }

  #end(lastText: string): void {
    if (this.#response.writableEnded) return;
    this.#handedOver = true;
    const socket = this.#plainSocket();
    if (Buffer.byteLength(lastText) > pieceBytes) {
      writePieces(Buffer.from(lastText), this.#response);
    } else if (socket && lastText !== "") {
      socket.cork(); // `end` uncorks it: the last events leave together with the body's end
      writeChunk(socket, lastText);
      this.#response.end();
    } else {
      this.#response.end(lastText);
    }
    this.#events.detach();
    cutIfStalled(this.#response);
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

/** Writes a piece of a body as a chunk. False: the socket is full. */
function writeChunk(socket: Socket, text: string): boolean {
  const length = Buffer.byteLength(text);
  return socket.write(asChunk(text, length), encodingFor(text, length));
}
