/**
 * A conversation as it is seen: one object, one stream. Pages and apps are its views.
 *
 * @module
 */

import type {
  ConversationEventData,
  ConversationResource,
  FeedbackResource,
  MessageResource,
} from "../../core/wire/schemas.ts";
import { ConflictError, NotFoundError, TwinServiceError } from "../http/errors.ts";
import type { Page } from "../http/pages.ts";
import { newIdempotencyKey } from "../http/requests.ts";
import type { MessageBody, Messages } from "../messages.ts";
import type { ConversationEvent, FollowConversationOptions } from "../reply/conversation.ts";
import type { StreamEvent } from "../reply/events.ts";
import { runningReply } from "../reply/following.ts";
import type { ReplyStream } from "../reply/reply-stream.ts";
import type { Feedback } from "../review.ts";
import { Branches } from "./branches.ts";
import { oneOfFew } from "./one-of-few.ts";

/** Who answers in a conversation. */
type Answerer = ConversationResource["answeredBy"];

/** What an open conversation uses of a client. */
export interface ConversationClient {
  readonly conversations: {
    get(id: string): Promise<ConversationResource>;
    update(
      id: string,
      body: { readonly lastMessageId?: string; readonly answeredBy?: Answerer },
    ): Promise<ConversationResource>;
    follow(id: string, options: FollowConversationOptions): AsyncIterable<ConversationEvent>;
  };
  readonly messages: Messages;
  readonly feedback: Feedback;
}

/** Options of an open conversation. */
export interface OpenConversationOptions {
  /** Called after each change: of the path, of the words of a reply, of what is sent. */
  readonly changed?: ((conversation: OpenConversation) => void) | undefined;
}

/** A message that was written here, and that the service has not accepted. */
export interface UnsentMessage {
  /** Empty: it only decides of calls. */
  readonly content: string;
  /** The id of the message that it goes on from; null: it begins the conversation. */
  readonly after: string | null;
  /** Why it was not accepted. Undefined: it is on its way. */
  readonly error: unknown;
}

/** How a message is sent. */
export interface SendMessageOptions {
  /**
   * What it goes on from: an ended reply on any branch, or null for the beginning. Default: the end of the path as it is seen;
   * while a person answers, as it is then, as both may write at once.
   */
  readonly after?: string | null | undefined;
  /**
   * What the person decides of the `pendingCalls` of the reply that it goes on from, by their `callId`. Those that are left out do
   * not run. The content may then be empty. While a person answers, nothing can be decided.
   */
  readonly calls?: MessageBody["calls"];
  /** `replace`: a running reply is cancelled, and the message stands directly behind it. Default: it waits for its end. */
  readonly whenBusy?: "replace" | undefined;
  /** Default: a new one, and for a message that may have arrived the one that it was sent with. */
  readonly idempotencyKey?: string | undefined;
}

/** What can be done: all (`idle`), waiting for a message to be accepted, or for a reply to be written; nothing any more. */
export type ConversationState = "idle" | "sending" | "replying" | "deleted";

/** A message that is being sent. */
interface Sending {
  readonly content: string;
  readonly calls: MessageBody["calls"];
  /** What it stands behind, as it is seen here. */
  readonly after: string | null;
  /** What it is said to go on from. Undefined: nothing, it goes to the end. */
  readonly place: string | null | undefined;
  readonly whenBusy: "replace" | undefined;
  readonly idempotencyKey: string;
}

/** How many messages are read at once, and how often that is done to find all branches. */
const pageLength = 100;
const mostPages = 10;

/**
 * A conversation as it is seen on one device, beside others who change it: its current path, what is written, and what can
 * be done. Made by `client.conversations.open`.
 */
export class OpenConversation {
  readonly id: string;
  readonly #client: ConversationClient;
  readonly #changed: (conversation: OpenConversation) => void;
  readonly #closing = new AbortController();
  readonly #known = new Branches();
  #conversation: ConversationResource;
  /** The end of the path, as the service has told it. */
  #end: string | null;
  /** The reply to a message from here, of which the conversation's stream has yet to tell. */
  #begun: string | undefined;
  #path: readonly MessageResource[] | undefined;
  #progress: readonly Readonly<Record<string, unknown>>[] = [];
  #unsent: UnsentMessage | undefined;
  #lastTried: Sending | undefined;
  /** Words that are in a request, and what resolves once it is known what became of them. */
  #asking: { readonly content: string; readonly answered: Promise<void> } | undefined;
  /** The stream of a reply of which the conversation's stream does not tell. */
  #own: ReplyStream | undefined;
  /** The conversation's stream: none yet or no more, told of the conversation, or broken since. */
  #stream: "none" | "opening" | "live" | "broken" = "none";
  #problem: unknown;
  #isDeleted = false;
  readonly #waiting = new Set<() => void>();

  private constructor(
    client: ConversationClient,
    conversation: ConversationResource,
    changed: (conversation: OpenConversation) => void = () => {},
  ) {
    this.id = conversation.id;
    this.#client = client;
    this.#conversation = conversation;
    this.#end = conversation.lastMessageId;
    this.#changed = changed;
  }

  /** Reads a conversation, and follows it. One that was made a moment ago is followed from its first reply on. */
  static async open(
    client: ConversationClient,
    conversation: string | ConversationResource,
    { changed }: OpenConversationOptions,
  ): Promise<OpenConversation> {
    const isNew = typeof conversation !== "string" && conversation.lastMessageId === null;
    if (isNew) return new OpenConversation(client, conversation, changed);
    const id = typeof conversation === "string" ? conversation : conversation.id;
    const [found, newest] = await Promise.all([client.conversations.get(id), newestOf(client, id)]);
    const opened = new OpenConversation(client, found, changed);
    await opened.#fill(newest);
    void opened.#follow();
    return opened;
  }

  /** The conversation as it was told last: its title, for instance. */
  get conversation(): ConversationResource {
    return this.#conversation;
  }

  /** The messages that are seen, oldest first. The words of a running reply grow; each change makes a new list. */
  get path(): readonly MessageResource[] {
    this.#path ??= this.#known.pathTo(this.#unsent ? this.#unsent.after : this.#last);
    return this.#path;
  }

  /** Whether there are messages before those of the path: see {@link OpenConversation.earlier}. */
  get hasEarlier(): boolean {
    return (this.path[0]?.after ?? null) !== null;
  }

  /** The reply that is being written, with its words so far. */
  get running(): MessageResource | undefined {
    const last = this.#known.get(this.#last);
    return last?.status === "in_progress" ? last : undefined;
  }

  /** Who answers: see {@link OpenConversation.handTo}. */
  get answeredBy(): Answerer {
    return this.#conversation.answeredBy;
  }

  /** When the oldest question was asked that waits for a person. Null: none does. */
  get waitingSince(): string | null {
    return this.#conversation.waitingSince;
  }

  /** What the engine has reported of the newest reply, such as the tools that it called. */
  get progress(): readonly Readonly<Record<string, unknown>>[] {
    return this.#progress;
  }

  /** The message that was written here and is not accepted. It stands behind the path. */
  get unsent(): UnsentMessage | undefined {
    return this.#unsent;
  }

  get state(): ConversationState {
    if (this.#isDeleted) return "deleted";
    if (this.#unsent && this.#unsent.error === undefined) return "sending";
    return this.running ? "replying" : "idle";
  }

  /** Why it is not seen any more what others do: a refusal. The next message tries again. Undefined: it is seen. */
  get problem(): unknown {
    return this.#problem;
  }

  /** What was said in a message's place, itself included, oldest first: to choose from, as `‹ 2 / 3 ›`. */
  branchesOf(message: MessageResource): readonly MessageResource[] {
    return this.#known.branchesOf(message);
  }

  /**
   * Sends a message, once any running reply has ended or in its place, and resolves with its reply once that has ended,
   * however; while a person answers, with the message, which waits for that person: others may follow it. Rejects if the
   * message is not accepted: then it is `unsent`, until it is sent again or given up. It may have arrived all the same: sent
   * again, it is stored once.
   */
  async send(content: string, options: SendMessageOptions = {}): Promise<MessageResource> {
    if (this.#closing.signal.aborted) throw this.#gone();
    if (this.state === "sending")
      throw new ConflictError("Another message is being sent.", { code: "conversation_busy" });
    const sending = this.#sendingOf(content, options);
    this.#lastTried = sending;
    this.#unsent = { content, after: sending.after, error: undefined };
    this.#tell();
    try {
      const ended = await this.#endOf(await this.#post(sending));
      if (this.#lastTried === sending) this.#accept(); // a person has said something meanwhile: it is seen now
      return ended;
    } catch (error) {
      if (isDeletion(error)) this.#delete();
      else if (this.#unsent) this.#unsent = { ...this.#unsent, error };
      this.#tell();
      throw error;
    }
  }

  /** Sends other words in place of a question: another branch. */
  edit(question: MessageResource, content: string): Promise<MessageResource> {
    return this.send(content, { after: question.after });
  }

  /** Asks for another reply to the same question: another branch. */
  async again({ after }: MessageResource): Promise<MessageResource> {
    const question = this.#known.get(after) ?? (await this.#client.messages.get(this.id, String(after)));
    return this.edit(question, question.content);
  }

  /** Goes to the newest path that a message is on. */
  async choose(message: MessageResource): Promise<void> {
    const lastMessageId = this.#known.endOf(message);
    const conversation = await this.#client.conversations.update(this.id, { lastMessageId });
    if (!this.#isTold) await this.#moved(conversation); // else the stream tells of it, in its place among the other events
  }

  /** Has a person answer from now on, or the twin again: then what waits stays unanswered. */
  async handTo(answeredBy: Answerer): Promise<void> {
    const conversation = await this.#client.conversations.update(this.id, { answeredBy });
    if (!this.#isTold) await this.#moved(conversation);
    if (this.#stream === "none" && !this.#closing.signal.aborted) void this.#follow(); // to see what a person says
  }

  /** Stops the running reply, which keeps its words so far. */
  async cancel(): Promise<void> {
    const { running } = this;
    if (!running) return;
    this.#known.set(await this.#client.messages.cancel(this.id, running.id));
    this.#tell();
  }

  /** Says what a person thinks of a reply that has ended; null takes it back. */
  async rate(reply: MessageResource, rating: "up" | "down" | null, comment?: string | null): Promise<void> {
    const { feedback } = this.#client;
    let given: FeedbackResource | null = null;
    if (rating === null) await feedback.withdraw(this.id, reply.id);
    else
      given = await feedback.give(this.id, reply.id, { rating, ...(comment !== undefined && { comment }) });
    this.#known.set({ ...(this.#known.get(reply.id) ?? reply), feedback: given });
    this.#tell();
  }

  /** Gives up a message that was not accepted. Sent after all, in the same words and place, it is stored once. */
  discard(): void {
    if (this.state === "sending") return;
    this.#unsent = undefined;
    this.#tell();
  }

  /** Reads the messages before the path's first one. */
  async earlier(): Promise<void> {
    const [first] = this.path;
    if (!first || !this.hasEarlier) return;
    this.#takeAll(await newestOf(this.#client, this.id, { after: first.id }));
    this.#tell();
  }

  /** Leaves. A reply that is written goes on, and a message that is on its way is still sent. */
  close(): void {
    this.#closing.abort();
    this.#own?.detach();
    this.#wake();
  }

  get #last(): string | null {
    return this.#begun ?? this.#end;
  }

  /** Whether all that happens is told, be it after a while. */
  get #isTold(): boolean {
    return this.#stream === "live" || this.#stream === "broken";
  }

  /** The same message in the same place may have arrived: it is sent with the same key. */
  #sendingOf(
    content: string,
    { after: wanted, calls, whenBusy, idempotencyKey }: SendMessageOptions,
  ): Sending {
    const last = this.#lastTried;
    const after = wanted !== undefined ? wanted : this.#unsent ? this.#unsent.after : this.#last;
    const isSame =
      last?.content === content &&
      last.after === after &&
      JSON.stringify(last.calls) === JSON.stringify(calls);
    if (!idempotencyKey && isSame) return last;
    const isAtEnd = wanted === undefined && (whenBusy !== undefined || this.answeredBy === "person");
    const place = isAtEnd ? undefined : after;
    return { content, calls, after, place, whenBusy, idempotencyKey: idempotencyKey ?? newIdempotencyKey() };
  }

  /** Sends, again whenever a reply that it had to wait for has ended. Resolves with the id of its own reply. */
  async #post(sending: Sending): Promise<string> {
    for (;;) {
      let answered = () => {};
      const asking = new Promise<void>((resolve) => {
        answered = resolve;
      });
      this.#asking = { content: sending.content, answered: asking };
      try {
        return await this.#ask(sending);
      } catch (error) {
        const running = runningReply(error);
        if (running === undefined || this.#stream !== "live") throw error;
        this.#asking = undefined;
        answered();
        await this.#until(() => this.#stream !== "live" || Boolean(this.#known.get(running)?.completedAt));
      } finally {
        this.#asking = undefined;
        answered();
      }
    }
  }

  /** A reply, once it has ended. Rejects if its end is not told. */
  async #endOf(id: string): Promise<MessageResource> {
    const ended = () => {
      const reply = this.#known.get(id);
      return reply?.completedAt ? reply : undefined;
    };
    await this.#until(() => ended() !== undefined || (this.#stream === "none" && !this.#own));
    const reply = ended();
    if (!reply) throw this.#problem ?? this.#gone();
    return reply;
  }

  /** Sends once. The reply's own stream ends as soon as the conversation's has its words. */
  async #ask({ content, calls, after, place, whenBusy, idempotencyKey }: Sending): Promise<string> {
    const onBusy = this.#stream === "live" ? "throw" : "wait";
    const stream = this.#client.messages.stream(
      this.id,
      { content: content || undefined, calls, after: place, whenBusy },
      { idempotencyKey, onBusy },
    );
    const events = stream[Symbol.asyncIterator]();
    const { value } = await events.next();
    if (value?.type !== "progress") throw this.#gone();
    const { messageId, userMessageId } = value.progress;
    if (stream.waits) return this.#ownQuestion(await stream.final());
    const reply = newMessage(this.id, { id: String(messageId), after: String(userMessageId) });
    if (!this.#known.get(reply.id)) {
      this.#known.set(newMessage(this.id, { id: String(userMessageId), after, content }));
      this.#known.set(reply);
      this.#progress = [];
      this.#isBehind(reply.id);
    }
    this.#accept();
    if (this.#stream === "live" || this.#closing.signal.aborted) stream.detach();
    else void this.#readOwn(reply.id, stream, events);
    return reply.id;
  }

  /**
   * Takes a question from here that waits for a person. Where that person has said something meanwhile, it is told of both in
   * their order.
   */
  #ownQuestion(question: MessageResource): string {
    const { id, after } = question;
    if (!this.#isTold || after === null || this.#known.get(after)) {
      if (!this.#known.get(id)) this.#isBehind(id);
      this.#known.set(question);
      this.#accept();
    }
    if (this.#stream === "none" && !this.#closing.signal.aborted) void this.#follow(id);
    return id;
  }

  /** The path ends with a message from here, of which the conversation's stream may have yet to tell. */
  #isBehind(id: string): void {
    if (this.#isTold) this.#begun = id;
    else this.#end = id;
  }

  /** What was sent is stored. */
  #accept(): void {
    this.#unsent = undefined;
    this.#lastTried = undefined;
    this.#tell();
  }

  /** Takes the words of a reply that runs from its own stream, where the conversation's cannot be had. */
  #readRunning(): void {
    const { running } = this;
    if (!running || this.#own) return;
    const stream = this.#client.messages.resume(this.id, running.id, { after: running.content.length });
    void this.#readOwn(running.id, stream, stream[Symbol.asyncIterator]());
  }

  /** Takes the words of a reply from its own stream, until the conversation's stream has them. One may follow in its place. */
  async #readOwn(id: string, stream: ReplyStream, events: AsyncGenerator<StreamEvent>): Promise<void> {
    this.#own = stream;
    try {
      for await (const event of events) {
        if (this.#stream === "live") return;
        if (event.type === "complete") this.#known.set(event.message);
        else if (event.type === "error") this.#known.set(await this.#client.messages.get(this.id, id));
        else this.#write(id, event, event.id);
        this.#tell();
      }
    } catch (error) {
      if (this.#own === stream) this.#fail(error);
    } finally {
      if (this.#own === stream) this.#own = undefined;
      stream.detach();
    }
    if (this.#stream === "none") void this.#follow(id);
  }

  /** Takes what happens, whoever does it, from now on or from behind a message. */
  async #follow(after?: string): Promise<void> {
    const { signal } = this.#closing;
    this.#stream = "opening";
    this.#problem = undefined;
    const close = await oneOfFew(signal, () => this.#readRunning());
    const broken = () => {
      this.#stream = this.#isTold ? "broken" : "opening";
    };
    try {
      const events = this.#client.conversations.follow(this.id, {
        after,
        signal,
        broken,
        maxRetries: Infinity,
      });
      for await (const event of events) {
        if (this.#mayBeAsked(event)) await this.#asking?.answered;
        if (signal.aborted) return;
        const isFirst = this.#stream === "opening" && after === undefined;
        this.#stream = "live";
        this.#own?.detach();
        this.#own = undefined;
        await this.#take(event, isFirst);
        this.#tell();
      }
    } catch (error) {
      this.#stream = "none";
      if (isDeletion(error)) this.#delete();
      else if (!signal.aborted) this.#fail(error);
    } finally {
      this.#stream = "none";
      close();
      this.#wake();
    }
  }

  /** Whether an event may tell of the message that is being sent: it is known a moment later which one that is. */
  #mayBeAsked(event: ConversationEvent): boolean {
    if (event.type !== "message" || event.message.role !== "user") return false;
    return event.message.content === this.#asking?.content;
  }

  async #take(event: ConversationEventData, isFirst: boolean): Promise<void> {
    switch (event.type) {
      case "conversation":
        return this.#moved(event.conversation, isFirst);
      case "message": {
        const { message } = event;
        const isSeen = this.#known.pathTo(this.#end).some(({ id }) => id === message.id); // sent here, and told late
        this.#put(message);
        if (!isSeen) this.#end = message.id;
        if (message.id === this.#begun) this.#begun = undefined;
        if (message.role === "user") this.#progress = [];
        const { content, after, error } = this.#unsent ?? {};
        if (error !== undefined && message.content === content && message.after === after)
          this.#unsent = undefined; // it had arrived
        return;
      }
      case "complete":
      case "error":
        return this.#known.set(event.message);
      case "deleted":
        return this.#delete();
      default:
        this.#write(event.messageId, event, Number((event as ConversationEvent).id?.split(".")[1]));
    }
  }

  /** The conversation is as it is told, with another path perhaps. */
  async #moved(conversation: ConversationResource, isFirst = false): Promise<void> {
    const before = JSON.stringify(this.#conversation);
    this.#conversation = conversation;
    this.#end = conversation.lastMessageId;
    const isMissing = isFirst ? JSON.stringify(conversation) !== before : this.#isThin();
    if (isMissing) await this.#fill(await newestOf(this.#client, this.id));
    this.#tell();
  }

  /** Whether less is known of the path than a page of it. */
  #isThin(): boolean {
    const path = this.#known.pathTo(this.#end);
    return path.length < pageLength && (path.length > 0 ? path[0]?.after : this.#end) !== null;
  }

  /** Takes the newest messages, and what else there is to know of the path: a page of it, and what stands beside. */
  async #fill(newest: Page<MessageResource>): Promise<void> {
    const { messages } = this.#client;
    this.#takeAll(newest);
    if (newest.pagination.total === this.#conversation.messageCount) return;
    if (this.#isThin()) this.#takeAll(await messages.list(this.id, { order: "desc", limit: pageLength }));
    for (let page = newest, read = 1; page.hasNextPage && read < mostPages; read++) {
      page = await page.getNextPage();
      this.#takeAll(page);
    }
  }

  #takeAll({ data }: Page<MessageResource>): void {
    for (const message of data) this.#put(message);
  }

  /** Takes a message as it is stored. Of a running reply more may be known. */
  #put(message: MessageResource): void {
    const known = this.#known.get(message.id);
    const isBehind = message.status === "in_progress" && message.attempt <= (known?.attempt ?? 0);
    if (!isBehind) this.#known.set(message);
  }

  /** A running reply goes on, up to an offset. */
  #write(
    id: string,
    event: Extract<StreamEvent | ConversationEventData, { type: "delta" | "progress" }>,
    offset: number,
  ): void {
    const reply = this.#known.get(id);
    if (reply?.status !== "in_progress") return;
    if (event.type === "progress") {
      const { from, attempt, stage } = event.progress;
      if (stage === "accepted") return;
      if (stage !== "continued") this.#progress = [...this.#progress, event.progress];
      else
        this.#known.set({
          ...reply,
          content: reply.content.slice(0, Number(from)),
          attempt: Number(attempt),
        });
    } else if (offset > reply.content.length) {
      const before = reply.content.slice(0, offset - event.content.length);
      this.#known.set({ ...reply, content: before + event.content });
    }
  }

  #fail(error: unknown): void {
    if (hasCode(error, "no_streams")) this.#readRunning();
    else this.#problem = error;
    this.#tell();
  }

  #delete(): void {
    this.#isDeleted = true;
    this.#unsent = undefined;
    this.#end = null;
    this.#begun = undefined;
    this.close();
    this.#tell();
  }

  #tell(): void {
    this.#path = undefined;
    this.#wake();
    if (this.#isDeleted || !this.#closing.signal.aborted) this.#changed(this);
  }

  /** Resolves once something holds. Rejects if the conversation is left before. */
  #until(holds: () => boolean): Promise<void> {
    return new Promise((resolve, reject) => {
      const look = () => {
        const isGone = this.#closing.signal.aborted;
        if (!holds() && !isGone) return;
        this.#waiting.delete(look);
        if (holds()) resolve();
        else reject(this.#gone());
      };
      this.#waiting.add(look);
      look();
    });
  }

  #wake(): void {
    for (const look of [...this.#waiting]) look();
  }

  #gone(): TwinServiceError {
    if (this.#isDeleted) {
      const options = { code: "conversation_not_found", status: 404 };
      return new NotFoundError("The conversation was deleted.", options);
    }
    return new TwinServiceError("The conversation was left before the reply ended.", { code: "detached" });
  }
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof TwinServiceError && error.code === code;
}

function isDeletion(error: unknown): boolean {
  return hasCode(error, "conversation_not_found");
}

/** The newest messages, first: of all branches, or those on the path before a message. */
function newestOf(
  { messages }: ConversationClient,
  id: string,
  of: { readonly after: string } | { readonly path: "all" } = { path: "all" },
): Promise<Page<MessageResource>> {
  return messages.list(id, { order: "desc", limit: pageLength, ...of });
}

/** A message that was accepted a moment ago, until it is told as it is stored. With words it is a question. */
function newMessage(
  conversationId: string,
  { id, after, content }: { id: string; after: string | null; content?: string },
): MessageResource {
  const now = new Date().toISOString();
  const isQuestion = content !== undefined;
  return {
    id,
    conversationId,
    after,
    content: content ?? "",
    role: isQuestion ? "user" : "assistant",
    status: isQuestion ? "completed" : "in_progress",
    completedAt: isQuestion ? now : null,
    author: null,
    inReplyTo: isQuestion ? null : after,
    finishReason: null,
    usage: null,
    error: null,
    sources: null,
    twinRevision: null,
    attempt: 1,
    feedback: null,
    pendingCalls: null,
    createdAt: now,
  };
}
