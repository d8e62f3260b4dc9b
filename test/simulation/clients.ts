/**
 * The simulation's clients: they send, stream, resume, cancel, retry and delete, and check everything that the
 * service answers.
 */

import type { Answer } from "../../core/mod.ts";
import type { MessageRecord } from "../../core/store/mod.ts";
import type { ConversationResource, MessageResource } from "../../core/wire/schemas.ts";
import { parseEvents } from "../support/harness.ts";
import { type Ask, createAsk, dataOf, errorOf, keyHeader } from "./asking.ts";
import { type EngineHouse, type EngineRun, theTwin } from "./engine.ts";
import { Knowledge, type KnownConversation, type KnownReply } from "./knowledge.ts";
import { isEndedElsewhere, type Ledger } from "./ledger.ts";
import type { Process, Processes } from "./processes.ts";
import { type Reader, requireStored } from "./reader.ts";
import { isLost, Subscriber } from "./subscriber.ts";
import type { World } from "./world.ts";

/** A message that a client sends, perhaps more than once. */
interface Sending {
  readonly conversation: KnownConversation;
  readonly key: string | undefined;
  readonly body: SendBody;
}

interface SendBody {
  readonly content: string;
  /** The message that it goes on from. Undefined: the end of the path. */
  readonly after?: string | null | undefined;
  /** Whether it takes the place of a running reply. */
  readonly whenBusy?: "replace" | undefined;
  /** Of what a person says. */
  readonly role?: "assistant";
  readonly author?: string | undefined;
  readonly answeredBy?: "twin" | "person" | undefined;
  /** A question that is stored alone. */
  readonly reply?: false;
}

/** Whether a message is stored without a reply, whoever answers. */
function isAlone({ role, reply }: SendBody): boolean {
  return role === "assistant" || reply === false;
}

/** The person that some conversations are with. */
const person = "mia";

export interface ClientSetting {
  readonly world: World;
  readonly ledger: Ledger;
  readonly engines: EngineHouse;
  readonly processes: Processes;
  readonly reader: Reader;
  readonly apiKey: string;
  readonly onDisconnect: "continue" | "cancel";
}

export class Clients {
  readonly #setting: ClientSetting;
  readonly #world: World;
  readonly #ledger: Ledger;
  readonly #known: Knowledge;
  readonly #ask: Ask;
  readonly #subscribers: Subscriber[] = [];

  constructor(setting: ClientSetting) {
    const { world, ledger, apiKey } = setting;
    this.#setting = setting;
    this.#world = world;
    this.#ledger = ledger;
    this.#known = new Knowledge(world);
    this.#ask = createAsk(world, { "X-API-Key": apiKey });
  }

  /** Acts as one client for a number of steps. */
  async act(steps: number): Promise<void> {
    for (let rest = steps; rest > 0; rest--) {
      await this.#step();
      await this.#world.pause(this.#world.random.pick([0, 0, 50, 500, 2_000]));
    }
  }

  /** Ends the devices that look on, each once it was told all. Resolves with how many events they were told. */
  async lookAway(): Promise<number> {
    await Promise.all(this.#subscribers.map((subscriber) => subscriber.end()));
    return this.#subscribers.reduce((sum, { events }) => sum + events, 0);
  }

  /** Checks what must hold once everything has come to rest. */
  checkAtEnd(): void {
    const { engines, processes, onDisconnect } = this.#setting;
    for (const { record } of this.#ledger.alone.values()) this.#requireNotRefused(record);
    for (const { id, conversationId, question, end, deleted } of this.#ledger.replies.values()) {
      const { content } = question;
      this.#requireNotRefused(question);
      const isReplaced = this.#known.conversations.some(
        (known) => known.id === conversationId && known.replacements > 0,
      );
      const wished = isReplaced || this.#known.replies.get(id)?.cancelTried || onDisconnect === "cancel";
      if (end?.status === "cancelled" && !wished)
        this.#world.violate(`${id} is cancelled, but nobody cancelled it`);
      if (end?.error?.code === "interrupted" && !processes.disturbed && this.#ledger.lastTrouble === 0) {
        this.#world.violate(`${id} was interrupted for no reason`);
      }
      const runs = engines.runs.filter((found) => found.content === content);
      const isWritten = runs.some(
        ({ partial, written, handedOver }) =>
          partial + storable(written) === end?.content && handedOver === (end?.handsOver === true),
      );
      if (end?.status === "completed" && !isWritten) {
        this.#world.violate(`${id} is not what its engine wrote`);
      }
      if (end?.handsOver && (end.status === "cancelled" || !runs.some(({ handedOver }) => handedOver)))
        this.#world.violate(`${id} handed over for no reason`);
      if (!deleted) this.#requireHistory(question, runs);
    }
  }

  #requireNotRefused({ content }: MessageRecord): void {
    if (this.#known.refused.has(content)) this.#world.violate(`"${content}" was refused, but is stored`);
  }

  /** Each engine must have been told what came before the question on its path, and was not left out. */
  #requireHistory({ content, after }: MessageRecord, runs: readonly EngineRun[]): void {
    const told = this.#ledger.pathTo(after).flatMap((stored) => {
      if ("record" in stored) return stored.text;
      const isTold = stored.end?.status !== "failed" && stored.text.trim() !== "";
      return isTold ? [stored.question.content, stored.text] : [];
    });
    for (const { history } of runs) {
      if (history.join() !== told.join()) this.#world.violate(`"${content}" had another history: ${history}`);
    }
  }

  /** In each conversation, whoever is to answer does, and the twin does once it is to. */
  async requireOpen(): Promise<void> {
    for (const { id, twinId } of this.#known.conversations) {
      const conversation = await this.#ledger.truth.getConversation({ owner: "owner" }, id);
      if (!conversation || (twinId !== theTwin && !this.#ledger.versions.current(twinId))) continue;
      await this.#requireAnswered(id, conversation.answeredBy);
      const process = this.#setting.processes.any();
      const path = `/conversations/${id}`;
      const answer = await this.#ask(process, "PATCH", path, { body: { answeredBy: "twin" } });
      if (answer?.status !== 200) this.#world.violate(`${id} is not given back: ${answer?.body}`);
      await this.#requireAnswered(id, "twin");
    }
  }

  async #requireAnswered(id: string, who: "twin" | "person"): Promise<void> {
    const body = { content: this.#known.newText("question") };
    this.#setting.engines.noteAsked(body.content);
    const process = this.#setting.processes.any();
    const answer = await this.#ask(process, "POST", `/conversations/${id}/messages`, { body });
    // An engine may fail, or say nothing until its time is over.
    const statuses = who === "person" ? [202] : [200, 502, 504];
    if (!answer || !statuses.includes(answer.status))
      this.#world.violate(`${id} is stuck: the ${who} answers, and a send is answered ${answer?.status}`);
  }

  async #step(): Promise<void> {
    const { random } = this.#world;
    const { conversations, replies } = this.#known;
    const conversation = conversations[random.between(0, conversations.length - 1)];
    if (!conversation || random.chance(0.1)) return this.#createConversation();
    const reply = [...replies.values()][random.between(0, replies.size - 1)];
    const dice = random.next();
    if (dice < 0.45 || !reply) return this.#send(conversation, {});
    if (dice < 0.51) return this.#send(conversation, { reply: false });
    if (dice < 0.58) return this.#send(conversation, this.#words());
    if (dice < 0.73) return this.#resume(reply);
    if (dice < 0.8) return this.#cancel(reply);
    if (dice < 0.87) return this.#change(conversation);
    if (dice < 0.91) return this.#lookOn(conversation);
    if (dice < 0.94) return this.#remove(conversation);
    if (dice < 0.95) return this.#erase();
    return this.#readHistory(conversation);
  }

  /** What is particular of what a person says. */
  #words() {
    const { random } = this.#world;
    const author = random.chance(0.5) ? "Eva" : undefined;
    const answeredBy = random.pick([undefined, undefined, "twin", "person"] as const);
    return { role: "assistant", author, answeredBy } as const;
  }

  #lookOn(conversation: KnownConversation): void {
    this.#subscribers.push(new Subscriber({ ...this.#setting, ask: this.#ask }, conversation));
  }

  async #createConversation(): Promise<void> {
    const known = this.#known;
    const { random } = this.#world;
    const endUser = random.chance(0.3) ? person : undefined;
    // An erasure also takes the key of what it erases.
    const key = endUser === undefined && random.chance(0.5) ? known.newText("key") : undefined;
    const { ids } = this.#ledger.versions;
    const twinId = ids.length > 0 ? random.pick([theTwin, ...ids]) : theTwin;
    const body = { twinId, title: known.newText("conversation"), endUser };
    // An erasure that had not ended may take what is made meanwhile.
    const ended = known.erasures.ended;
    for (let tries = key === undefined ? 1 : 4; tries > 0; tries--) {
      const options = { body, headers: keyHeader(key) };
      const askedAt = this.#world.now();
      const answer = await this.#ask(this.#setting.processes.any(), "POST", "/conversations", options);
      if (answer?.status === 404) return this.#requireNoTwin(twinId, askedAt);
      if (answer?.status === 201) {
        const { id } = dataOf<{ id: string }>(answer);
        known.noteMade(key, id);
        const isThere = await this.#ledger.truth.getConversation({ owner: "owner" }, id);
        if (!isThere && !this.#ledger.gone.has(id))
          this.#world.violate(`${id} was created, but is not there`);
        if (!known.conversations.some((conversation) => conversation.id === id)) {
          const deletions = endUser === person ? known.erasures.begun - ended : 0;
          const conversation = { id, twinId, endUser, deletions, replacements: 0 };
          known.conversations.push(conversation);
          if (random.chance(0.5)) this.#lookOn(conversation);
        }
        return;
      }
      if (answer && answer.status !== 503) this.#world.violate(`a creation was answered ${answer.status}`);
      await this.#world.pause(random.between(0, 1_000));
    }
  }

  async #send(conversation: KnownConversation, kind: Partial<SendBody>): Promise<void> {
    const { random } = this.#world;
    const whenBusy = random.chance(0.3) ? "replace" : undefined;
    const goesOn = random.chance(whenBusy ? 0.95 : 0.6);
    const after = goesOn ? undefined : (this.#anyPlaceIn(conversation) ?? null);
    const sending: Sending = {
      conversation,
      key: random.chance(0.6) ? this.#known.newText("key") : undefined,
      body: { content: this.#known.newText("question"), after, whenBusy, ...kind },
    };
    if (sending.key === undefined) return this.#sendOnce(sending);
    const attempts = random.between(1, 4);
    if (random.chance(0.3)) {
      await Promise.all(Array.from({ length: attempts }, () => this.#sendOnce(sending)));
    } else {
      for (let attempt = 0; attempt < attempts; attempt++) {
        await this.#sendOnce(sending);
        await this.#world.pause(random.between(0, 2_000));
      }
    }
  }

  async #sendOnce(sending: Sending): Promise<void> {
    const { random } = this.#world;
    const { conversation, key, body } = sending;
    const path = `/conversations/${conversation.id}/messages`;
    const options = { body, headers: keyHeader(key) };
    const process = this.#setting.processes.any();
    const streamed = !isAlone(body) && random.chance(0.6);
    const patience = random.chance(0.2) ? { patience: random.between(0, 3_000) } : {};
    if (body.whenBusy) conversation.replacements++;
    const askedAt = this.#world.now();
    this.#setting.engines.noteAsked(body.content);
    const answer = streamed
      ? await this.#ask(process, "POST", `${path}/stream`, options)
      : await this.#ask(process, "POST", path, { ...options, ...patience });
    if (!answer || !process) return;
    if (answer.status === 200 && streamed) await this.#noteStream(sending, process, answer);
    else if (answer.status === 200) await this.#noteMessage(sending, process, dataOf(answer));
    else if (answer.status === 201 || answer.status === 202)
      await this.#noteAlone(sending, process, dataOf(answer), answer.status === 202);
    else if (errorOf(answer).code === "twin_not_found") this.#requireNoTwin(conversation.twinId, askedAt);
    else this.#noteRefusal(sending, answer, process);
  }

  #requireNoTwin(id: string, askedAt: number): void {
    if (id === theTwin) this.#world.violate("the operator's twin is not found");
    this.#ledger.versions.requireNoticeOfNone(id, askedAt);
  }

  async #noteMessage({ conversation, key }: Sending, process: Process, message: MessageResource) {
    this.#known.reply(conversation, message.id);
    this.#known.noteMade(key, message.id);
    if (message.status === "failed") this.#world.violate("a failed reply was sent as a success");
    await requireStored(this.#world, this.#ledger, message);
    if (!process.closing) this.#requireReplaced(message.after);
  }

  /** A message that has no reply. `waits`: for a person. */
  async #noteAlone(
    { conversation, key, body }: Sending,
    process: Process,
    message: MessageResource,
    waits: boolean,
  ): Promise<void> {
    this.#known.alone.set(message.id, conversation);
    this.#known.noteMade(key, message.id);
    const stored = this.#ledger.alone.get(message.id);
    if (stored?.waits !== waits || isAlone(body) === waits)
      this.#world.violate(`${message.id} waits for a person, or does not, against what was told`);
    await requireStored(this.#world, this.#ledger, message);
    if (!process.closing) this.#requireReplaced(message.id);
  }

  /** Once a client is told of a message, the engine of the reply must have been stopped whose place that took. */
  #requireReplaced(messageId: string | null): void {
    for (const { replacedBy, question } of this.#ledger.replies.values())
      if (replacedBy !== undefined && replacedBy === messageId) this.#requireStopped(question.content);
  }

  /** A send's stream: of its reply, or all that is said of a question that waits for a person. */
  async #noteStream(sending: Sending, process: Process, answer: Answer): Promise<void> {
    const events = typeof answer.body === "string" ? parseEvents(answer.body) : [];
    const [first, second] = events;
    if (first?.data.type !== "progress" || first.data.progress.stage !== "waiting") {
      const { conversation, key } = sending;
      return this.#readStream({ process, answer, conversation, key });
    }
    if (second?.data.type !== "complete" || events.some(({ id }) => id !== 0) || events.length !== 2)
      return this.#world.violate(`a question waits, and its stream is ${answer.body}`);
    await this.#noteAlone(sending, process, second.data.message, true);
  }

  #noteRefusal(sending: Sending, answer: Answer, process: Process): void {
    const { conversation, key, body } = sending;
    const { code, details } = errorOf(answer);
    switch (code) {
      case "validation_error":
        // What takes the place of a reply goes on from that one alone.
        if (!body.whenBusy || body.after === undefined)
          this.#world.violate(`a send was refused: ${answer.body}`);
        return;
      case "conversation_busy":
        if (body.whenBusy) this.#world.violate("what takes the place of a reply was told to wait for it");
        if (!this.#ledger.replies.has(details?.messageId ?? ""))
          this.#world.violate("busy with a reply that does not exist");
        this.#known.reply(conversation, details?.messageId ?? "");
        if (key === undefined) this.#known.refused.add(body.content);
        return;
      case "conversation_not_found":
      case "message_not_found":
        if (conversation.deletions === 0) this.#world.violate("a conversation is gone that nobody deleted");
        return;
      case "model_error":
      case "model_timeout":
      case "shutting_down":
        if (details?.messageId) this.#noteFailure(sending, details.messageId, code, process);
        else if (code !== "shutting_down") this.#world.violate(`${code} without the reply's id`);
        return;
      case "unavailable":
        return;
      default:
        this.#world.violate(`a send was answered ${answer.status} ${answer.body}`);
    }
  }

  #noteFailure({ conversation, key }: Sending, id: string, code: string, process: Process): void {
    this.#known.reply(conversation, id);
    this.#known.noteMade(key, id);
    const stored = this.#ledger.replies.get(id) ?? this.#world.violate(`nobody began the reply ${id}`);
    const expected = code === "shutting_down" ? "interrupted" : code;
    if (stored.end?.error?.code === expected || stored.deleted) return;
    // A process that stops releases a send that may be a repeated one, whatever becomes of the reply.
    if (process.closing && (key !== undefined || !stored.end?.error)) return;
    // A process that ends without its store gives up, and says so.
    if (code !== "shutting_down" || this.#ledger.lastTrouble === 0)
      this.#world.violate(`${id} is not stored as failed`);
  }

  async #readStream(streamed: {
    readonly process: Process;
    readonly answer: Answer;
    readonly conversation: KnownConversation;
    readonly from?: number;
    readonly key?: string | undefined;
    readonly replyId?: string;
  }): Promise<void> {
    const { process, answer, conversation, from = 0, key, replyId } = streamed;
    const { random } = this.#world;
    if (answer.body === null || answer.body instanceof Uint8Array)
      return this.#world.violate("there is no stream");
    const patience = random.chance(0.3) ? random.between(0, 4_000) : 100_000;
    const read = await this.#setting.reader.read({ process, stream: answer.body, from, replyId, patience });
    if (read.replyId === undefined) return;
    this.#known.noteMade(key, read.replyId);
    for (const id of read.ids) this.#known.reply(conversation, read.replyId).ids.add(id);
  }

  async #resume({ conversation, id, ids }: KnownReply): Promise<void> {
    const from = this.#world.random.pick([0, ...ids]);
    const process = this.#setting.processes.any();
    const headers = { "Last-Event-ID": String(from) };
    const path = `/conversations/${conversation.id}/messages/${id}/stream`;
    const answer = await this.#ask(process, "GET", path, { headers });
    if (!answer || !process) return;
    if (answer.status === 200) await this.#readStream({ process, answer, conversation, from, replyId: id });
    else if (answer.status === 404 && conversation.deletions > 0) return;
    else if (answer.status === 400 && isLost(this.#ledger.replies.get(id))) return;
    else if (answer.status !== 503)
      this.#world.violate(`resuming from ${from} was answered ${answer.status} ${answer.body}`);
  }

  async #cancel(reply: KnownReply): Promise<void> {
    const { conversation, id } = reply;
    reply.cancelTried = true;
    const process = this.#setting.processes.any();
    const path = `/conversations/${conversation.id}/messages/${id}/cancel`;
    const answer = await this.#ask(process, "POST", path);
    if (answer?.status === 200) {
      const message = dataOf<MessageResource>(answer);
      if (message.status === "in_progress") this.#world.violate("a cancelled reply is in progress");
      if (!process?.closing) await requireStored(this.#world, this.#ledger, message);
      this.#requireStopped(this.#ledger.replies.get(id)?.question.content);
    } else if (answer?.status === 404 ? conversation.deletions === 0 : answer && answer.status !== 503) {
      this.#world.violate(`a cancel was answered ${answer?.status}`);
    }
  }

  /** Once a client is told of a reply's end, its engine must have been stopped. */
  #requireStopped(content: string | undefined): void {
    const replies = [...this.#ledger.replies.values()];
    for (const run of this.#setting.engines.runs) {
      if (run.content === content && run.alive() && !run.settled && !run.signal.aborted) {
        const stored = replies.find(({ question }) => question.content === content);
        // A process whose reply another one ended learns of it at its next save.
        if (!isEndedElsewhere(stored) && !stored?.deleted && stored?.holder === run.alive) {
          this.#world.violate(`the engine continues with "${content}"`);
        }
      }
    }
  }

  /** A reply of a conversation, or a message without one, that another may go on from. */
  #anyPlaceIn(conversation: KnownConversation): string | undefined {
    const { replies, alone } = this.#known;
    const known = [
      ...[...replies.values()].flatMap((reply) => (reply.conversation === conversation ? reply.id : [])),
      ...[...alone].flatMap(([id, of]) => (of === conversation ? id : [])),
    ];
    return known[this.#world.random.between(0, known.length)];
  }

  /** Makes another branch the path, or another one answer, or both. */
  async #change(conversation: KnownConversation): Promise<void> {
    const { random } = this.#world;
    const lastMessageId = random.chance(0.5) ? this.#anyPlaceIn(conversation) : undefined;
    const answeredBy = random.pick([undefined, "twin", "person"] as const);
    if (lastMessageId === undefined && answeredBy === undefined) return;
    const body = { lastMessageId, answeredBy };
    const path = `/conversations/${conversation.id}`;
    const answer = await this.#ask(this.#setting.processes.any(), "PATCH", path, { body });
    if (answer?.status === 200) {
      const changed = dataOf<ConversationResource>(answer);
      if (lastMessageId !== undefined && changed.lastMessageId !== lastMessageId)
        this.#world.violate("another branch was chosen");
      if (answeredBy !== undefined && changed.answeredBy !== answeredBy)
        this.#world.violate("another one was chosen to answer");
    } else if (
      answer?.status === 404 ? conversation.deletions === 0 : answer && ![409, 503].includes(answer.status)
    ) {
      this.#world.violate(`a change was answered ${answer?.status} ${answer?.body}`);
    }
  }

  /** Erases a person, in whose conversations nothing is left then. */
  async #erase(): Promise<void> {
    const theirs = this.#known.conversations.filter(({ endUser }) => endUser === person);
    for (const conversation of theirs) conversation.deletions++;
    const gone = new Set(this.#ledger.gone); // of what another process has deleted, one learns at its next save
    const process = this.#setting.processes.any();
    this.#known.erasures.begun++;
    const answer = await this.#ask(process, "DELETE", `/end-users/${person}`);
    this.#known.erasures.ended++;
    if (answer?.status !== 200) return;
    for (const { id } of theirs) {
      if (!gone.has(id)) this.#requireDropped(id, process);
      if (!this.#ledger.gone.has(id)) this.#world.violate(`${id} is still there, whose person was erased`);
    }
  }

  async #remove(conversation: KnownConversation): Promise<void> {
    conversation.deletions++;
    const process = this.#setting.processes.any();
    const answer = await this.#ask(process, "DELETE", `/conversations/${conversation.id}`);
    if (answer?.status === 204) {
      this.#requireDropped(conversation.id, process);
      if (await this.#ledger.truth.getConversation({ owner: "owner" }, conversation.id))
        this.#world.violate("what was deleted is still there");
    } else if (answer?.status === 404 && conversation.deletions === 1) {
      this.#world.violate("a conversation is gone that nobody deleted");
    }
  }

  /**
   * A process that deletes a conversation must stop its own engine in it at once. That another process has ended the reply, or
   * goes on with it, it learns at its next save.
   */
  #requireDropped(conversationId: string, process: Process | undefined): void {
    for (const stored of this.#ledger.replies.values()) {
      const { conversationId: id, question, holder } = stored;
      if (isEndedElsewhere(stored) || holder !== process?.alive) continue;
      for (const run of this.#setting.engines.runs) {
        if (id !== conversationId || run.content !== question.content || run.alive !== process?.alive)
          continue;
        if (!run.settled && !run.signal.aborted)
          this.#world.violate(`the engine continues with "${run.content}", which was deleted`);
      }
    }
  }

  async #readHistory(conversation: KnownConversation): Promise<void> {
    const path = `/conversations/${conversation.id}/messages?limit=100`;
    const answer = await this.#ask(this.#setting.processes.any(), "GET", path);
    if (answer?.status !== 200) return;
    const messages = dataOf<MessageResource[]>(answer);
    for (const [index, { id, inReplyTo, after }] of messages.entries()) {
      if (after !== (messages[index - 1]?.id ?? null)) this.#world.violate(`${id} is out of order`);
      if (inReplyTo !== null) this.#known.reply(conversation, id);
    }
  }
}

/** What an engine wrote, as a store can keep it. */
function storable(written = ""): string {
  return written.toWellFormed().replaceAll("\0", "\ufffd");
}
