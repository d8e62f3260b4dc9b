/**
 * Requests to an MCP server whose answers are read within limits: the package reads them whole. What is wrong with one answer
 * becomes an error of the protocol for its own request, so that it fails alone.
 *
 * @module
 */

import { createParser, type EventSourceMessage } from "eventsource-parser";
import { longestTimerMs } from "../../core/base/clock.ts";
import { yieldThread } from "../../core/base/in-parts.ts";
import { isJsonObject, isString, type JsonObject, measureJson } from "../../core/base/json.ts";
import { HeldAnswer, hasTooMany, parseBounded, readText, TooMuchAtOnce } from "../bounded-text.ts";
import { toldOf } from "./results.ts";

/** The longest answer, in bytes, by method. A list of tools has so many with all of its pages. */
const longest = { call: 1_048_576, list: 2_097_152, other: 1_048_576 } as const;

/** How many values a list may have: a thousand tools with long schemas. A call's result, and an event, has as many as is usual. */
const valuesOfList = 120_000;
/** How many an answer to another method has, such as the handshake: the package takes some 40 µs for each that is odd. */
const valuesOfOther = 1_000;
/** How many tools of a server there may be, on all pages: the package checks each. */
const mostTools = 2_000;

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

/**
 * Creates a `fetch` for one connection. `leftOut` is told how many tools of a list are not as the protocol has them, or too many.
 */
export function createBoundedFetch(leftOut: (count: number) => void): Fetch {
  let [listed, tools] = [0, 0];
  /** Breaks off a request that is not answered yet, by its id. */
  const asking = new Map<unknown, () => void>();
  /** What was asked on streams that were cut and may go on, by the id of their last event. */
  const cut = new Map<string, Asked>();
  /** How many of the server's own requests, such as pings, are being answered. */
  let answering = 0;

  return async (url, init = {}) => {
    const { cursor, requestId, lastEventId, ...sent } = askedIn(init);
    const asked = lastEventId === undefined ? sent : cut.get(lastEventId);
    // Cancelled meanwhile: the package would ask for the rest for ever.
    if (!asked) return new Response(null, { status: 405 });
    if (lastEventId !== undefined) cut.delete(lastEventId);
    if (asked.method === "tools/list" && cursor === undefined) [listed, tools] = [0, 0];
    // The package would go on reading what comes for a request that it has cancelled.
    if (asked.method === "notifications/cancelled") asking.get(requestId)?.();
    const { signal, abort, unfollow } = followedSignal(init.signal);
    const isRequest = asked.method !== "" && asked.id !== undefined;
    const isAnswer = asked.method === "" && asked.id !== undefined;
    if (isAnswer) answering++;
    if (isRequest) asking.set(asked.id, abort);
    const finished = (last?: string) => {
      unfollow();
      if (isRequest) asking.delete(asked.id);
      if (last === undefined) return;
      cut.set(last, asked);
      if (isRequest) asking.set(asked.id, () => cut.delete(last));
      const [[oldest, { id }] = ["", asked]] = cut;
      if (cut.size <= mostCut) return;
      cut.delete(oldest);
      asking.delete(id);
    };
    let isOpen = false;
    try {
      const response = await globalThis.fetch(url, { ...init, signal });
      isOpen = response.ok && isEventStream(response);
      return await bounded(response, asked, { signal, finished });
    } finally {
      if (isAnswer) answering--;
      // The package asks again a few times, unless the request was cancelled meanwhile.
      if (!isOpen) finished(signal.aborted ? undefined : lastEventId);
    }
  };

  async function bounded(
    response: Response,
    asked: Asked,
    asking: Pick<EventOptions, "signal" | "finished">,
  ): Promise<Response> {
    if (!response.ok) return refusal(asked, response);
    const isList = asked.method === "tools/list";
    const isCall = asked.method === "tools/call";
    const limit = isList ? longest.list - listed : longest[isCall ? "call" : "other"];
    const most = isCall || asked.method === "" ? undefined : valuesOfOther;
    // The tools of a list are judged each by itself.
    const isTooMuch = (text: string) =>
      isList ? hasTooMany(text, valuesOfList) : hasTooMany(text, most) || measureJson(text).depth > deepest;
    const count = (bytes: number) => {
      if (isList) listed += bytes;
    };
    const rewrite = (text: string, method = asked.method) => {
      if (method === "tools/call") return withToldAlone(text);
      if (method !== "tools/list") return text;
      const rewritten = withoutOddTools(text, mostTools - tools);
      tools += rewritten.kept;
      if (rewritten.left > 0) leftOut(rewritten.left);
      return rewritten.text;
    };
    if (isEventStream(response)) {
      const mayAsk = () => answering < mostAnswering;
      const options = { asked, limit, isTooMuch, count, rewrite, mayAsk, ...asking };
      const events = response.body && boundedEvents(response.body, options);
      return new Response(events, response);
    }
    const text = await readBounded(response, limit);
    if (text === undefined || isTooMuch(text)) return errorResponse(asked, tooLong(limit));
    count(text.length);
    if (text === "") return new Response(null, response);
    const answer = isList || isCall ? answerIn(text) : text;
    if (answer === undefined && isCall)
      return errorResponse(asked, "the server's answer is not as the protocol has it.");
    return new Response(rewrite(answer ?? text), response);
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
  return { signal: controller.signal, abort, unfollow: () => signal?.removeEventListener("abort", abort) };
}

function isEventStream({ headers }: Response): boolean {
  return headers.get("content-type")?.toLowerCase().startsWith("text/event-stream") ?? false;
}

/** What a message asks, and what of its parameters is used. */
function askedIn({ method, body, headers }: RequestInit) {
  const message: unknown = method === "POST" && isString(body) ? JSON.parse(body) : undefined;
  const { id, method: name, params }: JsonObject = isJsonObject(message) ? message : {};
  const { cursor, requestId } = isJsonObject(params) ? params : {};
  const fields = new Headers(headers);
  const hasSession = fields.has("mcp-session-id");
  const lastEventId = fields.get("last-event-id") ?? undefined;
  return { id, method: isString(name) ? name : "", hasSession, cursor, requestId, lastEventId };
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

/** The method that a message answers: on a stream that goes on after it was cut, only the result says it. Empty: another one, or none. */
function answeredIn(message: unknown): string {
  const result = isJsonObject(message) ? message.result : undefined;
  if (!isJsonObject(result)) return "";
  if ("tools" in result) return "tools/list";
  return "content" in result || "structuredContent" in result ? "tools/call" : "";
}

/** The answer in a text, of which revision 2025-03-26 allowed a list. Undefined: there is none. */
function answerIn(text: string): string | undefined {
  const said = parseBounded(text, valuesOfList);
  if (!Array.isArray(said)) return isJsonObject(said) ? text : undefined;
  const answer: unknown = said.find((one) => isJsonObject(one) && ("result" in one || "error" in one));
  return answer === undefined ? undefined : JSON.stringify(answer);
}

function tooLong(limit: number): string {
  return `the server's answer has more than ${limit} bytes, or too many values or levels.`;
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
  /** Whether an event has too many values or levels. */
  isTooMuch(text: string): boolean;
  count(bytes: number): void;
  /** `method`: what is answered, where it is not what was asked. */
  rewrite(text: string, method?: string): string;
  /** Whether a request of the server is answered. */
  mayAsk(): boolean;
  /** Aborted when the request is cancelled. */
  readonly signal: AbortSignal;
  /** Called when no more is read. `last`: the id of the event from which another stream may go on. */
  finished(last?: string): void;
}

/** How many requests of a server are answered at once. Others are left out: it may send them without end, and take no answer. */
const mostAnswering = 10;

/** How many events are passed on before others have the thread: the package takes some 100 µs to check each. */
const eventsAtOnce = 20;

/** How many streams that were cut are remembered, and the longest id of an event from which one goes on. */
const mostCut = 1_000;
const longestEventId = 1_000;

/** The shortest pause before a stream that has ended is asked for again, in milliseconds: a server may name any. */
const leastRetryMs = 100;

/**
 * Passes events on, up to the one that answers the request. One that is too long ends the stream, with an error for the request;
 * so does an end before the answer, unless the events have ids, by which the package goes on.
 */
function boundedEvents(
  body: ReadableStream<Uint8Array>,
  { asked, limit, isTooMuch, count, rewrite, mayAsk, signal, finished }: EventOptions,
): ReadableStream<Uint8Array> {
  const [decoder, encoder, reader] = [new TextDecoder(), new TextEncoder(), body.getReader()];
  let [isTooLong, endsWithReturn, isAnswered] = [false, false, false];
  /** The id of the last event. Empty: there was none, and the stream cannot go on. */
  let last = "";
  /** What has arrived and is yet to be passed on: events, and pauses before the next connection, as they are written. */
  const arrived: (EventSourceMessage | string)[] = [];
  let bytesOfEvent = 0;
  const held = new HeldAnswer();
  const parser = createParser({
    maxBufferSize: limit,
    onEvent(event) {
      if (event.data.length > limit || isTooMuch(event.data)) isTooLong = true;
      bytesOfEvent = 0;
      held.release();
      if (!isTooLong) arrived.push(event);
    },
    onError({ type }) {
      isTooLong ||= type === "max-buffer-size-exceeded";
    },
    onRetry(milliseconds) {
      // A longer one than a timer can run would be over at once.
      arrived.push(`retry: ${Math.min(Math.max(milliseconds, leastRetryMs), longestTimerMs)}\n\n`);
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
  }

  /** The next events, as they are passed on. */
  function takeSome(): string {
    let out = "";
    for (const event of arrived.splice(0, eventsAtOnce)) {
      if (isAnswered) break;
      if (isString(event)) {
        out += event;
        continue;
      }
      const eventId = (event.id?.length ?? 0) > longestEventId ? undefined : event.id;
      last = eventId || last;
      const message = parseBounded(event.data, valuesOfList);
      const { id, method }: JsonObject = isJsonObject(message) ? message : {};
      if (id !== undefined && method !== undefined && !mayAsk()) continue;
      const answered = asked.method === "" ? answeredIn(message) : asked.method;
      const isOther = method !== undefined || answered === "";
      if (isOther && hasTooMany(event.data, valuesOfOther)) continue;
      isAnswered = asked.id !== undefined && id === asked.id && method === undefined;
      out += written({ ...event, id: eventId, data: rewrite(event.data, answered) });
      count(event.data.length);
    }
    return out;
  }

  function finish(goesOn = false): void {
    held.release();
    finished(goesOn ? last : undefined);
  }

  /** Ends the stream, with an error for the request where it has no answer and will get none. */
  function ended(controller: ReadableStreamDefaultController<Uint8Array>, error?: unknown): void {
    const goesOn = last !== "" && !isAnswered && !signal.aborted && !isTooLong;
    finish(goesOn);
    const isOpen = asked.id !== undefined && !isAnswered && !goesOn;
    const failure = isTooLong
      ? errorMessage(asked, tooLong(limit))
      : errorMessage(asked, "the server has not answered.", brokenOff);
    if (isOpen) controller.enqueue(encoder.encode(written({ data: failure })));
    if (error === undefined || isOpen || isTooLong) controller.close();
    else controller.error(error);
  }

  let isFirst = true;
  return new ReadableStream({
    async pull(controller) {
      try {
        for (;;) {
          if (!isFirst) await yieldThread();
          isFirst = false;
          const some = takeSome();
          if (some !== "") controller.enqueue(encoder.encode(some));
          if (isAnswered || (isTooLong && arrived.length === 0)) {
            void reader.cancel().catch(() => undefined); // the connection is closed, whatever its server does
            return ended(controller);
          }
          if (some !== "") return;
          if (arrived.length > 0) continue;
          const { value } = await reader.read();
          if (!value) return ended(controller);
          feed(value);
        }
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

function written({ id, event, data }: Pick<EventSourceMessage, "id" | "event" | "data">): string {
  const fields = [
    ...(id === undefined ? [] : [`id: ${id}`]),
    ...(event === undefined ? [] : [`event: ${event}`]),
  ];
  return [...fields, ...data.split("\n").map((line) => `data: ${line}`), "", ""].join("\n");
}

/** A list of tools without those that are not as the protocol has them, or more than `most`, and what is not used of the others. */
function withoutOddTools(text: string, most: number): { text: string; kept: number; left: number } {
  const message = parseBounded(text, valuesOfList);
  const result = isJsonObject(message) ? message.result : undefined;
  if (!isJsonObject(message) || !isJsonObject(result) || !Array.isArray(result.tools))
    return { text, kept: 0, left: 0 };
  const tools = result.tools.slice(0, most).flatMap(readTool);
  const rewritten = JSON.stringify({ ...message, result: { ...result, tools } });
  return { text: rewritten, kept: tools.length, left: result.tools.length - tools.length };
}

/**
 * The tool as its server describes it, which may have left out that its input is an object. Its schema is a text, as the package
 * would check each value of it.
 */
function readTool(tool: unknown): object[] {
  if (!isJsonObject(tool)) return [];
  const { name, title, description, inputSchema } = tool;
  if (!isString(name) || name === "" || name.length > longestName || !isJsonObject(inputSchema)) return [];
  const { type = "object", properties = {}, required = [] } = inputSchema;
  if (type !== "object" || !isJsonObject(properties)) return [];
  if (!Array.isArray(required) || !required.every(isString) || isDeeper(inputSchema, deepest)) return [];
  const texts = Object.entries({ title, description }).filter(([, value]) => isString(value) && value !== "");
  const text = JSON.stringify({ ...inputSchema, type });
  return [{ name, inputSchema: { type, [schemaText]: text }, ...Object.fromEntries(texts) }];
}

/** The member of a tool's `inputSchema` that has all of it. */
export const schemaText = "x-text";

/** A call's result with one part, what is told of it: the package takes some 40 µs for each part or member that is odd. */
function withToldAlone(text: string): string {
  const message = parseBounded(text);
  const result = isJsonObject(message) ? message.result : undefined;
  if (!isJsonObject(message) || !isJsonObject(result)) return text;
  const { isError, resultType } = result;
  const content = [{ type: "text", text: toldOf(result) }];
  return JSON.stringify({ ...message, result: { content, isError, resultType } });
}

/** The most levels of a schema or an answer: more would exhaust the stack where it is written, compiled or checked. */
const deepest = 200;

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  return levels === 0 || Object.values(value).some((inner) => isDeeper(inner, levels - 1));
}

/** The longest name of a tool. The protocol asks for 128 at most. */
const longestName = 256;
