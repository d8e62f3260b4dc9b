/**
 * Pipelining: requests that a client sends without waiting for earlier answers are begun one after the other.
 * Otherwise, a few bytes per request could cause any number of answers, all kept in memory until their turn.
 *
 * @module
 */

import type { IncomingMessage, ServerResponse } from "node:http";
import { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { NodeRequest } from "./request.ts";

/** How many requests may wait on one connection: more than any real client pipelines. */
const mostWaiting = 100;

/** A request and its response. */
export interface Exchange {
  readonly request: NodeRequest;
  readonly message: IncomingMessage;
  readonly response: ServerResponse;
}

/** The requests of a connection. */
interface Pipeline {
  /** The last one, until its response has closed: as this object is old, it would keep a young one alive. */
  last: Exchange | undefined;
  waiting: number;
}

const pipelines = new WeakMap<Duplex, Pipeline>();

/**
 * Calls `begin` once the earlier responses that were begun here are sent. Never if the connection closes before that,
 * as it does when too many requests wait, or if one of them says that it closes (RFC 9112, section 9.6): the request
 * would be carried out, and its client would not get the answer.
 */
export function inTurn(exchange: Exchange, begin: () => void): void {
  const { socket } = exchange.message;
  const pipeline = pipelineOf(socket);
  if (!pipeline) {
    begin();
    return;
  }
  const before = enter(pipeline, exchange);
  if (!before || exchange.response.socket) {
    if (socket.writable) begin();
    return;
  }
  pipeline.waiting++;
  if (pipeline.waiting > mostWaiting) socket.destroy();
  before.once("close", () => {
    pipeline.waiting--;
    if (socket.writable) begin();
  });
}

/** Returns the response before, if it is not sent yet. */
function enter(pipeline: Pipeline, exchange: Exchange): ServerResponse | undefined {
  const before = pipeline.last?.response;
  pipeline.last = exchange;
  exchange.request.signal.addEventListener("abort", () => {
    if (pipeline.last === exchange) pipeline.last = undefined;
  });
  return before;
}

function pipelineOf(socket: Socket): Pipeline | undefined {
  if (!(socket instanceof Socket)) return undefined; // a host simulates the request
  const known = pipelines.get(socket);
  if (known) return known;
  const pipeline: Pipeline = { last: undefined, waiting: 0 };
  pipelines.set(socket, pipeline);
  return pipeline;
}
