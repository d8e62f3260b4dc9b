/**
 * What twins are to an MCP client: two tools.
 *
 * @module
 */

import {
  findConversation,
  findTwin,
  findTwins,
  hold,
  sendFields,
  sendIntoNew,
} from "../../core/api/lookup.ts";
import { isJsonObject, isString, type JsonObject } from "../../core/base/json.ts";
import { requireScope } from "../../core/http/admission.ts";
import { claimOf } from "../../core/http/idempotency.ts";
import { requireValid } from "../../core/http/input.ts";
import type { Call, CallerReach, HandlerContext, Result } from "../../core/http/route.ts";
import type { ReplyFeed } from "../../core/replies/replies.ts";
import { type MessageRecord, mostCharactersRead } from "../../core/store/records.ts";
import {
  ApiError,
  conversationNotFound,
  messageNotFound,
  shuttingDown,
  tooMuchAtOnce,
} from "../../core/wire/errors.ts";
import type { ReplyEvents } from "../../core/wire/resources.ts";
import { askTwinSchema, type FromSchema } from "../../core/wire/schemas.ts";
import { encodeJson } from "../../core/wire/sse.ts";
import { errorBody, isId, type KnownRequest, resultDocument, rpcError } from "./protocol.ts";

const described = Object.entries(askTwinSchema.properties).map(([name, { type, description }]) => [
  name,
  { type, description }, // without patterns, which not every model's provider takes
]);

/** The tools, as `tools/list` shows them. */
export const tools = [
  {
    name: "list_twins",
    description: "Lists the twins that can be asked: their ids, names, and what they are about.",
    inputSchema: { type: "object", properties: {} },
    annotations: { readOnlyHint: true },
  },
  {
    name: "ask_twin",
    description:
      "Asks a twin a question and gives its reply, with the id of the conversation. Give that id back to go on with " +
      "the same conversation: the twin then knows what was said.",
    inputSchema: { ...askTwinSchema, properties: Object.fromEntries(described) },
    annotations: { readOnlyHint: false, destructiveHint: false },
  },
];

type AskTwinInput = FromSchema<typeof askTwinSchema>;

/** Calls a tool. What goes wrong in it is a result, for the model to read. */
export async function callTool(request: KnownRequest, call: Call, context: HandlerContext): Promise<Result> {
  const { name } = request.params;
  if (name !== "list_twins" && name !== "ask_twin") {
    const message = isString(name) ? `Unknown tool: ${name.slice(0, 100)}` : "params.name must be a string.";
    return { document: errorBody(rpcError(request.id, "invalidParams", message)) };
  }
  if (name === "ask_twin") requireScope({ scope: "full_access" }, call.caller);
  try {
    if (name === "ask_twin") return await ask(request, argumentsOf(request.params), call, context);
    const found = await findTwins(context.twins, call.caller.reach);
    const twins = found.map(({ id, name, description }) => ({ id, name, description }));
    const text = JSON.stringify(twins);
    if (!call.memory.reserve(2 * text.length)) throw tooMuchAtOnce();
    const result = { ...textResult(text), structuredContent: { twins } };
    return { document: resultDocument(request, result) };
  } catch (error) {
    if (!(error instanceof ApiError) || error.cause !== undefined) throw error;
    if (error.status === 429 && error.code !== "budget_exceeded") throw error; // which soon passes
    return { document: resultDocument(request, { ...textResult(error.message), isError: true }) };
  }
}

/**
 * The arguments of a call. Models fill in null, and in `ask_twin` "", for what they leave out; some clients pass on the text
 * that their model wrote.
 */
function argumentsOf({ arguments: given }: JsonObject): unknown {
  const read = isString(given) ? parsed(given) : (given ?? {});
  if (!isJsonObject(read)) return read;
  const isLeftOut = (name: string, value: unknown) =>
    value === null || (value === "" && !requiredNames.includes(name));
  return Object.fromEntries(Object.entries(read).filter(([name, value]) => !isLeftOut(name, value)));
}

const requiredNames: readonly string[] = askTwinSchema.required;

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** Asks a twin, and answers with the end of the reply, or, if the client takes that, an event stream on which it is written. */
async function ask(request: KnownRequest, given: unknown, call: Call, context: HandlerContext) {
  const { replies, store, log } = context;
  const { requestId, caller, headers } = call;
  requireValid(askTwinSchema, given);
  const question = given as AskTwinInput;
  const feed = await begin(question, call, context);
  /** The client has left: with a key, it may ask again. */
  const left = async () => {
    if (question.requestKey !== undefined) return;
    try {
      const reply = await store.getMessage(caller.reach, feed.id, { characters: mostCharactersRead });
      if (reply) await replies.cancel(caller.reach, reply);
    } catch (error) {
      log("error", "a reply was not cancelled", { messageId: feed.id, error });
    }
  };
  if (/\btext\/event-stream\b/i.test(headers.accept ?? "")) {
    return {
      events: replies.stream(feed, {
        from: 0,
        requestId,
        events: toolEvents(request),
        left,
        memory: call.memory,
      }),
    };
  }
  try {
    const reply = await replies.end(feed, call.request.signal);
    hold(call.memory, [reply]);
    return { document: resultDocument(request, replyResult(reply)) };
  } catch (error) {
    if (call.request.signal?.aborted) await left();
    throw error;
  }
}

/** Sends the question, or finds the reply of an equal call with the same key. */
async function begin(asked: AskTwinInput, call: Call, context: HandlerContext): Promise<ReplyFeed> {
  const { fields } = call;
  const { store, replies, twins } = context;
  const { reach } = call.caller;
  const { twin: twinId, question: content, conversation, requestKey = null } = asked;
  const body = { twin: twinId, content, conversation };
  const keyed = { fields: { ...fields, idempotencyKey: requestKey }, reach, body };
  const claim = claimOf(keyed, "/mcp", context);
  const sent = await context.keyed.once(claim, async () => {
    const twin = (await findTwin(twins, reach, twinId)) ?? (await unknownTwin(context, reach));
    const known =
      conversation === undefined ? undefined : await findConversation(context, reach, conversation);
    if (conversation !== undefined && known?.twinId !== twin.id) conversationNotFound();
    const send = (conversationId: string) =>
      replies.send({ ...reach, conversationId, twin, content, claim, ...sendFields(call) });
    return known ? send(known.id) : sendIntoNew(context, reach, twin.id, claim, send);
  });
  if ("feed" in sent) return sent.feed;
  const { claim: made } = sent;
  if (claim?.fingerprint !== made.fingerprint) {
    const message = "This requestKey was used with other arguments; send the same arguments, or another key.";
    throw new ApiError("idempotency_key_reused", message);
  }
  const reply = await store.getMessage(reach, made.resourceId, { characters: mostCharactersRead });
  return replies.find(reach, reply ?? messageNotFound());
}

/** How many twins an error names. */
const mostNamed = 20;

/** A model that guessed a twin's id learns which there are. */
async function unknownTwin({ twins }: HandlerContext, reach: CallerReach): Promise<never> {
  const ids = (await findTwins(twins, reach)).map(({ id }) => id);
  const more = ids.length > mostNamed ? `, and ${ids.length - mostNamed} more` : "";
  const known =
    ids.length === 0 ? "there is none" : `there are: ${ids.slice(0, mostNamed).join(", ")}${more}`;
  throw new ApiError("twin_not_found", `There is no twin with this id; ${known}.`);
}

/** A reply as a result: its text, and its conversation as a handle. */
function replyResult({ content: reply, conversationId: conversation, error }: MessageRecord): object {
  return {
    ...textResult(error ? error.message : reply, `conversation: ${conversation}`),
    structuredContent: { reply, conversation },
    isError: error !== null,
  };
}

function textResult(...texts: readonly string[]) {
  return { content: texts.map((text) => ({ type: "text", text })) };
}

/** The events of a call: its progress, if the client asks for it, and its result. */
function toolEvents(request: KnownRequest): ReplyEvents {
  const { progressToken: token } = request.meta;
  function* last(result: object): Iterable<string> {
    yield "data: ";
    yield* resultDocument(request, result);
    yield "\n\n";
  }
  let length = 0;
  let silences = 0;
  const progressed = (progress: number, more = "") => {
    if (!isId(token)) return "";
    const params = `{"progressToken":${encodeJson(token)},"progress":${progress}${more}}`;
    return `data: {"jsonrpc":"2.0","method":"notifications/progress","params":${params}}\n\n`;
  };
  return {
    accepted: () => "",
    progress: () => "",
    continued: () => undefined,
    delta(json, offset) {
      length = offset;
      return progressed(offset, `,"message":${json}`);
    },
    // Each number must be greater than the one before, and less than the length of the next text.
    silence: () => progressed(length + ++silences / 1_000_000),
    ended: (reply) => last(replyResult(reply)),
    released: () => [...last({ ...textResult(shuttingDown().message), isError: true })].join(""),
  };
}
