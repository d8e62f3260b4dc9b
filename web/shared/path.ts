/**
 * The path of a conversation on a page, beside others who change it: other windows, other devices, the app's backend.
 *
 * @module
 */

import {
  type Conversation,
  type ConversationEvent,
  type Message,
  NotFoundError,
  type TwinClient,
} from "../../client/mod.ts";
import { pathTo } from "./branches.ts";

/** What shows a path. */
export interface PathView {
  /** Whether a reply is written: then nobody can change the path. */
  readonly isReplying: boolean;
  /** Aborts when the page leaves the conversation. */
  readonly signal: AbortSignal | undefined;
  /** Shows one more message at the end. A reply that runs has a stream of its own. */
  show(message: Message): void;
  /** Shows the path anew. */
  draw(): Promise<unknown>;
  deleted(): void;
  /** It may have another title. */
  renamed?(conversation: Conversation): void;
}

/** Tells a page what it does not show yet. */
export class SharedPath {
  readonly #client: TwinClient;
  readonly #view: PathView;
  /** The ids of messages that are shown, or stand on branches beside them. */
  readonly #known = new Set<string>();
  #end: string | null = null;
  #answered = Promise.resolve();

  constructor(client: TwinClient, view: PathView) {
    this.#client = client;
    this.#view = view;
  }

  /** Something is sent from here. What is returned is called once it is known what became of it. */
  sending(): () => void {
    let answered = () => {};
    this.#answered = new Promise((resolve) => {
      answered = resolve;
    });
    return answered;
  }

  /** The path goes on with messages. */
  pass(...ids: string[]): void {
    for (const id of ids) {
      this.#known.add(id);
      this.#end = id;
    }
  }

  /** Chooses the path to a message. */
  async choose(id: string, lastMessageId: string): Promise<void> {
    this.#end = lastMessageId;
    await this.#client.conversations.update(id, { lastMessageId });
  }

  /** The messages on the path, and on all branches. */
  async read(id: string): Promise<{ path: Message[]; all: Message[] }> {
    const answered = this.#answered;
    const [{ lastMessageId }, { data }] = await Promise.all([
      this.#client.conversations.get(id),
      this.#client.messages.list(id, { path: "all", order: "desc", limit: 100 }),
    ]);
    if (answered !== this.#answered) {
      await this.#answered; // what was sent meanwhile from here may be missing
      return this.read(id);
    }
    const all = data.reverse();
    for (const message of all) this.#known.add(message.id);
    this.#end = lastMessageId;
    return { path: pathTo(all, lastMessageId), all };
  }

  /** Has the page show what happens behind the path's end, whoever does it, until it leaves or the conversation is deleted. */
  async follow(id: string): Promise<void> {
    const { signal } = this.#view;
    const options = { after: this.#end ?? undefined, signal, maxRetries: Infinity };
    try {
      for await (const event of this.#client.conversations.follow(id, options)) {
        await this.#answered;
        if (!signal?.aborted) await this.#take(event);
      }
    } catch (error) {
      if (signal?.aborted) return;
      if (!(error instanceof NotFoundError)) throw error;
      this.#view.deleted();
    }
  }

  async #take(event: ConversationEvent): Promise<void> {
    const view = this.#view;
    if (event.type === "deleted") view.deleted();
    if (event.type === "conversation") {
      view.renamed?.(event.conversation);
      const { lastMessageId } = event.conversation;
      if (!view.isReplying && lastMessageId !== null && lastMessageId !== this.#end) await view.draw();
    }
    if (event.type !== "message" || this.#known.has(event.message.id)) return;
    if (event.message.after === this.#end) view.show(event.message);
    else await view.draw();
  }
}
