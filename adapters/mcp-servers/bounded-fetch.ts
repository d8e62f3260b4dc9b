/**
 * Requests to an MCP server whose answers are read within limits: the package reads them whole. What is wrong with one answer
 * becomes an error of the protocol for its own request, so that it fails alone.
 *
 * @module
 */

import { createParser, type EventSourceMessage } from "eventsource-parser";
import { isJsonObject, isString, type JsonObject } from "../../core/base/json.ts";
import { HeldAnswer, hasTooMany, parseBounded, readText, TooMuchAtOnce } from "../bounded-text.ts";

/** The longest answer, in bytes, by method. A list of tools has so many with all of its pages. */
const longest = { call: 1_048_576, list: 8_388_608, other: 1_048_576 } as const;

/** How many values a list may have: thousands of tools with long schemas. Another answer has as many as is usual. */
const valuesOfList = 500_000;

/** The code of an error for a stream that has ended, or broke, before the answer. */
export const brokenOff = -32_099;

/** The session of a request is not known any more: its client must connect anew. */
export const sessionGone = 404;

type Fetch = (url: string | URL, init?: RequestInit) => Promise<Response>;

/** What is known of a request. */
interface Asked {
  readonly id: unknown;
  readonly method: string;
  readonly hasSession: boolean;
}

/** Creates a `fetch` for one connection. `leftOut` is told how many tools of a list are not as the protocol has them. */
export function createBoundedFetch(leftOut: (count: number) => void): Fetch {
  let listed = 0;

  return async (url, init = {}) => {
    const { cursor, ...asked } = askedIn(init);
    if (asked.method === "tools/list" && cursor === undefined) listed = 0;
    const { signal, finished } = followedSignal(init.signal);
    let isOpen = false;
    try {
      const response = await globalThis.fetch(url, { ...init, signal });
      isOpen = response.ok && isEventStream(response);
      return await bounded(response, asked, finished);
    } finally {
      if (!isOpen) finished();
    }
  };

  async function bounded(response: Response, asked: Asked, finished: () => void): Promise<Response> {
    if (!response.ok) return refusal(asked, response);
    const isList = asked.method === "tools/list";
    const limit = isList ? longest.list - listed : longest[asked.method === "tools/call" ? "call" : "other"];
    const most = isList ? valuesOfList : undefined;
    const count = (bytes: number) => {
      if (isList) listed += bytes;
    };
    const rewrite = (text: string) => (isList ? withoutOddTools(text, leftOut) : text);
    if (isEventStream(response)) {
      const options = { asked, limit, most, count, rewrite, finished };
      const events = response.body && boundedEvents(response.body, options);
      return new Response(events, response);
    }
    const text = await readBounded(response, limit);
    if (text === undefined || hasTooMany(text, most)) return errorResponse(asked, tooLong(limit));
    count(text.length);
    return text === "" ? new Response(null, response) : new Response(rewrite(text), response);
  }
}

/** The text of an answer. Undefined: it is too long, or there is no memory left for it now. */
async function readBounded(response: Response, limit: number): Promise<string | undefined> {
  try {
    return await readText(response, limit);
  } catch (error) {
    if (error instanceof TooMuchAtOnce) return undefined;
    throw error;
  }
}

/** Follows a connection's signal for one request. `fetch` would leave a listener at it for each, until a garbage collection. */
function followedSignal(signal: AbortSignal | null | undefined) {
  const controller = new AbortController();
  const abort = () => controller.abort(signal?.reason);
  if (signal?.aborted) abort();
  else signal?.addEventListener("abort", abort, { once: true });
  return { signal: controller.signal, finished: () => signal?.removeEventListener("abort", abort) };
}

function isEventStream({ headers }: Response): boolean {
  return headers.get("content-type")?.toLowerCase().startsWith("text/event-stream") ?? false;
}

function askedIn({ method, body, headers }: RequestInit): Asked & { readonly cursor: unknown } {
  const message: unknown = method === "POST" && isString(body) ? JSON.parse(body) : undefined;
  const { id, method: name, params }: JsonObject = isJsonObject(message) ? message : {};
  return {
    id,
    method: isString(name) ? name : "",
    hasSession: new Headers(headers).has("mcp-session-id"),
    cursor: isJsonObject(params) ? params.cursor : undefined,
  };
}

/** An answer without a result, so that the package sees the failure of this request alone where it is one. */
async function refusal(asked: Asked, response: Response): Promise<Response> {
  const { status, headers } = response;
  // Servers of older revisions say in many ways that they do not know the question for the newest one.
  if (asked.method === "server/discover" && status >= 500)
    return new Response(null, { status: 404, headers });
  if (status >= 300 && status < 400) return response; // the package decides where it may go
  const text = (await readBounded(response, longest.other)) ?? "";
  const init = { status, headers };
  if (asked.method !== "tools/call") return new Response(text, init);
  if (asked.hasSession && (status === 404 || (status === 400 && /session/i.test(text)))) {
    return new Response(text, { ...init, status: sessionGone });
  }
  const message = parseBounded(text);
  const error = isJsonObject(message) && isJsonObject(message.error) ? message.error : undefined;
  if (error && isString(error.message)) return errorResponse(asked, error.message);
  if (status === 408 || status === 429)
    return errorResponse(asked, `the server answered with status ${status}.`);
  return new Response(text, init);
}

function tooLong(limit: number): string {
  return `the server's answer has more than ${limit} bytes, or too many values.`;
}

function errorMessage({ id }: Asked, message: string, code = -32_000): string {
  return JSON.stringify({ jsonrpc: "2.0", id, error: { code, message } });
}

function errorResponse(asked: Asked, message: string): Response {
  return new Response(errorMessage(asked, message), { headers: { "content-type": "application/json" } });
}

interface EventOptions {
  readonly asked: Asked;
  readonly limit: number;
  /** How many values an event may have. */
  readonly most: number | undefined;
  count(bytes: number): void;
  rewrite(text: string): string;
  /** Called when no more is read. */
  finished(): void;
}

/**
 * Passes events on. One that is too long ends the stream, with an error for the request that it answers; so does an end before
 * the answer, unless the events have ids, by which the package goes on.
 */
function boundedEvents(
  body: ReadableStream<Uint8Array>,
  { asked, limit, most, count, rewrite, finished }: EventOptions,
): ReadableStream<Uint8Array> {
  const [decoder, encoder, reader] = [new TextDecoder(), new TextEncoder(), body.getReader()];
  let [isTooLong, endsWithReturn, hasIds, isAnswered] = [false, false, false, asked.id === undefined];
  let out = "";
  let bytesOfEvent = 0;
  const held = new HeldAnswer();
  const parser = createParser({
    maxBufferSize: limit,
    onEvent(event) {
      if (event.data.length > limit || hasTooMany(event.data, most)) isTooLong = true;
      bytesOfEvent = 0;
      held.release();
      if (isTooLong) return;
      hasIds ||= event.id !== undefined;
      isAnswered ||= isAnswer(event.data, asked);
      out += written({ ...event, data: rewrite(event.data) });
      count(event.data.length);
    },
    onError({ type }) {
      isTooLong ||= type === "max-buffer-size-exceeded";
    },
    onRetry(milliseconds) {
      out += `retry: ${milliseconds}\n\n`;
    },
  });

  function feed(bytes: Uint8Array): void {
    bytesOfEvent += bytes.length;
    if (!held.add(bytes.length)) isTooLong = true;
    const text = decoder.decode(bytes, { stream: true });
    // After each CR, the parser looks for an LF in all that is there.
    const rest = endsWithReturn && text.startsWith("\n") ? text.slice(1) : text;
    endsWithReturn = text.endsWith("\r");
    parser.feed(rest.replaceAll(/\r\n?/g, "\n"));
    isTooLong ||= bytesOfEvent > limit;
    if (!isTooLong) return;
    finish();
    if (!isAnswered) out += written({ data: errorMessage(asked, tooLong(limit)) });
    void reader.cancel().catch(() => undefined); // the connection is closed, whatever its server does
  }

  function finish(): void {
    held.release();
    finished();
  }

  function ended(controller: ReadableStreamDefaultController<Uint8Array>, error?: unknown): void {
    finish();
    const isBroken = !isAnswered && !isTooLong && !hasIds;
    const message = "the server has not answered.";
    if (isBroken)
      controller.enqueue(encoder.encode(written({ data: errorMessage(asked, message, brokenOff) })));
    if (error === undefined || isBroken || isTooLong) controller.close();
    else controller.error(error);
  }

  return new ReadableStream({
    async pull(controller) {
      try {
        while (out === "" && !isTooLong) {
          const { value } = await reader.read();
          if (!value) return ended(controller);
          feed(value);
        }
        if (out !== "") controller.enqueue(encoder.encode(out));
        out = "";
        if (isTooLong) controller.close();
      } catch (error) {
        ended(controller, error);
      }
    },
    cancel(reason) {
      finish();
      return reader.cancel(reason);
    },
  });
}

/** Whether an event has the response to a request. */
function isAnswer(data: string, { id }: Asked): boolean {
  const message = parseBounded(data, valuesOfList);
  return isJsonObject(message) && message.id === id && message.method === undefined;
}

function written({ id, event, data }: Pick<EventSourceMessage, "id" | "event" | "data">): string {
  const fields = [
    ...(id === undefined ? [] : [`id: ${id}`]),
    ...(event === undefined ? [] : [`event: ${event}`]),
  ];
  return [...fields, ...data.split("\n").map((line) => `data: ${line}`), "", ""].join("\n");
}

/** A list of tools without those that are not as the protocol has them, and without what is not used of the others. */
function withoutOddTools(text: string, leftOut: (count: number) => void): string {
  const message = parseBounded(text, valuesOfList);
  const result = isJsonObject(message) ? message.result : undefined;
  if (!isJsonObject(message) || !isJsonObject(result) || !Array.isArray(result.tools)) return text;
  const tools = result.tools.flatMap(readTool);
  if (tools.length < result.tools.length) leftOut(result.tools.length - tools.length);
  return JSON.stringify({ ...message, result: { ...result, tools } });
}

/** The tool as its server describes it, which may have left out that its input is an object. */
function readTool(tool: unknown): object[] {
  if (!isJsonObject(tool)) return [];
  const { name, title, description, inputSchema } = tool;
  if (!isString(name) || name === "" || name.length > longestName || !isJsonObject(inputSchema)) return [];
  const { type = "object" } = inputSchema;
  if (type !== "object") return [];
  if (isDeeper(inputSchema, deepest)) return [];
  const texts = Object.entries({ title, description }).filter(([, value]) => isString(value) && value !== "");
  return [{ name, inputSchema: { ...inputSchema, type }, ...Object.fromEntries(texts) }];
}

/** The most levels of a schema: more would exhaust the stack where it is written or compiled. */
const deepest = 200;

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  return levels === 0 || Object.values(value).some((inner) => isDeeper(inner, levels - 1));
}

/** The longest name of a tool. The protocol asks for 128 at most. */
const longestName = 256;
