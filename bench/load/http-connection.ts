/**
 * The load generator's HTTP/1.1 client: one keep-alive socket, one request at a time, and no more than a correct
 * reader needs, so that it keeps up with the servers it measures.
 *
 * @module
 */

import { connect, type Socket } from "node:net";

/** Called back while an answer arrives. Pieces are only valid during the call. */
export interface AnswerSink {
  piece(bytes: Buffer): void;
  end(status: number): void;
  failed(error: Error): void;
}

const headEnd = Buffer.from("\r\n\r\n");
const newline = 10;

type State = "head" | "size" | "data" | "data-end" | "trailer";

/** One connection. The answer goes to the sink of the last request sent. */
export class HttpConnection {
  readonly #socket: Socket;
  #sink: AnswerSink | undefined;
  #state: State = "head";
  #rest: Buffer | undefined;
  #status = 0;
  #chunked = false;
  /** Bytes still to come of the chunk, or of the whole body. */
  #left = 0;

  constructor(port: number) {
    this.#socket = connect({ port, host: "127.0.0.1", noDelay: true });
    this.#socket.on("data", (bytes) => this.#read(bytes));
    this.#socket.on("error", (error) => this.#fail(error));
    this.#socket.on("close", () => this.#fail(new Error("The server closed the connection.")));
  }

  /** Resolves once the connection is established. */
  connected(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#socket.once("connect", resolve);
      this.#socket.once("error", reject);
    });
  }

  send(request: string, sink: AnswerSink): void {
    this.#sink = sink;
    this.#socket.write(request);
  }

  close(): void {
    this.#sink = undefined;
    this.#socket.destroy();
  }

  #fail(error: Error): void {
    const sink = this.#sink;
    this.#sink = undefined;
    sink?.failed(error);
  }

  #read(received: Buffer): void {
    let bytes = this.#rest ? Buffer.concat([this.#rest, received]) : received;
    this.#rest = undefined;
    while (bytes.length > 0) {
      const used = this.#step(bytes);
      if (used === 0) {
        this.#rest = bytes;
        return;
      }
      bytes = bytes.subarray(used);
    }
  }

  /** Reads one part of an answer. Returns how many bytes it consumed; 0: the part is not complete yet. */
  #step(bytes: Buffer): number {
    switch (this.#state) {
      case "head":
        return this.#readHead(bytes);
      case "size":
        return this.#readSize(bytes);
      case "data":
        return this.#readData(bytes);
      case "data-end":
      case "trailer":
        return this.#readLineEnd(bytes);
    }
  }

  #readHead(bytes: Buffer): number {
    const end = bytes.indexOf(headEnd);
    if (end === -1) return 0;
    const head = bytes.toString("latin1", 0, end + 2).toLowerCase();
    this.#status = Number(head.slice(9, 12));
    this.#chunked = head.includes("\r\ntransfer-encoding: chunked\r\n");
    this.#left = Number(/\r\ncontent-length: (\d+)\r\n/.exec(head)?.[1] ?? 0);
    this.#state = this.#chunked ? "size" : "data";
    if (!this.#chunked && this.#left === 0) this.#end();
    return end + 4;
  }

  #readSize(bytes: Buffer): number {
    let size = 0;
    for (let at = 0; at < bytes.length; at++) {
      const code = bytes[at] ?? 0;
      if (code === newline) {
        this.#left = size;
        this.#state = size === 0 ? "trailer" : "data";
        return at + 1;
      }
      if (code !== 13) size = size * 16 + (code > 57 ? (code | 32) - 87 : code - 48);
    }
    return 0;
  }

  #readData(bytes: Buffer): number {
    const length = Math.min(this.#left, bytes.length);
    this.#sink?.piece(length === bytes.length ? bytes : bytes.subarray(0, length));
    this.#left -= length;
    if (this.#left > 0) return length;
    if (this.#chunked) this.#state = "data-end";
    else this.#end();
    return length;
  }

  #readLineEnd(bytes: Buffer): number {
    if (bytes.length < 2) return 0;
    if (this.#state === "data-end") this.#state = "size";
    else this.#end();
    return 2;
  }

  #end(): void {
    this.#state = "head";
    const sink = this.#sink;
    this.#sink = undefined;
    if (sink) sink.end(this.#status);
    else this.close();
  }
}

/** What a request consists of. */
export interface RequestParts {
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as JSON. */
  readonly body?: unknown;
}

/** A request as bytes on the wire. */
export function requestText({ method, path, headers = {}, body }: RequestParts): string {
  const json = body === undefined ? "" : JSON.stringify(body);
  const fields: Record<string, string> = { Host: "127.0.0.1", ...headers };
  if (json !== "") fields["Content-Type"] = "application/json";
  if (json !== "") fields["Content-Length"] = String(Buffer.byteLength(json));
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`);
  return `${method} ${path} HTTP/1.1\r\n${lines.join("")}\r\n${json}`;
}
