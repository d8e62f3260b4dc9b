/**
 * One request on a connection of our own server, and its response.
 *
 * @module
 */

import { EventEmitter } from "node:events";
import { type OutgoingHttpHeaders, STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import { maxBodyBytes } from "../../../core/http/body.ts";
import type {
  ClientSignal,
  IncomingRequest,
  RequestBody,
  RequestHeaders,
} from "../../../core/wire/request.ts";
import { readField } from "../../http/header-section.ts";
import { keepAliveMs } from "../../http/running-server.ts";
import { asChunk, encodingFor, type Outgoing } from "../text.ts";
import { type BodyDecoder, createBodyDecoder } from "./body.ts";
import type { RequestHead } from "./head.ts";

const nothing: Buffer = Buffer.alloc(0);

/** The bytes of a connection that nobody has taken yet. */
export class Arrived {
  bytes: Buffer = nothing;

  /** The first of them were taken. An empty rest of a packet would keep all of it in memory. */
  drop(length = this.bytes.length): void {
    this.bytes = length === this.bytes.length ? nothing : this.bytes.subarray(length);
  }
}

/** A request as the service reads it. Its body is only taken from the connection when it is read. */
export class ConnectionRequest implements IncomingRequest, RequestHeaders, ClientSignal {
  readonly method: string;
  readonly url: string;
  readonly #rawHeaders: readonly string[];
  readonly #response: ConnectionResponse;
  readonly #arrived: Arrived;
  readonly #decoder: BodyDecoder;
  #continued: boolean;
  /** Whether somebody waits or has waited for more of the body. */
  #awaitsBody = false;
  #error: Error | undefined;
  #tell = () => {};
  /** What was taken from the connection, and not read yet. */
  readonly #pieces: Buffer[] = [];
  readonly #closeListeners: (() => void)[] = [];

  constructor(head: RequestHead, arrived: Arrived, response: ConnectionResponse) {
    this.method = head.method;
    this.url = head.url;
    this.#rawHeaders = head.rawHeaders;
    this.#arrived = arrived;
    this.#response = response;
    this.#decoder = createBodyDecoder(head.body);
    this.#continued = !head.awaitsContinue;
  }

  get headers(): RequestHeaders {
    return this;
  }

  get(name: string): string | null {
    return readField(this.#rawHeaders, name);
  }

  /** Reading this property sends `100 Continue` to a client that waits for it. */
  get body(): RequestBody {
    if (!this.#continued) {
      this.#continued = true;
      this.#response.writeContinue();
    }
    this.#takeArrived();
    // A short body usually arrives with its head: then there is nothing to wait for.
    if (this.#decoder.ended) return this.#pieces.splice(0);
    this.#awaitsBody = true;
    return this.#arrivingBody();
  }

  async *#arrivingBody(): AsyncGenerator<Uint8Array> {
    for (;;) {
      this.#takeArrived();
      if (this.#pieces.length > 0) yield* this.#pieces.splice(0);
      else if (this.#decoder.ended) return;
      else if (this.#error) throw this.#error;
      else await this.#more();
    }
  }

  #more(): Promise<void> {
    this.#response.socket.resume();
    return new Promise((resolve) => {
      this.#tell = resolve;
    });
  }

  /** More has arrived on the connection. */
  arrived(): void {
    this.#tell();
  }

  /** No more of the body will arrive. */
  breakOff(): void {
    this.#error ??= new Error("The connection ended within the body.");
    this.#tell();
  }

  /** Whether the client still owes some of the body. */
  get isIncomplete(): boolean {
    this.#takeArrived();
    return !this.#decoder.ended;
  }

  /**
   * Skips the body, as far as it has arrived. Returns whether it is worth waiting for what is left of it, to reach the
   * next request.
   */
  skipBody(): "skipped" | "wait" | "never" {
    this.#takeArrived();
    if (this.#pieces.length > 0) this.#pieces.length = 0;
    if (this.#decoder.ended) return "skipped";
    const isFar = !this.#continued || this.#awaitsBody || this.#error || this.#decoder.left > maxBodyBytes;
    return isFar ? "never" : "wait";
  }

  /** Takes what has arrived of the body from the connection. */
  #takeArrived(): void {
    try {
      while (!this.#decoder.ended && !this.#error) {
        const used = this.#decoder.take(this.#arrived.bytes, (piece) => this.#pieces.push(piece));
        if (used === 0) return;
        this.#arrived.drop(used);
      }
    } catch (error) {
      this.#error = error instanceof Error ? error : new Error(String(error));
    }
  }

  /** Aborts when the response closes, even after the answer was sent. */
  get signal(): ClientSignal {
    return this;
  }

  get aborted(): boolean {
    return this.#response.destroyed;
  }

  addEventListener(_type: "abort", listener: () => void): void {
    this.#closeListeners.push(listener);
  }

  removeEventListener(_type: "abort", listener: () => void): void {
    const index = this.#closeListeners.indexOf(listener);
    if (index >= 0) this.#closeListeners.splice(index, 1);
  }

  /** The response has closed. */
  close(): void {
    for (const listener of this.#closeListeners.splice(0)) listener();
  }
}

/** The connection that a response belongs to. */
export interface ResponseOwner {
  readonly socket: Socket;
  /** Asked as the response begins: whether further requests may follow. */
  mayContinue(): boolean;
  /** Called when the system has taken all of the response, or, with an error, cannot take it. */
  readonly finish: (error?: Error | null) => void;
}

/** The response to a request, written to its connection. Emits `drain`, `finish` and `close`. */
export class ConnectionResponse extends EventEmitter implements Outgoing {
  headersSent = false;
  writableEnded = false;
  /** Whether its head says that further requests may follow. */
  keepsConnection = false;
  readonly #head: RequestHead;
  readonly #owner: ResponseOwner;
  /** The head, until it is sent together with what comes first of the body. */
  #unsentHead = "";
  #chunked = false;
  #closed = false;

  constructor(head: RequestHead, owner: ResponseOwner) {
    super();
    this.#head = head;
    this.#owner = owner;
  }

  get socket(): Socket {
    return this.#owner.socket;
  }

  writeContinue(): void {
    this.#send("HTTP/1.1 100 Continue\r\n\r\n", "latin1");
  }

  writeHead(status: number, headers: OutgoingHttpHeaders): void {
    const hasLength = headers["Content-Length"] !== undefined || status === 204;
    this.headersSent = true;
    this.#chunked = !hasLength && this.#head.takesChunks;
    this.keepsConnection = (hasLength || this.#chunked) && this.#owner.mayContinue();
    let text = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n`;
    for (const name in headers) text += `${name}: ${headers[name]}\r\n`;
    if (this.#chunked) text += "Transfer-Encoding: chunked\r\n";
    const connection = this.keepsConnection ? keepLines : closeLine;
    this.#unsentHead = `${text}Date: ${dateNow()}\r\n${connection}\r\n`;
  }

  flushHeaders(): void {
    if (this.#unsentHead !== "") this.#send(this.#takeHead(), "latin1");
  }

  write(piece: string | Uint8Array): boolean {
    if (typeof piece !== "string") return this.#writeBytes(piece);
    const length = Buffer.byteLength(piece);
    return this.#sendText(this.#chunked ? asChunk(piece, length) : piece, encodingFor(piece, length));
  }

  #writeBytes(piece: Uint8Array): boolean {
    const { socket } = this;
    socket.cork();
    this.flushHeaders();
    if (this.#chunked) this.#send(`${piece.length.toString(16)}\r\n`, "latin1");
    const hasRoom = this.#send(piece);
    if (this.#chunked) this.#send("\r\n", "latin1");
    socket.uncork();
    return hasRoom;
  }

  end(text = "", encoding: BufferEncoding = "utf8"): void {
    this.writableEnded = true;
    const length = this.#chunked && text !== "" ? Buffer.byteLength(text) : 0;
    const body = this.#chunked ? `${text === "" ? "" : asChunk(text, length)}0\r\n\r\n` : text;
    this.#sendText(body, encoding, this.#owner.finish);
  }

  destroy(): void {
    this.socket.destroy();
  }

  get destroyed(): boolean {
    return this.#closed || this.socket.destroyed;
  }

  /** All of it is sent, or nothing more can be. */
  close(): void {
    this.#closed = true;
    this.emit("close");
  }

  #takeHead(): string {
    const head = this.#unsentHead;
    this.#unsentHead = "";
    return head;
  }

  /** Sends the head with the text, in one piece if they can have the same encoding. */
  #sendText(text: string, encoding: BufferEncoding, sent?: ResponseOwner["finish"]): boolean {
    if (encoding !== "latin1" && beyondAscii.test(this.#unsentHead)) this.flushHeaders();
    return this.#send(this.#takeHead() + text, encoding, sent);
  }

  #send(piece: string | Uint8Array, encoding?: BufferEncoding, sent?: ResponseOwner["finish"]): boolean {
    if (!this.socket.writable) return false; // the client has left: what is written would be an error
    return this.socket.write(piece, encoding, sent);
  }
}

const beyondAscii = /[^\0-\x7f]/;

const keepLines = `Connection: keep-alive\r\nKeep-Alive: timeout=${keepAliveMs / 1000}\r\n`;
const closeLine = "Connection: close\r\n";

let date = "";
let dateUntil = 0;

/** The time as a header field has it, which changes once a second. */
function dateNow(): string {
  const now = Date.now();
  if (now >= dateUntil || now < dateUntil - 1000) {
    date = new Date(now).toUTCString();
    dateUntil = now - (now % 1000) + 1000;
  }
  return date;
}
