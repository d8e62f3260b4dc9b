/**
 * Produces one reply: runs the engine, and ends the reply exactly once. No client is involved; followers read its feed.
 *
 * @module
 */

import { sleep } from "../base/clock.ts";
import type { LogLevel } from "../base/log.ts";
import type { Held } from "../base/memory-budget.ts";
import { type MessageRecord, mostCharactersRemembered } from "../store/records.ts";
import { type Store, StoreUnavailable } from "../store/store.ts";
import {
  type EngineProgress,
  type EngineResult,
  ModelError,
  type Turn,
  type TwinEngine,
} from "../twins/engine.ts";
import type { Production, ReplyContext } from "./context.ts";
import { cancelled, completed, Draft, type DraftWatcher, failed, type Outcome, toldOf } from "./draft.ts";
import { type FeedSource, ReplyFeed } from "./feed.ts";
import { askGuarded } from "./guarding.ts";
import { questionBytes, tellEstimated } from "./limits.ts";
import { ReplyReport } from "./report.ts";
import { type Replaced, retryMs, Saver } from "./saver.ts";

/** A reply that this process produces. */
export class Producer implements FeedSource, DraftWatcher {
  readonly delayed = false;
  readonly production: Production;
  readonly feed: ReplyFeed;
  readonly draft: Draft;
  readonly saver: Saver;
  /** What its engine is asked, and holds. */
  readonly memory: Held;
  readonly #report: ReplyReport;
  readonly #context: ReplyContext;
  /** The engine was called: what fails after that is the model. */
  #asked = false;
  /** The last follower on this process has left. */
  #leftHere = false;
  /** What later histories tell in the question's place. Empty: nothing of this exchange. Undefined: the question. */
  #told: string | undefined;

  /** `isReadHere`: whether followers on this process read the saved text. */
  constructor(context: ReplyContext, production: Production, isReadHere: () => boolean) {
    this.#context = context;
    this.production = production;
    this.#report = new ReplyReport(context, production);
    this.memory = context.memory.hold(production);
    this.feed = new ReplyFeed(production.reply, context.memory.hold(production));
    this.feed.keep();
    const repeats = continuation(production) === "exact";
    this.draft = new Draft(this.feed, this, this.memory, repeats);
    this.saver = new Saver(context, { production, feed: this.feed, draft: this.draft, isReadHere });
    this.feed.feedFrom(this);
  }

  firstText(): void {
    this.#report.firstText();
  }

  tool(progress: EngineProgress): void {
    this.#report.tool(progress);
  }

  acts(): Promise<void> {
    return this.saver.markLastAttempt();
  }

  followed(): void {
    this.#leftHere = false;
  }

  left(): void {
    this.#leftHere = this.#context.cancelOnDisconnect;
    this.#stopIfLeft();
  }

  /** Cancels the reply if all its followers have left, here and elsewhere, and that is to stop it. */
  #stopIfLeft(): void {
    if (this.#leftHere && !this.saver.isFollowedThroughStore) this.draft.stop(cancelled);
  }

  /**
   * Stops the reply, which ends as cancelled in the transaction of the message that comes in its place. Undefined: how it ends
   * is decided already.
   */
  replace(): Replaced | undefined {
    if (this.draft.closed) return undefined;
    this.draft.stop(cancelled);
    return this.saver.endElsewhere(cancelled);
  }

  /** Ends the reply because this process stops. */
  interrupt(): void {
    if (!this.draft.closed) this.#report.interrupted();
    this.draft.stop(failed("interrupted"));
  }

  /**
   * Runs the reply, which has been stored, to its stored end. Resolves with the reply as it is
   * stored if it was not this producer that ended it: it may be in progress, in another process. Never rejects. `memory`:
   * what the twin knows of the person; undefined: to be read.
   */
  async run(memory?: string | null): Promise<MessageRecord | undefined> {
    const { clock, maxReplyMs, conversations } = this.#context;
    const { question } = this.production;
    this.#report.began();
    const cancelTimeout = clock.after(maxReplyMs, () => this.#timeOut());
    this.saver.start(() => this.#stopIfLeft());
    void this.#runEngine(memory);
    const outcome = await this.draft.outcome;
    cancelTimeout();
    if (this.draft.differs)
      this.#report.log("warn", "a reply was interrupted: asked again, its engine wrote another text");
    const saved = await this.saver.end(outcome);
    this.#report.ended(saved?.own && outcome !== "lost" ? outcome : undefined);
    if (saved?.own) {
      if (this.production.reserved) tellEstimated(this.#context, this.production.engine, saved.message);
      conversations.add(question, saved.message, this.#told);
      this.feed.end(saved.message);
      return undefined;
    }
    conversations.forget(question.conversationId);
    if (!saved) this.feed.release(); // how the reply will end is not known yet
    return saved?.message;
  }

  async #runEngine(known: string | null | undefined): Promise<void> {
    const { owner, twin, question, reply, readAlong, format, mayAsk, decided } = this.production;
    try {
      const { endUser, history, isWhole, memory } = await this.#readConversation(known);
      if (this.draft.closed) return;
      this.#asked = true;
      const engine = requireEngine(this.production);
      const partial = continuation(this.production) === "partial" ? { partial: reply.content } : {};
      const traceparent = this.#report.traceparent();
      const origin = { owner, endUser, conversationId: question.conversationId, messageId: reply.id };
      const { content } = question;
      const asked = { twin, history, memory, content, origin, traceparent };
      const calls = decided && { ...decided, isTold: isWhole };
      const turn = { ...asked, readAlong, format, mayAsk, decided: calls, ...partial };
      this.draft.end(completed(await this.#ask(engine, turn)));
    } catch (error) {
      if (!this.draft.closed) this.draft.end(this.#fail(error));
    }
  }

  #ask(engine: TwinEngine, turn: Turn): Promise<EngineResult> {
    const { guard, clock } = this.#context;
    const replaceQuestion = (told: string) => this.#replaceQuestion(told);
    const isSaidByClient = this.production.history !== undefined;
    return askGuarded({ guard, clock, isSaidByClient, replaceQuestion }, engine, turn, this.draft.output());
  }

  /** Before anything is told: whoever ends the reply, the question is in no later history. */
  async #replaceQuestion(told: string): Promise<void> {
    const { owner, question } = this.production;
    const { id, conversationId } = question;
    const replaced = { owner, conversationId, id, told };
    await this.#whileAway("a question's replacement could not be stored", () =>
      this.#context.store.replaceQuestion(replaced),
    );
    this.#told = told;
  }

  /**
   * A store that is down for a moment, a broken connection, and others who hold all memory are no reason to fail an accepted
   * reply.
   */
  async #readConversation(known: string | null | undefined) {
    const { owner, twin, question, history } = this.production;
    const { conversations, store } = this.#context;
    const reserve = (bytes: number) => {
      if (!this.memory.reserve(bytes)) throw new StoreUnavailable("Others hold all memory.");
    };
    let historyBytes = 0; // not known before it was read once
    return this.#whileAway("the history for a reply could not be read", async () => {
      reserve(historyBytes);
      this.memory.count(-historyBytes); // there is room for it
      const [endUser, seen] = await Promise.all([
        conversations.endUserOf(owner, question.conversationId),
        history ? { history, isWhole: false } : conversations.historyOf(owner, question),
      ]);
      const memory = known === undefined ? await readMemory(store, owner, endUser, twin.id) : known;
      historyBytes = history ? 0 : questionBytes("", seen.history); // one that a request had is counted
      reserve(historyBytes);
      return { endUser, ...seen, memory };
    });
  }

  /** Asks the store again while it is away, until the reply is over. */
  async #whileAway<Result>(failure: string, ask: () => Promise<Result>): Promise<Result> {
    const { clock, log } = this.#context;
    const messageId = this.production.reply.id;
    for (let level: LogLevel = "warn"; ; level = "debug") {
      try {
        return await ask();
      } catch (error) {
        if (this.draft.closed || !(error instanceof StoreUnavailable)) throw error;
        log(level, `${failure}; it will be tried again`, { messageId, error });
        await sleep(clock, retryMs);
      }
    }
  }

  #timeOut(): void {
    if (!this.draft.closed) this.draft.stop(this.#fail(tooLong(this.#context.maxReplyMs)));
  }

  /** Logs an error, and returns the outcome that it means. */
  #fail(error: unknown): Outcome {
    const code = this.#report.failed(error);
    return this.#asked ? failed(code, toldOf(error)) : failed("interrupted");
  }
}

/** How the engine goes on with the text that is there. Undefined: there is none, and the reply begins. */
function continuation({ engine, reply }: Production): TwinEngine["continues"] {
  return reply.content === "" ? undefined : engine?.continues;
}

/** What a twin knows of a person. Null: nothing, or there is no person. */
export async function readMemory(
  store: Store,
  owner: string,
  endUser: string | null,
  twinId: string,
): Promise<string | null> {
  if (endUser === null) return null;
  const slice = { twinId, limit: 1, charactersOfEach: mostCharactersRemembered };
  const [memory] = await store.listMemories(owner, endUser, slice);
  return memory?.content ?? null;
}

/** The error of a reply that took too long. */
export function tooLong(maxReplyMs: number): ModelError {
  return new ModelError("model_timeout", `The reply took more than ${maxReplyMs} ms.`);
}

/** @throws {ModelError} if the twin names an engine that the service does not have. */
export function requireEngine({ twin, engine }: Pick<Production, "twin" | "engine">): TwinEngine {
  if (engine) return engine;
  throw new ModelError("model_error", `There is no engine "${twin.engine}".`);
}
