/**
 * `POST /v1/chat/completions`: a twin as a chat model. Nothing is stored, unless the client names a conversation.
 *
 * @module
 */

import { findTwin, sendFields, sendIntoMade, sendWhereItIs } from "../../core/api/lookup.ts";
import { isJsonObject, type JsonObject } from "../../core/base/json.ts";
import {
  type Call,
  type CallerReach,
  type HandlerContext,
  type Result,
  type Route,
  route,
} from "../../core/http/route.ts";
import { windowOf } from "../../core/store/records.ts";
import { ChatEvents, completionDocument } from "./chat-completion.ts";
import { isReply, quotesEnd } from "./comparison.ts";
import { readMessages, requireShortQuestion, type Spoken } from "./conversation-text.ts";
import { findNamed, placeBehind, readConversationName } from "./conversations.ts";
import { refuseParam } from "./errors.ts";
import { clientHeaders, conversationField, tellsAll } from "./header-names.ts";
import {
  type CommonParameters,
  maxBodyBytes,
  reachOf,
  readBoolean,
  readCommonParameters,
  requireAsked,
  requireBody,
} from "./parameters.ts";
import { type AskingSetting, answerWith, type SentOnce, sendOnce } from "./sending.ts";

/** A request for a chat completion. */
interface ChatRequest extends CommonParameters, Spoken {
  readonly includesUsage: boolean;
}

export function chatRoute(setting: AskingSetting): Route {
  return route({
    operationId: "createChatCompletion",
    method: "POST",
    path: "/v1/chat/completions",
    summary: "Ask a twin as a chat model",
    credential: "api_key",
    scope: "full_access",
    readBody: readChatRequest,
    maxBodyBytes,
    headers: clientHeaders,
    success: { status: 200, description: "The completion, or its chunks.", events: true },
    handle: (call, context) => complete(call, context, setting),
  });
}

function readChatRequest(value: unknown): ChatRequest {
  const body = requireBody(value);
  const common = readCommonParameters(body);
  requireText(body);
  const options = body.stream_options;
  const includesUsage = isJsonObject(options)
    ? readBoolean(options.include_usage, "stream_options.include_usage")
    : false;
  return { includesUsage, ...common, ...readMessages(body.messages, "messages") };
}

/** Refuses what asks for more than one text. */
function requireText({ n, audio, modalities, function_call: functionCall }: JsonObject): void {
  if (n !== undefined && n !== null && n !== 1) refuseParam("n", "must be 1; a twin gives one reply");
  if (audio !== undefined && audio !== null) refuseParam("audio", "must be left out; twins only write");
  if (Array.isArray(modalities) && modalities.some((modality) => modality !== "text")) {
    refuseParam("modalities", "must be text; twins only write");
  }
  if (isJsonObject(functionCall)) refuseParam("function_call", "must be left out; twins call no functions");
}

async function complete(
  call: Call<undefined, ChatRequest>,
  context: HandlerContext,
  { maxMessageCharacters, broken }: AskingSetting,
): Promise<Result> {
  const { model, question: content, history } = call.body;
  requireShortQuestion(content, "messages", maxMessageCharacters);
  const name = readConversationName(conversationField(call.headers));
  const reach = reachOf(call, call.body);
  const format = call.body.form?.format;
  if (name === null || name.startsWith("local:") || (await isTask(call, context, { reach, name }))) {
    const twin = await requireAsked(call, context);
    const said = { history: windowOf(history), isSaidByClient: true };
    const turn = { twin, ...said, content, format, ...reach, ...sendFields(call) };
    return answer({ feed: await context.replies.ask(turn), headers: {} }, call, context);
  }
  const path = "/v1/chat/completions";
  const sent = await sendOnce(call, context, {
    reach,
    path,
    fields: { model, conversation: name, content, format },
    broken,
    async send(claim) {
      const twin = await requireAsked(call, context);
      return sendWhereItIs(async () => {
        const named = await findNamed(context, reach, twin, name);
        const said = { ...call.body, isWhole: tellsAll(call.headers) };
        const place = await placeBehind(named, said, context, reach);
        const message = { twin, content, format, claim, ...reach, ...place, ...sendFields(call) };
        const send = () => context.replies.send(message);
        return named.isNew ? sendIntoMade(context, reach, named.id, send) : send();
      });
    },
  });
  return answer(sent, call, context);
}

/**
 * Whether a front end asks for itself, in the name of a chat: for its title, tags or next questions. Open WebUI's own words
 * for these begin alike; its operator's quote the chat, which a first question that was edited does not.
 */
async function isTask(
  { body, headers }: Call<undefined, ChatRequest>,
  context: HandlerContext,
  { reach, name }: { readonly reach: CallerReach; readonly name: string },
): Promise<boolean> {
  if (body.stream || body.history.some(isReply)) return false;
  if (body.question.startsWith("### Task:")) return true;
  if (!tellsAll(headers)) return false;
  const twin = await findTwin(context.twins, reach, body.model);
  const chat = twin && (await context.store.getConversation(reach, { twinId: twin.id, name }));
  return chat !== undefined && (await quotesEnd(chat, body.question, context, reach));
}

function answer(
  sent: SentOnce,
  call: Call<undefined, ChatRequest>,
  context: HandlerContext,
): Promise<Result> {
  const { id: messageId, createdAt } = sent.feed;
  const { model, includesUsage } = call.body;
  const head = { messageId, createdAt, model };
  const events = new ChatEvents(head, includesUsage);
  return answerWith(sent, { events, document: (reply) => completionDocument(reply, head) }, call, context);
}
