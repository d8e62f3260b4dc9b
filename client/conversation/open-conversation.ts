/**
 * A conversation as it is seen: one object, one stream. Pages and apps are its views.
 *
 * @module
 */

import type { ConversationResource, MessageResource } from "../../core/wire/schemas.ts";
import { Branches } from "./branches.ts";
import { follow, isTold } from "./following.ts";
import { fill, newestOf, takeConversation, takePage } from "./reading.ts";
import { type SendMessageOptions, send } from "./sending.ts";
import {
  type ConversationClient,
  type ConversationState,
  close,
  pathOf,
  put,
  runningOf,
  type SeenConversation,
  stateOf,
  tell,
  type UnsentMessage,
} from "./state.ts";

/** Who answers in a conversation. */
type Answerer = ConversationResource["answeredBy"];

/** Options of an open conversation. */
export interface OpenConversationOptions {
  /** Called after each change: of the path, of the words of a reply, of what is sent. */
  readonly changed?: ((conversation: OpenConversation) => void) | undefined;
  /**
   * Called once for each message that is new and whole, after `changed`: a reply that has ended, however, and what others have
   * said. Neither for what is written here nor for what was said before it was opened. For screen readers and notifications.
   */
  readonly heard?: ((message: MessageResource) => void) | undefined;
}

/**
 * A conversation as it is seen on one device, beside others who change it: its current path, what is written, and what can
 * be done. Made by `client.conversations.open`.
 */
export class OpenConversation {
  readonly id: string;
  readonly #seen: SeenConversation;

  private constructor(
    client: ConversationClient,
    conversation: ConversationResource,
    { changed, heard }: OpenConversationOptions,
  ) {
    this.id = conversation.id;
    this.#seen = {
      client,
      id: conversation.id,
      changed: () => changed?.(this),
      heard: (message) => heard?.(message),
      closing: new AbortController(),
      known: new Branches(),
      conversation,
      end: conversation.lastMessageId,
      progress: [],
      news: [],
      waiting: [],
    };
  }

  /** Reads a conversation, and follows it. One that was made a moment ago is followed from its first reply on. */
  static async open(
    client: ConversationClient,
    conversation: string | ConversationResource,
    options: OpenConversationOptions,
  ): Promise<OpenConversation> {
    const isNew = typeof conversation !== "string" && conversation.lastMessageId === null;
    if (isNew) return new OpenConversation(client, conversation, options);
    const id = typeof conversation === "string" ? conversation : conversation.id;
    const [found, newest] = await Promise.all([client.conversations.get(id), newestOf(client, id)]);
    const opened = new OpenConversation(client, found, options);
    await fill(opened.#seen, newest);
    opened.#seen.news.splice(0); // it was said before
    const [last] = newest.data;
    opened.#seen.told = (last?.completedAt ? last.id : last?.after) ?? ""; // the end of a reply that runs is to be told
    void follow(opened.#seen);
    return opened;
  }

  /** The conversation as it was told last: its title, for instance. */
  get conversation(): ConversationResource {
    return this.#seen.conversation;
  }

  /** The messages that are seen, oldest first. The words of a running reply grow; each change makes a new list. */
  get path(): readonly MessageResource[] {
    return pathOf(this.#seen);
  }

  /** Whether there are messages before those of the path: see {@link OpenConversation.earlier}. */
  get hasEarlier(): boolean {
    return Boolean(this.path[0]?.after);
  }

  /** The reply that is being written, with its words so far. */
  get running(): MessageResource | undefined {
    return runningOf(this.#seen);
  }

  /** Who answers: see {@link OpenConversation.handTo}. */
  get answeredBy(): Answerer {
    return this.conversation.answeredBy;
  }

  /** When the oldest question was asked that waits for a person. Null: none does. */
  get waitingSince(): string | null {
    return this.conversation.waitingSince;
  }

  /** What the engine has reported of the newest reply, such as the tools that it called. */
  get progress(): readonly Readonly<Record<string, unknown>>[] {
    return this.#seen.progress;
  }

  /** The message that was written here and is not accepted. It stands behind the path. */
  get unsent(): UnsentMessage | undefined {
    return this.#seen.unsent;
  }

  get state(): ConversationState {
    return stateOf(this.#seen);
  }

  /** Why it is not seen any more what others do: a refusal. The next message tries again. Undefined: it is seen. */
  get problem(): unknown {
    return this.#seen.problem;
  }

  /** What was said in a message's place, itself included, oldest first: to choose from, as `‹ 2 / 3 ›`. */
  branchesOf(message: MessageResource): readonly MessageResource[] {
    return this.#seen.known.branchesOf(message);
  }

  /**
   * Sends a message, once any running reply has ended or in its place, and resolves with its reply once that has ended,
   * however; while a person answers, with the message, which waits for that person: others may follow it. Rejects if the
   * message is not accepted: then it is `unsent`, until it is sent again or given up. It may have arrived all the same: sent
   * again, it is stored once.
   */
  send(content: string, options: SendMessageOptions = {}): Promise<MessageResource> {
    return send(this.#seen, content, options);
  }

  /** Sends other words in place of a question: another branch. */
  edit(question: MessageResource, content: string): Promise<MessageResource> {
    return this.send(content, { after: question.after });
  }

  /** Asks for another reply to the same question: another branch. */
  async again({ after }: MessageResource): Promise<MessageResource> {
    const known = this.#seen.known.get(after);
    const question = known ?? (await this.#seen.client.messages.get(this.id, String(after)));
    return this.edit(question, question.content);
  }

  /** Goes to the newest path that a message is on. */
  async choose(message: MessageResource): Promise<void> {
    await this.#update({ lastMessageId: this.#seen.known.endOf(message) });
  }

  /** Has a person answer from now on, or the twin again: then what waits gets no reply. */
  async handTo(answeredBy: Answerer): Promise<void> {
    await this.#update({ answeredBy });
    void follow(this.#seen); // to see what a person says
  }

  async #update(change: Parameters<ConversationClient["conversations"]["update"]>[1]): Promise<void> {
    const seen = this.#seen;
    const before = seen.conversation;
    const conversation = await seen.client.conversations.update(this.id, change);
    if (!isTold(seen)) {
      seen.begun = undefined;
      return takeConversation(seen, conversation);
    }
    // The stream tells of the path, in its place among the other events. What it has told meanwhile may be newer.
    if (seen.conversation === before) seen.conversation = conversation;
    tell(seen);
  }

  /** Stops the running reply, which keeps its words so far. */
  async cancel(): Promise<void> {
    const running = this.running;
    if (!running) return;
    put(this.#seen, await this.#seen.client.messages.cancel(this.id, running.id));
    tell(this.#seen);
  }

  /** Says what a person thinks of a reply that has ended; null takes it back. */
  async rate(reply: MessageResource, rating: "up" | "down" | null, comment?: string | null): Promise<void> {
    const { client, known } = this.#seen;
    const feedback = rating && (await client.feedback.give(this.id, reply.id, { rating, comment }));
    if (!feedback) await client.feedback.withdraw(this.id, reply.id);
    known.set({ ...(known.get(reply.id) ?? reply), feedback });
    tell(this.#seen);
  }

  /** Gives up a message that was not accepted. Sent after all, in the same words and place, it is stored once. */
  discard(): void {
    if (this.state === "sending") return;
    this.#seen.unsent = undefined;
    tell(this.#seen);
  }

  /** Reads the messages before the path's first one. */
  async earlier(): Promise<void> {
    const [first] = this.path;
    if (!first?.after) return;
    const { client, known } = this.#seen;
    // Of all branches, as the path of the service may be another one. Others may fill a page before the message that is wanted.
    let page = await newestOf(client, this.id, { path: "all", after: first.id });
    takePage(this.#seen, page);
    while (page.hasNextPage && !known.get(first.after)) {
      page = await page.getNextPage();
      takePage(this.#seen, page);
    }
    tell(this.#seen);
  }

  /** Leaves. A reply that is written goes on, and a message that is on its way is still sent. */
  close(): void {
    close(this.#seen);
  }
}
