/**
 * A model server for tests that misbehaves as told: a real HTTP server on 127.0.0.1.
 *
 * @module
 */

import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { freePort, listen } from "../support/ports.ts";

/** How the server answers one request. May take its time, and may leave the answer unfinished. */
export type Script = (response: ServerResponse, request: ReceivedRequest) => void | Promise<void>;

/** A request as the server received it. */
export interface ReceivedRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage["headers"];
  /** The body, parsed. Undefined if it is empty. */
  readonly body: unknown;
  /** The client's port, which tells connections apart. */
  readonly clientPort: number;
  /** Resolves once the request's connection is closed. */
  readonly closed: Promise<void>;
}

/** A running {@link startModelServer}. */
export interface ModelServer {
  /** The address up to and including `/v1`. */
  readonly baseUrl: string;
  /** All requests so far, but for those for the list of models. */
  readonly requests: readonly ReceivedRequest[];
  /** The requests for the list of models so far. */
  readonly probes: readonly ReceivedRequest[];
  /** How many connections are open. */
  readonly openConnections: number;
  /** Sets how requests for the list of models are answered. Default: with an empty one. */
  scriptModels(script: Script): void;
  /** Sets how the next requests are answered: one script each, the last one for all later ones. */
  script(...scripts: readonly Script[]): void;
  /** The request number `index`, as soon as it has arrived. */
  received(index: number): Promise<ReceivedRequest>;
  /** Cuts all connections and stops. */
  close(): Promise<void>;
}

/** Starts a model server. Unless told otherwise, it says "Hello!". */
export async function startModelServer(): Promise<ModelServer> {
  let scripts: readonly Script[] = [reply("Hello", "!")];
  let modelsScript: Script = models();
  const requests: ReceivedRequest[] = [];
  const probes: ReceivedRequest[] = [];
  const waiting = new Set<() => void>();

  const server = createServer({ noDelay: true }, (request, response) => {
    receive(request, connections.closingOf(request.socket)).then((received) => {
      if (received.path === "/v1/models") {
        probes.push(received);
        return modelsScript(response, received);
      }
      requests.push(received);
      for (const look of waiting) look();
      const [script = scripts[0], ...rest] = scripts;
      if (rest.length > 0) scripts = rest;
      return script?.(response, received);
    }, ignoreBrokenRequest);
  });
  const connections = countConnections(server);

  return {
    baseUrl: `http://127.0.0.1:${await listen(server)}/v1`,
    requests,
    probes,
    scriptModels(script) {
      modelsScript = script;
    },
    get openConnections() {
      return connections.open;
    },
    script(...next) {
      scripts = next;
    },
    received: (index) =>
      new Promise((resolve) => {
        const look = () => {
          const request = requests[index];
          if (request === undefined) return;
          waiting.delete(look);
          resolve(request);
        };
        waiting.add(look);
        look();
      }),
    close: () => stop(server),
  };
}

/** Counts a server's connections, and knows when each one closes. */
function countConnections(server: Server) {
  const closings = new WeakMap<Socket, Promise<void>>();
  let open = 0;
  server.on("connection", (socket) => {
    open++;
    const closed = new Promise<void>((resolve) => socket.once("close", () => resolve()));
    closings.set(
      socket,
      closed.then(() => {
        open--;
      }),
    );
  });
  return {
    get open() {
      return open;
    },
    closingOf: (socket: Socket) => closings.get(socket),
  };
}

async function receive(request: IncomingMessage, closed = Promise.resolve()): Promise<ReceivedRequest> {
  const { method = "", url = "", headers, socket } = request;
  const clientPort = socket.remotePort ?? 0;
  let text = "";
  for await (const piece of request.setEncoding("utf8")) text += piece;
  const body: unknown = text === "" ? undefined : JSON.parse(text);
  return { method, path: url, headers, body, clientPort, closed };
}

// Some tests are about clients that leave in the middle of a request.
function ignoreBrokenRequest(): void {}

function stop(server: Server): Promise<void> {
  return new Promise((resolve, reject) => {
    server.close((error) => (error ? reject(error) : resolve()));
    server.closeAllConnections();
  });
}

/** An address where nothing is listening. */
export async function refusingBaseUrl(): Promise<string> {
  return `http://127.0.0.1:${await freePort()}/v1`;
}

/** What a model is asked. */
export interface Question {
  /** The user's message. */
  readonly question: string;
  /** The text of the reply that it is to continue, if any. */
  readonly partial: string;
  /** The model's name of a tool that it may call, if any. */
  readonly tool: string | undefined;
  /** How many results of calls it has. */
  readonly results: number;
}

/** A model with this name that is asked by servers of their own. It lists itself, and answers each question. */
export function createModelServer(
  model: string,
  answer: (asked: Question, response: ServerResponse) => void | Promise<void>,
): Server {
  return createServer(async (request, response) => {
    if (request.method === "GET") {
      response.setHeader("Content-Type", "application/json");
      response.end(JSON.stringify({ object: "list", data: [{ id: model, object: "model" }] }));
    } else await answer(await questionIn(request), response);
  });
}

/** What a request asks a model for. A text to continue is the last message, marked as a prefix. */
async function questionIn(request: IncomingMessage): Promise<Question> {
  let body = "";
  for await (const piece of request.setEncoding("utf8")) body += piece;
  const { messages, tools = [] } = JSON.parse(body) as {
    messages: { role: string; content: string; prefix?: boolean }[];
    tools?: { function: { name: string } }[];
  };
  const last = messages.at(-1);
  return {
    question: messages.findLast(({ role }) => role === "user")?.content ?? "",
    partial: last?.prefix ? last.content : "",
    tool: tools[0]?.function.name,
    results: messages.filter(({ role }) => role === "tool").length,
  };
}

/** One event of a stream, with this value as JSON. */
export function event(value: unknown): string {
  return `data: ${JSON.stringify(value)}\n\n`;
}

/** The event for a piece of text. */
export function delta(content: string): string {
  return event({
    object: "chat.completion.chunk",
    choices: [{ index: 0, delta: { content }, finish_reason: null }],
  });
}

/** The event for a call of a tool. */
export function call(id: string, name: string, input: object): string {
  const called = { index: 0, id, type: "function", function: { name, arguments: JSON.stringify(input) } };
  return event({
    object: "chat.completion.chunk",
    choices: [{ index: 0, delta: { tool_calls: [called] }, finish_reason: null }],
  });
}

/** The event for a finish reason. */
export function finish(reason: string | null): string {
  return event({
    object: "chat.completion.chunk",
    choices: [{ index: 0, delta: {}, finish_reason: reason }],
  });
}

/** The event for token counts. */
export function usage(promptTokens: number, completionTokens: number): string {
  const counts = {
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    total_tokens: promptTokens + completionTokens,
  };
  return event({ object: "chat.completion.chunk", choices: [], usage: counts });
}

/** The end marker. */
export const endMarker = "data: [DONE]\n\n";

/** A whole stream: the text in pieces, the finish reason, token counts, the end marker. */
export function completion(...contents: readonly string[]): string {
  return [...contents.map(delta), finish("stop"), usage(7, contents.length), endMarker].join("");
}

/** Begins an event stream. */
export function begin(response: ServerResponse): ServerResponse {
  response.writeHead(200, { "content-type": "text/event-stream; charset=utf-8" }).flushHeaders();
  return response;
}

/** Answers with this body, in one piece. */
export function send(
  body: string | Uint8Array,
  { status = 200, headers = {} }: { status?: number; headers?: Record<string, string> } = {},
): Script {
  return (response) => {
    response.writeHead(status, { "content-type": "text/event-stream", ...headers }).end(body);
  };
}

/** Answers with a list of these models. */
export function models(...names: readonly string[]): Script {
  const data = names.map((id) => ({ id, object: "model", created: 0, owned_by: "test" }));
  return send(JSON.stringify({ object: "list", data }), { headers: { "content-type": "application/json" } });
}

/** Answers with a status and nothing else. */
export function refuse(status: number, headers: Record<string, string> = {}): Script {
  return (response) => {
    response.writeHead(status, headers).end();
  };
}

/** Replies with this text, in these pieces. */
export function reply(...contents: readonly string[]): Script {
  return send(completion(...contents));
}

/** Sends these parts of a stream and nothing more, but leaves the connection open. */
export function hangAfter(...parts: readonly string[]): Script {
  return (response) => {
    begin(response);
    for (const part of parts) response.write(part);
  };
}

/** Accepts the request and never answers. */
export const hang: Script = () => {};

/** Cuts the connection before an answer. */
export const resetAtOnce: Script = (response) => {
  response.socket?.resetAndDestroy();
};

/** Sends these parts of a stream, and cuts the connection when `until` resolves. */
export function resetWhen(until: Promise<unknown>, ...parts: readonly string[]): Script {
  return async (response) => {
    begin(response);
    for (const part of parts) response.write(part);
    await until;
    response.socket?.resetAndDestroy();
  };
}

/** Sends a stream byte by byte, each in a packet of its own. */
export function byteByByte(body: string): Script {
  return async (response) => {
    begin(response);
    for (const byte of new TextEncoder().encode(body)) {
      response.write(Uint8Array.of(byte));
      await new Promise((resolve) => setImmediate(resolve)); // sends it before the next one joins it
    }
    response.end();
  };
}
