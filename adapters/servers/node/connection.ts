/**
 * Answers the requests of `node:http` connections. Those that a client sends without waiting for earlier answers are
 * begun one after the other: otherwise, a few bytes for each could cause any number of answers, all kept in memory until
 * their turn.
 *
 * @module
 */

import { ServerResponse } from "node:http";
import { Socket } from "node:net";
import type { Service } from "../../../core/service.ts";
import { type Answer, isEventStream, isForwarded } from "../../../core/wire/request.ts";
import { writeEvents, writeWhole } from "./body.ts";
import type { NodeRequest } from "./request.ts";

/** How many requests may wait on one connection, and how many bytes of them: more than any real client pipelines. */
const mostWaiting = 100;
const mostBytesWaiting = 64 * 1024;

/** A request, and what begins it. */
interface Pending {
  readonly request: NodeRequest;
  readonly begin: () => void;
}

/** One connection, and its requests that are not answered yet. */
export class Connection {
  readonly #socket: Socket;
  /** Whether a proxy has opened it, as the first request says. */
  #isOfProxy: boolean | undefined;
  #current: Pending | undefined;
  readonly #waiting: Pending[] = [];
  /** What follows the last answer, once no further request will be read. */
  #end: (() => void) | undefined;

  constructor(socket: Socket) {
    this.#socket = socket;
  }

  /**
   * Calls `begin` once the earlier requests are answered. Never if the connection closes before that, as it does when
   * too many wait, or if one of the answers says so (RFC 9112, section 9.6): the request would be carried out, and its
   * client would not get the answer.
   */
  enter(request: NodeRequest, begin: () => void): void {
    const pending = { request, begin };
    this.#isOfProxy ??= isForwarded(request.headers);
    if (!this.#socket.writable) return;
    if (!this.#current) this.#begin(pending);
    else if (this.#waiting.push(pending) > mostWaiting || this.#waitingBytes() > mostBytesWaiting)
      this.#socket.destroy();
  }

  #waitingBytes(): number {
    return this.#waiting.reduce((sum, { request }) => sum + request.waitingBytes, 0);
  }

  #begin(pending: Pending): void {
    this.#current = pending;
    pending.request.addEventListener("abort", this.#next);
    pending.begin();
  }

  readonly #next = (): void => {
    this.#current = undefined;
    if (!this.#socket.writable) return;
    const next = this.#waiting.shift();
    if (next) this.#begin(next);
    else this.#end?.();
  };

  /**
   * Closes a proxy's connection, as {@link Connection.close} does: it goes to another server then, where on an open
   * connection it would pass on the refusal. A client without a proxy has only this one, and is told.
   */
  leaveProxy(): void {
    if (this.#isOfProxy) this.close();
  }

  /** Closes the connection once the requests so far are answered. */
  close(): void {
    this.endWith(() => this.#socket.destroySoon());
  }

  /**
   * Calls `end` once the requests so far are answered. No further one will be read. The first call counts; and none where our half
   * has ended, behind which Node keeps a response for each request that it has read since.
   */
  endWith(end: () => void): void {
    if (this.#end) return;
    this.#end = end;
    if (!this.#current && this.#socket.writable) end();
  }

  /** What has arrived is no HTTP. If it was to be a body, breaks off its request; otherwise, calls `refuse` as the end. */
  breakOff(error: Error, refuse: () => void): void {
    const { request } = this.#waiting.at(-1) ?? this.#current ?? {};
    if (!request?.isIncomplete) {
      this.endWith(refuse);
      return;
    }
    request.breakOff(error);
    this.close();
  }
}

const connections = new WeakMap<Socket, Connection>();

/** The connection of a socket. */
export function connectionOf(socket: Socket): Connection {
  const known = connections.get(socket);
  if (known) return known;
  const connection = new Connection(socket);
  connections.set(socket, connection);
  return connection;
}

/** How long a client that is still sending has to read why it was refused, in milliseconds. */
const lingerMs = 2_000;

/** Has the service answer a request, once the earlier ones of its connection are answered. */
export function answerInTurn(service: Service, request: NodeRequest, isClosing = () => false): void {
  async function begin(): Promise<void> {
    const { error } = request.headers;
    const answer = error ? service.refuse(error) : await service.answer(request);
    // A client that frames one request badly may do so with the next.
    if (error || isClosing()) answer.headers.Connection = "close";
    writeAnswer(answer, request);
  }
  if (request.socket instanceof Socket) connectionOf(request.socket).enter(request, begin);
  else void begin(); // a host simulates the request
}

/** Writes the answer to a request, unless the host has answered it by itself. */
function writeAnswer(answer: Answer, request: NodeRequest): void {
  const { response } = request;
  const { body, headers } = answer;
  if (response.headersSent) {
    answer.sent?.();
    return;
  }
  if (request.leavesBodyUnread && closesLate(response)) headers.Connection = "close";
  if (isEventStream(body)) writeEvents(answer, body, request);
  else writeWhole(answer, body, response);
}

/**
 * Has the connection closed late after this response: at first only our half, because a client that is still sending
 * would get a reset instead of the answer. False if there is none to close: over HTTP/2 it carries others, and a host
 * that simulates a request may have nothing but a stream to write to.
 */
export function closesLate(response: ServerResponse): boolean {
  const { socket } = response;
  if (!(response instanceof ServerResponse && socket instanceof Socket)) return false;
  // Node calls this as soon as the response is written.
  socket.destroySoon = () => {
    socket.end();
    setImmediate(() => socket.pause()); // not before Node has begun to skip the rest of the body
    setTimeout(() => socket.destroy(), lingerMs).unref();
  };
  return true;
}
