/**
 * The simulation's clients: they send, stream, resume, cancel, retry and delete, and check everything that the
 * service answers.
 */

import type { Answer, MessageResource } from "../../core/mod.ts";
import { createAsk, dataOf, errorOf, keyHeader } from "./asking.ts";
import type { EngineHouse } from "./engine.ts";
import type { Process, Processes } from "./processes.ts";
import type { Read, Reader } from "./reader.ts";
import type { Ledger, StoredReply } from "./store.ts";
import type { World } from "./world.ts";

/** What clients know of a conversation. */
interface KnownConversation {
  readonly id: string;
  /** How often a client tried to delete it. */
  deletions: number;
}

/** What clients know of a reply. */
interface KnownReply {
  readonly conversation: KnownConversation;
  readonly id: string;
  /** Offsets that some stream has sent as the id of an event. */
  readonly ids: Set<number>;
  cancelTried: boolean;
}

/** A message that a client sends, perhaps more than once. */
interface Sending {
  readonly conversation: KnownConversation;
  readonly content: string;
  readonly key: string | undefined;
}

export interface Clients {
  /** Acts as one client for a number of steps. */
  act(steps: number): Promise<void>;
  /** Checks what must hold once everything has come to rest. */
  checkAtEnd(): void;
}

export interface ClientSetting {
  readonly world: World;
  readonly ledger: Ledger;
  readonly engines: EngineHouse;
  readonly processes: Processes;
  readonly reader: Reader;
  readonly apiKey: string;
  readonly onDisconnect: "continue" | "cancel";
}

export function createClients(setting: ClientSetting): Clients {
  const { world, ledger, engines, processes, reader, apiKey } = setting;
  const { random } = world;
  const ask = createAsk(world, apiKey);
  const conversations: KnownConversation[] = [];
  const replies = new Map<string, KnownReply>();
  /** The reply, or conversation, that an idempotency key stands for. */
  const made = new Map<string, string>();
  const refused = new Set<string>();
  let count = 0;

  function known(conversation: KnownConversation, id: string): KnownReply {
    const reply = replies.get(id) ?? { conversation, id, ids: new Set([0]), cancelTried: false };
    replies.set(id, reply);
    return reply;
  }

  /** One key must create only one thing. */
  function noteMade(key: string | undefined, id: string): void {
    if (key === undefined) return;
    const before = made.get(key) ?? id;
    if (before !== id) world.violate(`the key ${key} created ${before}, and then ${id}`);
    made.set(key, id);
  }

  async function createConversation(): Promise<void> {
    const key = random.chance(0.5) ? `key ${++count}` : undefined;
    const body = { twinId: "twin", title: `conversation ${++count}` };
    for (let tries = key === undefined ? 1 : 4; tries > 0; tries--) {
      const answer = await ask(processes.any(), "POST", "/conversations", { body, headers: keyHeader(key) });
      if (answer?.status === 201) {
        const { id } = dataOf<{ id: string }>(answer);
        noteMade(key, id);
        if (!(await ledger.truth.getConversation({ owner: "owner" }, id)))
          world.violate(`${id} was created, but is not there`);
        if (!conversations.some((conversation) => conversation.id === id)) {
          conversations.push({ id, deletions: 0 });
        }
        return;
      }
      if (answer && answer.status !== 503) world.violate(`a creation was answered ${answer.status}`);
      await world.pause(random.between(0, 1_000));
    }
  }

  async function send(conversation: KnownConversation): Promise<void> {
    const sending: Sending = {
      conversation,
      content: `question ${++count}`,
      key: random.chance(0.6) ? `key ${++count}` : undefined,
    };
    if (sending.key === undefined) return sendOnce(sending);
    const attempts = random.between(1, 4);
    if (random.chance(0.3)) {
      await Promise.all(Array.from({ length: attempts }, () => sendOnce(sending)));
    } else {
      for (let attempt = 0; attempt < attempts; attempt++) {
        await sendOnce(sending);
        await world.pause(random.between(0, 2_000));
      }
    }
  }

  async function sendOnce(sending: Sending): Promise<void> {
    const { conversation, content, key } = sending;
    const path = `/conversations/${conversation.id}/messages`;
    const options = { body: { content }, headers: keyHeader(key) };
    const process = processes.any();
    const streamed = random.chance(0.6);
    const patience = random.chance(0.2) ? { patience: random.between(0, 3_000) } : {};
    const answer = streamed
      ? await ask(process, "POST", `${path}/stream`, options)
      : await ask(process, "POST", path, { ...options, ...patience });
    if (!answer || !process) return;
    if (answer.status === 200 && streamed) await readStream(process, answer, conversation, 0, key);
    else if (answer.status === 200) await noteMessage(sending, dataOf(answer));
    else noteRefusal(sending, answer, process);
  }

  async function noteMessage({ conversation, key }: Sending, message: MessageResource): Promise<void> {
    known(conversation, message.id);
    noteMade(key, message.id);
    if (message.status === "failed") world.violate("a failed reply was sent as a success");
    await reader.requireStored(message);
  }

  function noteRefusal({ conversation, content, key }: Sending, answer: Answer, process: Process): void {
    const { code, details } = errorOf(answer);
    switch (code) {
      case "conversation_busy":
        if (!ledger.replies.has(details?.messageId ?? ""))
          world.violate("busy with a reply that does not exist");
        known(conversation, details?.messageId ?? "");
        if (key === undefined) refused.add(content);
        return;
      case "conversation_not_found":
      case "message_not_found":
        if (conversation.deletions === 0) world.violate("a conversation is gone that nobody deleted");
        return;
      case "model_error":
      case "model_timeout":
      case "shutting_down":
        if (details?.messageId) noteFailure(conversation, key, details.messageId, code, process);
        else if (code !== "shutting_down") world.violate(`${code} without the reply's id`);
        return;
      case "unavailable":
        return;
      default:
        world.violate(`a send was answered ${answer.status} ${answer.body}`);
    }
  }

  function noteFailure(
    conversation: KnownConversation,
    key: string | undefined,
    id: string,
    code: string,
    process: Process,
  ): void {
    known(conversation, id);
    noteMade(key, id);
    const stored = ledger.replies.get(id) ?? world.violate(`nobody began the reply ${id}`);
    const expected = code === "shutting_down" ? "interrupted" : code;
    if (stored.end?.error?.code === expected || stored.deleted) return;
    // A process that stops releases a send that may be a repeated one, whatever becomes of the reply.
    if (process.closing && (key !== undefined || !stored.end?.error)) return;
    // A process that ends without its store gives up, and says so.
    if (code !== "shutting_down" || ledger.lastTrouble === 0) world.violate(`${id} is not stored as failed`);
  }

  async function readStream(
    process: Process,
    answer: Answer,
    conversation: KnownConversation,
    from: number,
    key?: string,
    replyId?: string,
  ): Promise<Read | undefined> {
    if (answer.body === null) return world.violate("there is no stream");
    const patience = random.chance(0.3) ? random.between(0, 4_000) : 100_000;
    const read = await reader.read({ process, stream: answer.body, from, replyId, patience });
    if (read.replyId === undefined) return read;
    noteMade(key, read.replyId);
    for (const id of read.ids) known(conversation, read.replyId).ids.add(id);
    return read;
  }

  async function resume(reply: KnownReply): Promise<void> {
    const { conversation, id, ids } = reply;
    const from = random.pick([0, ...ids]);
    const process = processes.any();
    const headers = { "Last-Event-ID": String(from) };
    const path = `/conversations/${conversation.id}/messages/${id}/stream`;
    const answer = await ask(process, "GET", path, { headers });
    if (!answer || !process) return;
    if (answer.status === 200) await readStream(process, answer, conversation, from, undefined, id);
    else if (answer.status === 404 && conversation.deletions > 0) return;
    else if (answer.status === 400 && isLost(ledger.replies.get(id))) return;
    else if (answer.status !== 503)
      world.violate(`resuming from ${from} was answered ${answer.status} ${answer.body}`);
  }

  async function cancel(reply: KnownReply): Promise<void> {
    const { conversation, id } = reply;
    reply.cancelTried = true;
    const process = processes.any();
    const answer = await ask(process, "POST", `/conversations/${conversation.id}/messages/${id}/cancel`);
    if (answer?.status === 200) {
      const message = dataOf<MessageResource>(answer);
      if (message.status === "in_progress") world.violate("a cancelled reply is in progress");
      if (!process?.closing) await reader.requireStored(message);
      requireStopped(ledger.replies.get(id)?.question.content);
    } else if (answer?.status === 404 ? conversation.deletions === 0 : answer && answer.status !== 503) {
      world.violate(`a cancel was answered ${answer?.status}`);
    }
  }

  /** Once a client is told of a reply's end, its engine must have been stopped. */
  function requireStopped(content: string | undefined): void {
    for (const run of engines.runs) {
      if (run.content === content && run.alive() && !run.settled && !run.signal.aborted) {
        const stored = [...ledger.replies.values()].find(({ question }) => question.content === content);
        // A process whose lease ran out, and whose reply another one ended, learns of it at its next save.
        const endedElsewhere = stored?.end?.leaseExpiredBefore !== undefined;
        if (!endedElsewhere && !stored?.deleted && stored?.holder === run.alive) {
          world.violate(`the engine continues with "${content}"`);
        }
      }
    }
  }

  /** A process that deletes a conversation must stop its own engine in it at once. */
  function requireDropped(conversationId: string, process: Process | undefined): void {
    for (const { conversationId: id, question } of ledger.replies.values()) {
      for (const run of engines.runs) {
        if (id !== conversationId || run.content !== question.content || run.alive !== process?.alive)
          continue;
        if (!run.settled && !run.signal.aborted)
          world.violate(`the engine continues with "${run.content}", which was deleted`);
      }
    }
  }

  async function remove(conversation: KnownConversation): Promise<void> {
    conversation.deletions++;
    const process = processes.any();
    const answer = await ask(process, "DELETE", `/conversations/${conversation.id}`);
    if (answer?.status === 204) {
      requireDropped(conversation.id, process);
      if (await ledger.truth.getConversation({ owner: "owner" }, conversation.id))
        world.violate("what was deleted is still there");
    } else if (answer?.status === 404 && conversation.deletions === 1) {
      world.violate("a conversation is gone that nobody deleted");
    }
  }

  async function readHistory(conversation: KnownConversation): Promise<void> {
    const answer = await ask(processes.any(), "GET", `/conversations/${conversation.id}/messages?limit=100`);
    if (answer?.status !== 200) return;
    const messages = dataOf<MessageResource[]>(answer);
    for (const [index, { id, role, inReplyTo }] of messages.entries()) {
      if (role === "assistant" && inReplyTo !== messages[index - 1]?.id)
        world.violate(`${id} is out of order`);
      if (role === "assistant") known(conversation, id);
    }
  }

  async function step(): Promise<void> {
    const conversation = conversations[random.between(0, conversations.length - 1)];
    if (!conversation || random.chance(0.1)) return createConversation();
    const reply = [...replies.values()][random.between(0, replies.size - 1)];
    const dice = random.next();
    if (dice < 0.5 || !reply) return send(conversation);
    if (dice < 0.75) return resume(reply);
    if (dice < 0.87) return cancel(reply);
    if (dice < 0.91) return remove(conversation);
    return readHistory(conversation);
  }

  return {
    async act(steps) {
      for (let rest = steps; rest > 0; rest--) {
        await step();
        await world.pause(random.pick([0, 0, 50, 500, 2_000]));
      }
    },
    checkAtEnd() {
      for (const stored of ledger.replies.values()) {
        const { content } = stored.question;
        if (refused.has(content)) world.violate(`"${content}" was refused, but is stored`);
        const wished = replies.get(stored.id)?.cancelTried || setting.onDisconnect === "cancel";
        if (stored.end?.status === "cancelled" && !wished)
          world.violate(`${stored.id} is cancelled, but nobody cancelled it`);
        if (stored.end?.error?.code === "interrupted" && !processes.disturbed && ledger.lastTrouble === 0) {
          world.violate(`${stored.id} was interrupted for no reason`);
        }
        const runs = engines.runs.filter((found) => found.content === content);
        const isWritten = runs.some(
          ({ partial, written }) => partial + storable(written) === stored.end?.content,
        );
        if (stored.end?.status === "completed" && !isWritten) {
          world.violate(`${stored.id} is not what its engine wrote`);
        }
      }
    },
  };
}

/** Whether text that a dead process had sent is lost without a word: the reply was cancelled, and never taken over. */
function isLost(reply: StoredReply | undefined): boolean {
  return reply?.end?.leaseExpiredBefore !== undefined && reply.attempt === 1;
}

/** What an engine wrote, as a store can keep it. */
function storable(written = ""): string {
  return written.toWellFormed().replaceAll("\0", "\ufffd");
}
