/**
 * The scripted model: a server behind an OpenAI-compatible address, in a process of its own. What it answers is in the
 * question ({@link scriptIn}); when live streams get their tokens, the benchmark says over IPC.
 *
 * @module
 */

import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import process from "node:process";
import { type Pace, pace } from "./pacer.ts";
import { type ReplyScript, scriptIn } from "./script.ts";
import { microseconds, tokenOf } from "./tokens.ts";

/** What the model is told to do with a group of live streams, or asked about replies. */
export type ModelOrder =
  | { readonly order: "run"; readonly group: string; readonly streams: number; readonly perSecond: number }
  | { readonly order: "pause"; readonly group: string }
  | { readonly order: "end"; readonly group: string }
  | { readonly order: "count"; readonly prefix: string };

/** What the model has done for the replies whose ids begin with a prefix. */
export interface ReplyCounts {
  /** How often it was asked for each id. */
  readonly asked: Readonly<Record<string, number>>;
  /** How many are being streamed now. */
  readonly running: number;
}

/** A stream of the model. */
interface Stream {
  readonly response: ServerResponse;
  sent: number;
}

/** Live streams by their group, in the order in which they were opened. */
const groups = new Map<string, Set<Stream>>();
const paces = new Map<string, Pace>();
const asked = new Map<string, number>();
const running = new Map<Stream, string>();

const head = { "Content-Type": "text/event-stream; charset=utf-8", "Cache-Control": "no-cache" };
const common = '"id":"chatcmpl-1","object":"chat.completion.chunk","created":1767225600,"model":"scripted"';

function chunk(delta: string, finishReason = "null"): string {
  return `data: {${common},"choices":[{"index":0,"delta":${delta},"finish_reason":${finishReason}}]}\n\n`;
}

const first = chunk('{"role":"assistant","content":""}');
const usage = '{"prompt_tokens":9,"completion_tokens":9,"total_tokens":18}';
const last = `${chunk("{}", '"stop"')}data: {${common},"choices":[],"usage":${usage}}\n\ndata: [DONE]\n\n`;
const [before = "", after = ""] = chunk('{"content":"|"}').split("|");

function begin(response: ServerResponse, sent = 0): Stream {
  response.writeHead(200, head);
  response.write(first);
  return { response, sent };
}

function give(stream: Stream): void {
  stream.response.write(before + tokenOf(stream.sent++, microseconds()) + after);
}

function stayLive(response: ServerResponse, group: string): void {
  const stream = begin(response);
  const members = groups.get(group) ?? new Set();
  groups.set(group, members.add(stream));
  response.on("close", () => members.delete(stream));
  give(stream);
}

function reply(response: ServerResponse, { id, tokens, perSecond, from }: ReplyScript): void {
  asked.set(id, (asked.get(id) ?? 0) + 1);
  const stream = begin(response, from);
  running.set(stream, id);
  const take = () => {
    if (stream.sent < tokens) give(stream);
    if (stream.sent < tokens) return;
    rate?.stop();
    response.end(last);
  };
  let rate: Pace | undefined;
  if (perSecond > 0) rate = pace([take], perSecond);
  else while (!response.writableEnded) take();
  response.on("close", () => {
    rate?.stop();
    running.delete(stream);
  });
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  let body = "";
  for await (const text of request.setEncoding("utf8")) body += text;
  return body;
}

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const script = scriptIn(await bodyOf(request));
  if (script?.kind === "live") return stayLive(response, script.group);
  if (script?.kind === "reply") return reply(response, script);
  response.writeHead(200, { "Content-Type": "application/json" });
  response.end('{"object":"list","data":[{"id":"scripted","object":"model"}]}');
}

function obey(order: ModelOrder): unknown {
  switch (order.order) {
    case "run": {
      const streams = [...(groups.get(order.group) ?? [])].slice(0, order.streams);
      const takers = streams.map((stream) => () => give(stream));
      paces.set(order.group, pace(takers, order.perSecond));
      return streams.length;
    }
    case "pause":
      paces.get(order.group)?.stop();
      return undefined;
    case "end":
      for (const { response } of groups.get(order.group) ?? []) response.end(last);
      return undefined;
    case "count":
      return count(order.prefix);
  }
}

function count(prefix: string): ReplyCounts {
  const of = [...asked].filter(([id]) => id.startsWith(prefix));
  const still = [...running.values()].filter((id) => id.startsWith(prefix));
  return { asked: Object.fromEntries(of), running: still.length };
}

const server = createServer({ keepAliveTimeout: 120_000 }, (request, response) => {
  answer(request, response).catch(() => response.destroy()); // the server that asked has left
});
server.listen(Number(process.env.PORT ?? 0), "127.0.0.1", 4096, () => {
  process.send?.({ port: (server.address() as AddressInfo).port });
});
process.on("message", (order: ModelOrder) => process.send?.({ report: obey(order) ?? null }));
process.on("disconnect", () => process.exit(0));
