/**
 * Requests that a client sends without waiting for the answers before them: each is begun when it is its turn. Begun
 * at once, a few bytes a request would make as many answers as one likes, all kept until their turn.
 *
 * @module
 */

import type { IncomingMessage, ServerResponse } from "node:http";
import { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { NodeRequest } from "./node-request.ts";

/** How many requests may wait on one connection: more than anybody sends ahead. */
const mostWaiting = 100;

/** A request and its response. */
export interface Exchange {
  readonly request: NodeRequest;
  readonly message: IncomingMessage;
  readonly response: ServerResponse;
}

/** The requests of a connection. */
interface Pipeline {
  /** The one that came last, until its response has closed: an old object that held a young one would keep it. */
  last: Exchange | undefined;
  waiting: number;
}

const pipelines = new WeakMap<Duplex, Pipeline>();

/** The request that came last on a connection, while its answer is not out. */
export function lastOn(socket: Duplex): Exchange | undefined {
  return pipelines.get(socket)?.last;
}

/**
 * Calls `begin` once the responses before this one are out, if they were begun here. Never, if the connection closes
 * before, as it does when too many wait.
 */
export function inTurn(exchange: Exchange, begin: () => void): void {
  const { socket } = exchange.message;
  const pipeline = pipelineOf(socket);
  const before = pipeline && enter(pipeline, exchange);
  if (!pipeline || !before || exchange.response.socket) {
    begin();
    return;
  }
  pipeline.waiting++;
  if (pipeline.waiting > mostWaiting) socket.destroy();
  before.once("close", () => {
    pipeline.waiting--;
    if (!socket.destroyed) begin();
  });
}

/** Returns the response before, if it is not out yet. */
function enter(pipeline: Pipeline, exchange: Exchange): ServerResponse | undefined {
  const before = pipeline.last?.response;
  pipeline.last = exchange;
  exchange.request.signal.addEventListener("abort", () => {
    if (pipeline.last === exchange) pipeline.last = undefined;
  });
  return before;
}

function pipelineOf(socket: Socket): Pipeline | undefined {
  if (!(socket instanceof Socket)) return undefined; // a host plays the request
  const known = pipelines.get(socket);
  if (known) return known;
  const pipeline: Pipeline = { last: undefined, waiting: 0 };
  pipelines.set(socket, pipeline);
  return pipeline;
}
