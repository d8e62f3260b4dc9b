/**
 * What clients were told before the server was killed, and whether it still holds afterwards.
 */

import assert from "node:assert/strict";
import type { ConversationResource, MessageResource } from "../../core/wire/schemas.ts";
import { type EventReader, readEvents } from "../support/event-reader.ts";
import { createGate } from "../support/gate.ts";
import { dataOf, jsonRequest } from "../support/harness.ts";

/** What was found after a restart. */
export interface Verified {
  readonly acknowledged: number;
  /** Replies that were cut off, and went on. */
  readonly continued: number;
  /** Streams that were cut off, and were resumed up to the end. */
  readonly resumed: number;
  /** Replies that were cut off after they had called a tool, and ended. */
  readonly interrupted: number;
}

/** A conversation as its client knows it. */
interface Known {
  readonly id: string;
  readonly twinId: "slow" | "echo" | "clerk";
  /** The titles that it may have: the last one acknowledged, and one in flight. */
  titles: (string | null)[];
  /** `asked`: the deletion was in flight, with an unknown outcome. */
  deleted: "no" | "asked" | "yes";
  /** The messages whose end was acknowledged. */
  readonly ended: MessageResource[];
  /** The replies that were accepted, with as much of their text as was received. */
  readonly accepted: Map<string, string>;
}

/** A send that may have been in flight, and what it takes to send it again. */
interface LastSend {
  readonly path: string;
  readonly content: string;
  readonly key: string;
}

let count = 0;

/** What the model answers: it follows from the question, so that any part of it can be recognized. */
export function answerTo(question: string): string {
  return partsOf(question).join("");
}

/** The same, in parts: the clerk calls a tool between them. */
export function partsOf(question: string): readonly string[] {
  const words = (from: number) => [0, 1, 2, 3].map((at) => `${question}:${from + at} `).join("");
  return [words(0), words(4), words(8)];
}

/** The inputs of these calls. */
export function callsOf(question: string): readonly number[] {
  return [1, 2].map((call) => Number(question.slice(1)) * 10 + call);
}

/** One owner's clients: what they were told before the server was killed, and whether it still holds afterwards. */
export class Journal {
  readonly owner: string;
  readonly #known: Known[] = [];
  readonly #unanswered = new Set<LastSend>();
  readonly #busy = createGate();
  #secret = "";
  #stopped = false;

  constructor(owner: string) {
    this.owner = owner;
  }

  /** Resolves once a reply was accepted. */
  get busy(): Promise<void> {
    return this.#busy.opened;
  }

  async createKey(url: string, token: string): Promise<void> {
    const made = { name: "crash", scope: "full_access" };
    const init = { method: "POST", ...jsonRequest(token, made) };
    const answer = await fetch(`${url}/api/v1/auth/api-keys`, init);
    this.#secret = (await dataOf<{ key: string }>(answer)).key;
  }

  /** Works as a client until the server dies. */
  async work(url: string): Promise<void> {
    try {
      while (!this.#stopped) await this.#workOn(url);
    } catch (error) {
      // The kill may cut off anything, but nothing may fail before it.
      if (!this.#stopped) throw error;
    }
  }

  /** From now on the server may be gone at any time. */
  stop(): void {
    this.#stopped = true;
  }

  /**
   * Checks that the restarted server has everything that was acknowledged. Rejects if anything is amiss.
   * `runs`: how often the tool ran, by its input.
   */
  async verify(url: string, runs: ReadonlyMap<number, number>): Promise<Verified> {
    let [continued, resumed, interrupted] = [0, 0, 0];
    for (const conversation of this.#known) resumed += await this.#resumeAll(url, conversation);
    await this.#settle(url);
    const found = await this.#listAll(url);
    let acknowledged = 1; // the key, without which no request is answered
    for (const conversation of this.#known) {
      acknowledged += 1 + conversation.ended.length;
      if (!isThere(conversation, found)) continue;
      for (const end of await this.#verifyMessages(url, conversation, runs)) {
        if (end === "continued") continued++;
        if (end === "interrupted") interrupted++;
      }
    }
    for (const sending of this.#unanswered) await this.#retry(url, sending);
    const repeated = [...runs].filter(([, count]) => count !== 1);
    assert.deepEqual(repeated, [], "a call of a tool ran twice");
    return { acknowledged, continued, resumed, interrupted };
  }

  #call(
    url: string,
    method: string,
    path: string,
    body?: object,
    headers: Record<string, string> = {},
  ): Promise<Response> {
    return fetch(`${url}/api/v1${path}`, { method, ...jsonRequest(this.#secret, body, headers) });
  }

  async #createConversation(url: string): Promise<Known> {
    const title = `title ${++count}`;
    const twinId = (["echo", "slow", "clerk"] as const)[Math.floor(Math.random() * 3)] ?? "slow";
    const { id } = await dataOf<ConversationResource>(
      await this.#call(url, "POST", "/conversations", { twinId, title }),
    );
    const conversation: Known = {
      id,
      twinId,
      titles: [title],
      deleted: "no",
      ended: [],
      accepted: new Map(),
    };
    this.#known.push(conversation);
    return conversation;
  }

  async #send(url: string, conversation: Known, streamed: boolean): Promise<void> {
    const path = `/conversations/${conversation.id}/messages`;
    const sending = { path, content: `q${++count}`, key: `key-${count}` };
    this.#unanswered.add(sending);
    const answer = await this.#post(url, sending, streamed);
    if (streamed) await this.#follow(conversation, answer);
    else conversation.ended.push(await dataOf<MessageResource>(answer));
    this.#unanswered.delete(sending);
  }

  #post(url: string, { path, content, key }: LastSend, streamed = false): Promise<Response> {
    return this.#call(
      url,
      "POST",
      streamed ? `${path}/stream` : path,
      { content },
      { "Idempotency-Key": key },
    );
  }

  async #follow(conversation: Known, answer: Response): Promise<void> {
    const stream = readEvents(answer);
    const { data } = await stream.next();
    assert.ok(data.type === "progress" && data.progress.stage === "accepted");
    const replyId = String(data.progress.messageId);
    conversation.accepted.set(replyId, "");
    this.#busy.open();
    const message = await readToEnd(conversation, replyId, stream);
    assert.ok(message, "a reply was interrupted before the crash");
    conversation.ended.push(message);
    conversation.accepted.delete(replyId);
  }

  /** Follows the streams that were cut off to their ends. Returns how many there were. */
  async #resumeAll(url: string, conversation: Known): Promise<number> {
    const cutOff = [...conversation.accepted];
    for (const [replyId, text] of cutOff) {
      const path = `/conversations/${conversation.id}/messages/${replyId}/stream`;
      const answer = await this.#call(url, "GET", path, undefined, { "Last-Event-ID": String(text.length) });
      if (answer.status === 404 && conversation.deleted === "asked") continue;
      const message = await readToEnd(conversation, replyId, readEvents(answer));
      if (!message) continue;
      assert.equal(conversation.accepted.get(replyId), message.content, `${replyId} has a different text`);
      conversation.ended.push(message);
    }
    return cutOff.length;
  }

  /** Waits for the ends of replies that were begun without an acknowledgement. */
  async #settle(url: string): Promise<void> {
    for (const { id, status } of await this.#listAll(url)) {
      if (status === "idle") continue;
      const path = `/conversations/${id}/messages`;
      const [reply] = await dataOf<MessageResource[]>(
        await this.#call(url, "GET", `${path}?order=desc&limit=1`),
      );
      await readEvents(await this.#call(url, "GET", `${path}/${reply?.id}/stream`)).rest();
    }
  }

  async #rename(url: string, conversation: Known): Promise<void> {
    const title = `title ${++count}`;
    conversation.titles.push(title);
    await dataOf(await this.#call(url, "PATCH", `/conversations/${conversation.id}`, { title }));
    conversation.titles = [title];
  }

  async #remove(url: string, conversation: Known): Promise<void> {
    conversation.deleted = "asked";
    const { status } = await this.#call(url, "DELETE", `/conversations/${conversation.id}`);
    assert.equal(status, 204);
    conversation.deleted = "yes";
  }

  async #workOn(url: string): Promise<void> {
    const conversation = await this.#createConversation(url);
    const rounds = 1 + Math.floor(Math.random() * 3);
    for (let round = 0; round < rounds; round++) await this.#send(url, conversation, Math.random() < 0.7);
    if (Math.random() < 0.5) await this.#rename(url, conversation);
    if (Math.random() < 0.2) await this.#remove(url, conversation);
  }

  async #listAll(url: string): Promise<ConversationResource[]> {
    const found: ConversationResource[] = [];
    for (let page = 1; ; page++) {
      const list = (await (await this.#call(url, "GET", `/conversations?limit=100&page=${page}`)).json()) as {
        data: ConversationResource[];
        pagination: { hasMore: boolean };
      };
      found.push(...list.data);
      if (!list.pagination.hasMore) return found;
    }
  }

  /** Returns how the replies ended. */
  async #verifyMessages(
    url: string,
    { id, twinId, ended }: Known,
    runs: ReadonlyMap<number, number>,
  ): Promise<ReturnType<typeof endOf>[]> {
    const messages = await dataOf<MessageResource[]>(
      await this.#call(url, "GET", `/conversations/${id}/messages?limit=100`),
    );
    for (const message of ended) {
      assert.deepEqual(
        messages.filter((one) => one.id === message.id),
        [message],
        `${message.id} is not there exactly once, as it was acknowledged`,
      );
    }
    const contents = new Map(
      messages.filter(({ role }) => role === "user").map(({ id, content }) => [id, content]),
    );
    const replies = messages.filter(({ role }) => role === "assistant");
    assert.equal(new Set(contents.values()).size, replies.length, "a question was stored twice");
    return replies.map((reply) => endOf(twinId, reply, contents.get(reply.inReplyTo ?? "") ?? "", runs));
  }

  /** Repeats an unanswered send with the same key: it must be stored only once. */
  async #retry(url: string, sending: LastSend): Promise<void> {
    const answer = await this.#post(url, sending);
    const replayed = answer.headers.get("idempotency-replayed") === "true";
    if (answer.status === 200) assert.equal((await dataOf<MessageResource>(answer)).status, "completed");
    else
      assert.ok(
        answer.status === 404 || (answer.status === 503 && replayed),
        `a retry was answered ${answer.status}`,
      );
    const messages = await this.#call(url, "GET", `${sending.path}?limit=100`);
    if (messages.status === 404) return;
    const same = (await dataOf<MessageResource[]>(messages)).filter(
      ({ role, content }) => role === "user" && content === sending.content, // an echo repeats it
    );
    assert.equal(same.length, 1, "a retried question was stored twice");
  }
}

/** Notes the text that arrives, and returns the reply at its end. Undefined: it was interrupted, after it had called a tool. */
async function readToEnd(
  { accepted, twinId }: Known,
  replyId: string,
  stream: EventReader,
): Promise<MessageResource | undefined> {
  for (;;) {
    const { data } = await stream.next();
    const text = accepted.get(replyId) ?? "";
    if (data.type === "delta") accepted.set(replyId, text + data.content);
    else if (data.type === "complete") return data.message;
    else if (data.type === "error") {
      assert.deepEqual([data.error.code, twinId], ["interrupted", "clerk"]);
      return undefined;
    } else if (data.progress.stage === "continued") {
      accepted.set(replyId, text.slice(0, Number(data.progress.from)));
    }
  }
}

/** Whether a conversation is there, as it should or may be. */
function isThere(conversation: Known, found: readonly ConversationResource[]): boolean {
  const { id, titles, deleted } = conversation;
  const [record, ...copies] = found.filter((one) => one.id === id);
  assert.deepEqual(copies, [], `${id} is listed more than once`);
  if (deleted === "yes") assert.equal(record, undefined, `${id} was deleted, but is still there`);
  if (deleted === "no") assert.ok(record, `${id} was acknowledged, but is gone`);
  if (!record) return false;
  assert.ok(titles.includes(record.title), `${id} is called ${record.title}, not ${titles}`);
  assert.equal(record.status, "idle", `${id} is busy after the restart`);
  return true;
}

/** How a reply ended: as if nothing had happened, or otherwise, after the crash had cut it off. */
function endOf(
  twinId: Known["twinId"],
  { id, status, content, error, attempt }: MessageResource,
  question: string,
  runs: ReadonlyMap<number, number>,
): "whole" | "continued" | "interrupted" {
  const answer = twinId === "clerk" ? partsOf(question).join("\n\n") : answerTo(question); // calls stand between paragraphs
  const whole = twinId === "echo" ? question : answer;
  if (twinId === "clerk" && error?.code === "interrupted") {
    assert.ok(whole.startsWith(content), `${id} is no part of its answer`);
    return "interrupted";
  }
  assert.deepEqual([status, content], ["completed", whole], `${id} is not its answer`);
  if (twinId === "clerk")
    assert.ok(
      callsOf(question).every((call) => runs.has(call)),
      `${id} ran no tool`,
    );
  assert.ok(attempt === 1 || attempt === 2);
  return attempt === 2 ? "continued" : "whole";
}
