/**
 * The client as the transport of the AI SDK's `useChat`: a reply survives a reload, and is never asked for twice.
 *
 * Its types are written out here, so that it fits any version of the `ai` package that has these parts; a test compares
 * them with the real ones.
 *
 * @module
 */

import type { MessageResource } from "../core/wire/schemas.ts";
import type { TwinClient } from "./client.ts";
import { NotFoundError } from "./http/errors.ts";
import { sleep } from "./http/waiting.ts";
import type { MessageBody } from "./messages.ts";
import type { ReplyStream } from "./reply/reply-stream.ts";

/** The parts of the AI SDK's `UIMessage` that are read. */
export interface ChatMessage {
  readonly id: string;
  readonly role: string;
  readonly parts: readonly { readonly type: string }[];
  readonly metadata?: unknown;
}

/** The chunks that are written, each one of the AI SDK's `UIMessageChunk`. */
export type ChatChunk =
  | { type: "start"; messageId: string }
  | { type: "reset-step" }
  | { type: "text-start"; id: string }
  | { type: "text-delta"; id: string; delta: string }
  | { type: "text-end"; id: string }
  | SourcePart
  | { type: "tool-input-available"; toolCallId: string; toolName: string; input: unknown; dynamic: true }
  | { type: "tool-approval-request"; approvalId: string; toolCallId: string }
  | { type: "tool-output-available"; toolCallId: string; output: null; dynamic: true }
  | { type: "tool-output-denied"; toolCallId: string }
  | { type: "finish"; finishReason: "stop" | "length" | "content-filter" | "tool-calls" | "other" }
  | { type: "error"; errorText: string };

/** What is known of a message that a person has said. */
export interface SaidMetadata {
  author: string;
}

/** A section that a reply was made of. */
export interface SourcePart {
  type: "source-document";
  sourceId: string;
  mediaType: string;
  title: string;
  /** The path of the document that it is of. Absent: the twin's own text. */
  filename?: string;
}

/** A call that waits for the person: `addToolApprovalResponse({ id: approval.id, approved })` decides. */
export interface PendingCallPart {
  type: "dynamic-tool";
  toolName: string;
  toolCallId: string;
  state: "approval-requested";
  input: unknown;
  approval: { id: string };
}

/** A `ChatTransport` of the AI SDK. */
export interface TwinChatTransport {
  /** A reply that is followed again comes from its beginning. */
  readonly resumeStreamIsReplay: true;
  sendMessages(options: {
    trigger: "submit-message" | "regenerate-message";
    chatId: string;
    messageId: string | undefined;
    messages: ChatMessage[];
    abortSignal: AbortSignal | undefined;
  }): Promise<ReadableStream<ChatChunk>>;
  reconnectToStream(options: {
    chatId: string;
    abortSignal?: AbortSignal | undefined;
  }): Promise<ReadableStream<ChatChunk> | null>;
}

/**
 * How long a stream that is followed again goes on after it was stopped, in milliseconds, in case the chat is followed
 * once more: React's strict mode mounts each component twice, and the first mount's end stops its chat.
 */
const remountMs = 100;

/**
 * For how long after its end a reply is told once more to a chat that follows it again, in milliseconds: it may have ended
 * between the reading of the chat's messages, on a server for instance, and that. A chat that has it stays the same.
 */
const justEndedMs = 60_000;

/** Options of {@link createChatTransport}. */
export interface ChatTransportOptions {
  /** The twin that new chats are with. */
  readonly twinId: string;
}

/**
 * Creates a transport for `useChat`. A chat's id is its conversation's id. A chat with an id of its own making gets a
 * conversation with its first message; the same id finds it again for 24 hours.
 *
 * The newest question alone is sent: the service has the others. It goes on from the last reply that its chat shows: where
 * the conversation has gone on elsewhere, in another window for instance, or where a question is edited or asked again, it
 * begins another branch. Into a conversation that is busy it is sent once the running reply has ended. Stopping a chat cancels
 * the reply. Files are refused.
 *
 * A reply whose calls wait for the person has dynamic tool parts that ask for approval; with `sendAutomaticallyWhen:
 * lastAssistantMessageIsCompleteWithApprovalResponses`, `useChat` goes on once all are decided. What a call has returned is the
 * model's alone: its output is null.
 *
 * @example
 * ```ts
 * import { TwinClient } from "twin-service/client";
 * import { createChatTransport } from "twin-service/ai-sdk";
 *
 * const client = new TwinClient({ baseUrl: "https://twins.example.com", getToken: () => token });
 * const transport = createChatTransport(client, { twinId: "ada" });
 * // useChat({ id: conversation.id, transport, resume: true })
 * ```
 */
export function createChatTransport(client: TwinClient, { twinId }: ChatTransportOptions): TwinChatTransport {
  /** The conversations of chats with ids of their own making. */
  const begun = new Map<string, Promise<string>>();

  /** What stands behind the questions of chats, by the chats' ids of them: their replies, or themselves as they wait. */
  const ends = new Map<string, string>();

  async function conversationOf(chatId: string): Promise<string> {
    if (isStored(chatId, "conv")) return chatId;
    const known = begun.get(chatId);
    if (known) return known;
    const beginning = client.conversations.create({ twinId }, { idempotencyKey: `chat ${chatId}` });
    const id = beginning.then((conversation) => conversation.id);
    begun.set(chatId, id);
    id.catch(() => begun.delete(chatId));
    return id;
  }

  /**
   * The reply that a question goes on from: the last one that its chat shows, and of a stored question that is asked again the
   * one before it. Null: the question is the first. Undefined: while a person answers, the end, as both may write at once.
   */
  async function afterOf(
    conversationId: string,
    messages: readonly ChatMessage[],
  ): Promise<string | null | undefined> {
    const id = messages.at(-1)?.id ?? "";
    if (isStored(id, "msg")) return (await client.messages.get(conversationId, id)).after;
    const before = messages.at(-2);
    // Two questions in a row, or something said: a person may answer, or the reply to the first has no words.
    if (before && (before.role === "user" || before.metadata)) {
      const { answeredBy, lastMessageId } = await client.conversations.get(conversationId);
      if (answeredBy === "person") return undefined;
      if ((ends.get(before.id) ?? before.id) === lastMessageId) return lastMessageId;
    }
    return messages.findLast(({ id, role }) => role === "assistant" && isStored(id, "msg"))?.id ?? null;
  }

  /** How often each chat was followed again. */
  const followed = new Map<string, number>();

  return {
    resumeStreamIsReplay: true,
    async sendMessages({ chatId, messages, abortSignal }) {
      const last = messages.at(-1);
      const calls = last && decisionsIn(last);
      const content = calls ? undefined : questionOf(last);
      const conversationId = await conversationOf(chatId);
      const after = calls ? last?.id : await afterOf(conversationId, messages);
      abortSignal?.throwIfAborted();
      const broken = new AbortController();
      const options = { signal: broken.signal, onBusy: "wait" } as const; // another question's answer is none to this one
      const reply = client.messages.stream(conversationId, { content, calls, after }, options);
      const stored = (end: string) => void ends.set(last?.id ?? "", end);
      return chunksOf(reply, { broken, stop: abortSignal, mayStop: async () => true }, { calls, stored });
    },
    async reconnectToStream({ chatId, abortSignal }) {
      const conversationId = isStored(chatId, "conv") ? chatId : await begun.get(chatId);
      if (conversationId === undefined) return null;
      const time = (followed.get(chatId) ?? 0) + 1;
      followed.set(chatId, time);
      const newest = await newestReply(client, conversationId);
      if (!newest) return null;
      const broken = new AbortController();
      const reply = client.messages.resume(conversationId, newest.id, { signal: broken.signal });
      const mayStop = async () => {
        await sleep(remountMs);
        return followed.get(chatId) === time;
      };
      return chunksOf(reply, { broken, stop: abortSignal, mayStop });
    },
  };
}

/**
 * A conversation's history as messages of the AI SDK. A reply that runs is left out: `useChat` reconnects to it. What a person
 * has said in the twin's place has `metadata.author`.
 *
 * @example
 * ```ts
 * import { toUIMessages } from "twin-service/ai-sdk";
 *
 * const { data } = await client.messages.list(conversationId, { order: "desc", limit: 100 });
 * const messages = toUIMessages([...data].reverse()); // useChat({ id: conversationId, transport, messages, resume: true })
 * ```
 */
export function toUIMessages(messages: readonly MessageResource[]): StoredUIMessage[] {
  // What only decides of calls has no words.
  const isShown = ({ status, role, content }: MessageResource) =>
    status !== "in_progress" && (role === "assistant" || content !== "");
  return messages.filter(isShown).map(toUIMessage);
}

/** A stored message as one of the AI SDK. */
export interface StoredUIMessage {
  id: string;
  role: "user" | "assistant";
  metadata?: SaidMetadata;
  parts: ({ type: "text"; text: string } | SourcePart | PendingCallPart)[];
}

function toUIMessage(message: MessageResource): StoredUIMessage {
  const { id, role, content, author, pendingCalls } = message;
  const waiting = pendingCalls?.map(
    ({ callId, name, arguments: input }) =>
      ({
        type: "dynamic-tool",
        toolName: name,
        toolCallId: callId,
        state: "approval-requested",
        input,
        approval: { id: callId },
      }) as const,
  );
  const text = { type: "text", text: content } as const;
  const parts: StoredUIMessage["parts"] = [text, ...sourcesOf(message), ...(waiting ?? [])];
  return { id, role, ...(author !== null && { metadata: { author } }), parts };
}

/**
 * What people say in the twin's place, as they say it: for a chat whose page is open meanwhile, as `useChat` asks only where
 * something is sent.
 *
 * @example
 * ```ts
 * import { followSaid } from "twin-service/ai-sdk";
 *
 * const left = new AbortController(); // aborted as the page is left
 * const show = (message: object) => console.log(message); // for useChat: setMessages((shown) => [...shown, message])
 * await followSaid(client, conversationId, show, { signal: left.signal });
 * ```
 *
 * @param said Called with each message, once.
 * @param options `signal` ends it: then it resolves, as it does when the conversation is deleted. `after`: the id of the last
 * message that is shown, so that nothing between is missed. Default: from now on.
 */
export async function followSaid(
  client: TwinClient,
  conversationId: string,
  said: (message: StoredUIMessage) => void,
  { signal, after }: { readonly signal?: AbortSignal | undefined; readonly after?: string | undefined } = {},
): Promise<void> {
  try {
    const options = { signal, after, maxRetries: Infinity };
    for await (const event of client.conversations.follow(conversationId, options)) {
      if (event.type !== "message") continue;
      const { message } = event;
      // A twin's reply answers a question; it comes to the chat that has asked.
      if (message.role === "assistant" && message.inReplyTo === null) said(toUIMessage(message));
    }
  } catch (error) {
    if (!signal?.aborted) throw error;
  }
}

/** The sections that a reply was made of. */
function sourcesOf({ id, sources }: MessageResource): SourcePart[] {
  const parts = sources?.map(({ heading: title, document }, at) => {
    const part = {
      type: "source-document",
      sourceId: `${id}-${at}`,
      mediaType: "text/markdown",
      title,
    } as const;
    return document ? { ...part, filename: document } : part;
  });
  return parts ?? [];
}

/** Whether an id is one of the service's. */
function isStored(id: string, kind: "conv" | "msg"): boolean {
  return id.startsWith(`${kind}_`);
}

/** What a person has decided of calls. Undefined: nothing that is not sent already. */
function decisionsIn({ id, role, parts }: ChatMessage): MessageBody["calls"] {
  if (role !== "assistant" || !isStored(id, "msg")) return undefined;
  const decided = parts.filter(isDecided).map(({ toolCallId, approval }) => {
    return [toolCallId, approval.approved ? "approve" : "deny"] as const;
  });
  return decided.length === 0 ? undefined : Object.fromEntries(decided);
}

/** A call that is decided, before its output is known. */
interface DecidedCallPart {
  readonly type: string;
  readonly state: "approval-responded";
  readonly toolCallId: string;
  readonly approval: { readonly approved: boolean };
}

function isDecided(part: { readonly type: string }): part is DecidedCallPart {
  return "state" in part && part.state === "approval-responded" && "toolCallId" in part && "approval" in part;
}

/** The words of a person. What cannot be sent is refused, as it would seem to be read. */
function questionOf(message: ChatMessage | undefined): string {
  if (message?.role !== "user")
    throw new Error("The last message is not the user's: send one, or regenerate the reply.");
  if (message.parts.some(({ type }) => type === "file"))
    throw new Error("Files and pictures cannot be sent to a twin.");
  return message.parts.map((part) => (isText(part) ? part.text : "")).join("");
}

function isText(part: { readonly type: string }): part is { readonly type: "text"; readonly text: string } {
  return part.type === "text" && "text" in part && typeof part.text === "string";
}

/** The reply that runs, or ran when the chat's messages were read. What a person said then is told by {@link followSaid}. */
async function newestReply(client: TwinClient, conversationId: string): Promise<MessageResource | undefined> {
  try {
    const { data } = await client.messages.list(conversationId, { order: "desc", limit: 1 });
    return data.find(
      ({ inReplyTo, completedAt }) =>
        inReplyTo !== null && (completedAt === null || Date.now() - Date.parse(completedAt) < justEndedMs),
    );
  } catch (error) {
    if (error instanceof NotFoundError) return undefined;
    throw error;
  }
}

/** How a reply is stopped. */
interface Stopping {
  /** Asks for it. */
  readonly stop: AbortSignal | undefined;
  /** Whether who asks means it. */
  readonly mayStop: () => Promise<boolean>;
  /** Breaks the stream with the reason why the reply could not be cancelled. */
  readonly broken: AbortController;
}

/** Cancels a running reply when it is to be stopped. */
function cancelWhenStopped(reply: ReplyStream, { stop, mayStop, broken }: Stopping): void {
  if (!stop) return;
  const cancel = async () => {
    if (await mayStop()) await reply.cancel().catch((reason) => broken.abort(reason));
  };
  if (stop.aborted) void cancel();
  stop.addEventListener("abort", cancel);
  const ended = () => stop.removeEventListener("abort", cancel);
  void reply.final().then(ended, ended);
}

/** A reply as chunks. A reader that leaves only leaves. */
function chunksOf(reply: ReplyStream, stopping: Stopping, of: OfReply = {}): ReadableStream<ChatChunk> {
  cancelWhenStopped(reply, stopping);
  const chunks = toChunks(reply, of);
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await chunks.next();
      if (value) controller.enqueue(value);
      if (done) controller.close();
    },
    cancel: () => reply.detach(),
  });
}

/** What is known of a reply before it is read. */
interface OfReply {
  /** What was decided of the calls that it goes on behind. */
  readonly calls?: MessageBody["calls"];
  /** Called with the id of what stands behind the question: its reply, or itself if it waits. */
  readonly stored?: (end: string) => void;
}

async function* toChunks(
  reply: ReplyStream,
  { calls, stored }: OfReply,
): AsyncGenerator<ChatChunk, undefined, undefined> {
  const id = "reply";
  const textStart = { type: "text-start", id } as const;
  function* begin(): Generator<ChatChunk> {
    // What becomes of decided calls, in the message that asked for them.
    for (const [toolCallId, decision] of Object.entries(calls ?? {}))
      yield decision === "deny"
        ? { type: "tool-output-denied", toolCallId }
        : { type: "tool-output-available", toolCallId, output: null, dynamic: true };
    yield { type: "start", messageId: String(reply.messageId) };
    // The SDK begins with a copy of the message whose calls were decided.
    if (calls) yield { type: "reset-step" };
    yield textStart;
  }
  let isStarted = false;
  let text = "";
  try {
    for await (const event of reply) {
      if (event.type === "progress" && /^(accepted|waiting)$/.test(event.progress.stage))
        stored?.(String(event.progress.messageId ?? event.progress.userMessageId));
      if (event.type === "progress" && event.progress.stage === "continued") {
        const kept = text.slice(0, Number(event.progress.from));
        if (kept !== text) yield* [{ type: "reset-step" } as const, textStart];
        if (kept !== text && kept !== "") yield { type: "text-delta", id, delta: kept };
        text = kept;
      }
      if (event.type !== "delta") continue;
      if (!isStarted) yield* begin();
      isStarted = true;
      text += event.content;
      yield { type: "text-delta", id, delta: event.content };
    }
    const message = await reply.final();
    if (message.role === "user") return; // it waits for a person
    if (!isStarted) yield* begin();
    yield { type: "text-end", id };
    yield* sourcesOf(message);
    for (const { callId: toolCallId, name: toolName, arguments: input } of message.pendingCalls ?? []) {
      yield { type: "tool-input-available", toolCallId, toolName, input, dynamic: true };
      yield { type: "tool-approval-request", approvalId: toolCallId, toolCallId };
    }
    yield { type: "finish", finishReason: finishReasonOf(message) };
  } catch (error) {
    yield { type: "error", errorText: error instanceof Error ? error.message : String(error) };
  }
}

function finishReasonOf({ finishReason }: MessageResource) {
  switch (finishReason) {
    case "stop":
    case "length":
      return finishReason;
    case "content_filter":
      return "content-filter";
    case "tool_calls":
      return "tool-calls";
    default:
      return "other";
  }
}
