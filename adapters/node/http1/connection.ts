/**
 * One connection of our own server: requests are read, answered one after the other, and followed by the next.
 *
 * @module
 */

import type { Socket } from "node:net";
import type { Service } from "../../../core/service.ts";
import { ApiError } from "../../../core/wire/errors.ts";
import type { Answer } from "../../../core/wire/request.ts";
import { keepAliveMs } from "../../http/running-server.ts";
import { hangUp } from "../answer.ts";
import { writeEvents } from "../events.ts";
import { writeText } from "../text.ts";
import { Arrived, ConnectionRequest, ConnectionResponse, type ResponseOwner } from "./exchange.ts";
import { headLength, methodOf, type RequestHead, readHead } from "./head.ts";

/** How often a server calls {@link Connection.countPatrol}, in milliseconds. */
export const patrolMs = 1_000;

/** For how many patrols the connection may be idle between two requests. */
const idlePatrols = keepAliveMs / patrolMs;

/** For how many patrols a head may arrive, from its first byte on or from the connection's beginning. */
const headPatrols = 60_000 / patrolMs;

/** How much may arrive before it is needed, in bytes: further requests of a client that does not wait for answers. */
const mostAhead = 64 * 1024;

/** How many requests that arrived together are answered before other connections get their turn. */
const mostInOneTurn = 16;

/** What a connection is part of. */
export interface ConnectionOptions {
  readonly service: Service;
  /** Whether the server is stopping, so that no further request should come. */
  readonly isClosing: () => boolean;
}

/** A request and its response. */
interface Exchange {
  readonly head: RequestHead;
  readonly request: ConnectionRequest;
  readonly response: ConnectionResponse;
}

// ASCII codes.
const lineFeed = 10;
const carriageReturn = 13;

/** Serves a connection until it closes. */
export class Connection implements ResponseOwner {
  readonly socket: Socket;
  readonly #options: ConnectionOptions;
  /** What has arrived and was not taken yet. The current request takes its body from here. */
  readonly #arrived = new Arrived();
  /** How much of that was searched for the end of a head. */
  #searched = 0;
  #exchange: Exchange | undefined;
  /** The answered request whose body is being skipped. */
  #skipping: ConnectionRequest | undefined;
  /** How many requests were answered since something arrived, or other connections had their turn. */
  #inThisTurn = 0;
  /** Whether the next request waits for the others' turn. */
  #givesWay = false;
  /** Whether the last answer was given: nothing that arrives matters any more. */
  #over = false;
  /** How many patrols may pass before the client is given up. Infinite while it is the client that waits. */
  #patrolsLeft = headPatrols;

  constructor(socket: Socket, options: ConnectionOptions) {
    this.socket = socket;
    this.#options = options;
    socket.on("data", this.#received);
    socket.on("drain", () => this.#exchange?.response.emit("drain"));
    socket.on("end", () => this.#left());
    socket.on("error", () => socket.destroy());
    socket.on("close", () => this.#closed());
  }

  /** Closes the connection if no request is under way. */
  closeIfIdle(): void {
    const isIdle = !this.#exchange && !this.#skipping && this.#arrived.bytes.length === 0;
    if (isIdle && !this.#over) this.socket.destroy();
  }

  /** A moment has passed: gives up a client that has let the server wait for too long. */
  countPatrol(): void {
    if (this.#patrolsLeft-- > 0) return;
    if (this.#arrived.bytes.length === 0) this.socket.destroy();
    else this.#refuse(new ApiError("invalid_request", "The request did not arrive in time."));
  }

  readonly #received = (bytes: Buffer): void => {
    if (this.#over) return;
    const { length } = this.#arrived.bytes;
    this.#arrived.bytes = length === 0 ? bytes : Buffer.concat([this.#arrived.bytes, bytes]);
    this.#inThisTurn = 0;
    if (!this.#exchange && !this.#givesWay) this.#readOn();
    if (this.#arrived.bytes.length > mostAhead) this.socket.pause(); // until it is needed
    this.#exchange?.request.arrived();
  };

  /** Reads what comes next, if all of it has arrived. */
  #readOn(): void {
    if (this.#skipping?.skipBody() === "wait") return;
    this.#skipping = undefined;
    this.#dropEmptyLines();
    const { bytes } = this.#arrived;
    if (bytes.length === 0 || (bytes.length === 1 && bytes[0] === carriageReturn)) return;
    try {
      const length = headLength(bytes, this.#searched);
      if (length === undefined) {
        if (this.#searched === 0) this.#patrolsLeft = headPatrols;
        this.#searched = bytes.length;
        return;
      }
      const head = readHead(bytes.toString("latin1", 0, length));
      this.#arrived.drop(length);
      this.#searched = 0;
      this.#begin(head);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      this.#refuse(error);
    }
  }

  /** Clients may send an empty line after a body that does not count (RFC 9112, section 2.2). */
  #dropEmptyLines(): void {
    const { bytes } = this.#arrived;
    let lines = 0;
    while (bytes[lines] === carriageReturn && bytes[lines + 1] === lineFeed) lines += 2;
    if (lines > 0) this.#arrived.drop(lines);
  }

  #begin(head: RequestHead): void {
    this.#patrolsLeft = Number.POSITIVE_INFINITY;
    const response = new ConnectionResponse(head, this);
    const request = new ConnectionRequest(head, this.#arrived, response);
    this.#exchange = { head, request, response };
    void this.#options.service.answer(request).then((answer) => this.#answer(request, response, answer));
  }

  #answer(request: ConnectionRequest, response: ConnectionResponse, answer: Answer): void {
    const { body } = answer;
    if (body !== null && typeof body !== "string") writeEvents(answer, body, request.signal, response);
    else if (request.skipBody() === "never") this.#hangUp(answer, request.method);
    else writeText(answer, body, response);
  }

  /** Whether the client wants to send, and the server to get, another request after the current one. */
  mayContinue(): boolean {
    const { head, request } = this.#exchange ?? {};
    if (this.#options.isClosing() || this.socket.readableEnded) return false;
    return head?.keepsConnection === true && request?.skipBody() !== "never";
  }

  /** The current response is sent: the next request may begin. */
  readonly finish = (error?: Error | null): void => {
    if (error || !this.#exchange || this.socket.destroyed) return; // closing ends it
    const { request, response } = this.#exchange;
    this.#exchange = undefined;
    response.emit("finish");
    response.close();
    request.close();
    if (!response.keepsConnection || this.#options.isClosing() || this.socket.readableEnded) {
      this.#endConnection();
      return;
    }
    this.#skipping = request;
    this.#patrolsLeft = idlePatrols;
    this.#givesWay = ++this.#inThisTurn >= mostInOneTurn;
    if (this.#givesWay) setImmediate(this.#readNext);
    else this.#readNext();
  };

  readonly #readNext = (): void => {
    if (this.#givesWay) this.#inThisTurn = 0;
    this.#givesWay = false;
    if (this.#over || !this.socket.writable) return; // the client has left
    this.#readOn();
    if (this.#arrived.bytes.length <= mostAhead && this.socket.isPaused() && !this.#over)
      this.socket.resume();
  };

  #endConnection(): void {
    this.#over = true;
    this.socket.destroySoon();
  }

  /** Answers what is not a valid request. */
  #refuse(error: ApiError): void {
    const method = methodOf(this.#arrived.bytes);
    this.#hangUp(this.#options.service.refuse(error), method);
  }

  #hangUp(answer: Answer, method: string): void {
    this.#over = true;
    this.#patrolsLeft = Number.POSITIVE_INFINITY;
    this.#arrived.drop();
    hangUp(this.socket, answer, method);
  }

  /** The client will send nothing more. It has left, unless it has to be told that its request is incomplete. */
  #left(): void {
    if (this.#over) return;
    if (this.#exchange?.request.isIncomplete) this.#exchange.request.breakOff();
    else if (!this.#exchange && !this.#givesWay && this.#arrived.bytes.length > 0) {
      this.#refuse(new ApiError("invalid_request", "The connection ended within a request."));
    } else this.socket.end();
  }

  #closed(): void {
    this.#over = true;
    this.#arrived.drop();
    const { request, response } = this.#exchange ?? {};
    this.#exchange = undefined;
    request?.breakOff();
    response?.close();
    request?.close();
  }
}
