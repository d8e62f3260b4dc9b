/**
 * What one owner's clients were told before the server was killed, and whether it still holds afterwards.
 */

import assert from "node:assert/strict";
import type { ConversationResource, MessageResource } from "../../core/mod.ts";
import { type EventReader, readEvents } from "../support/event-reader.ts";
import { dataOf } from "../support/harness.ts";

/** What was found after a restart. */
export interface Verified {
  readonly acknowledged: number;
  /** Replies that were cut off, and went on. */
  readonly continued: number;
  /** Streams that were cut off, and were resumed up to the end. */
  readonly resumed: number;
}

export interface Journal {
  readonly owner: string;
  createKey(url: string, token: string): Promise<void>;
  /** Works as a client until the server dies. */
  work(url: string): Promise<void>;
  /** Resolves once a reply was accepted. */
  readonly busy: Promise<void>;
  /** From now on the server may be gone at any time. */
  stop(): void;
  /** Checks that the restarted server has everything that was acknowledged. Rejects if anything is amiss. */
  verify(url: string): Promise<Verified>;
}

/** A conversation as its client knows it. */
interface Known {
  readonly id: string;
  readonly twinId: "slow" | "echo";
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
  return Array.from({ length: 12 }, (_, index) => `${question}:${index} `).join("");
}

export function createJournal(owner: string): Journal {
  const known: Known[] = [];
  const unanswered = new Set<LastSend>();
  let secret = "";
  let stopped = false;
  let tellBusy = () => {};
  const busy = new Promise<void>((resolve) => {
    tellBusy = resolve;
  });

  function call(
    url: string,
    method: string,
    path: string,
    body?: object,
    headers: Record<string, string> = {},
  ): Promise<Response> {
    return fetch(`${url}/api/v1${path}`, {
      method,
      headers: { "X-API-Key": secret, ...(body && { "Content-Type": "application/json" }), ...headers },
      ...(body && { body: JSON.stringify(body) }),
    });
  }

  async function createConversation(url: string): Promise<Known> {
    const title = `title ${++count}`;
    const twinId = Math.random() < 0.3 ? "echo" : "slow";
    const { id } = await dataOf<ConversationResource>(
      await call(url, "POST", "/conversations", { twinId, title }),
    );
    const conversation: Known = {
      id,
      twinId,
      titles: [title],
      deleted: "no",
      ended: [],
      accepted: new Map(),
    };
    known.push(conversation);
    return conversation;
  }

  async function send(url: string, conversation: Known, streamed: boolean): Promise<void> {
    const path = `/conversations/${conversation.id}/messages`;
    const sending = { path, content: `q${++count}`, key: `key-${count}` };
    unanswered.add(sending);
    const answer = await post(url, sending, streamed);
    if (streamed) await follow(conversation, answer);
    else conversation.ended.push(await dataOf<MessageResource>(answer));
    unanswered.delete(sending);
  }

  function post(url: string, { path, content, key }: LastSend, streamed = false): Promise<Response> {
    return call(url, "POST", streamed ? `${path}/stream` : path, { content }, { "Idempotency-Key": key });
  }

  async function follow(conversation: Known, answer: Response): Promise<void> {
    const stream = readEvents(answer);
    const { data } = await stream.next();
    assert.ok(data.type === "progress" && data.progress.stage === "accepted");
    const replyId = String(data.progress.messageId);
    conversation.accepted.set(replyId, "");
    tellBusy();
    conversation.ended.push(await readToEnd(conversation, replyId, stream));
    conversation.accepted.delete(replyId);
  }

  /** Notes the text that arrives, and returns the reply at its end. */
  async function readToEnd(
    { accepted }: Known,
    replyId: string,
    stream: EventReader,
  ): Promise<MessageResource> {
    for (;;) {
      const { data } = await stream.next();
      const text = accepted.get(replyId) ?? "";
      if (data.type === "delta") accepted.set(replyId, text + data.content);
      else if (data.type === "complete") return data.message;
      else if (data.type === "error") throw new Error(`A reply failed: ${data.error.code}`);
      else if (data.progress.stage === "continued") {
        accepted.set(replyId, text.slice(0, Number(data.progress.from)));
      }
    }
  }

  /** Follows the streams that were cut off to their ends. Returns how many there were. */
  async function resumeAll(url: string, conversation: Known): Promise<number> {
    const cutOff = [...conversation.accepted];
    for (const [replyId, text] of cutOff) {
      const path = `/conversations/${conversation.id}/messages/${replyId}/stream`;
      const answer = await call(url, "GET", path, undefined, { "Last-Event-ID": String(text.length) });
      if (answer.status === 404 && conversation.deleted === "asked") continue;
      const message = await readToEnd(conversation, replyId, readEvents(answer));
      assert.equal(conversation.accepted.get(replyId), message.content, `${replyId} has a different text`);
      conversation.ended.push(message);
    }
    return cutOff.length;
  }

  /** Waits for the ends of replies that were begun without an acknowledgement. */
  async function settle(url: string): Promise<void> {
    for (const { id, status } of await listAll(url)) {
      if (status === "idle") continue;
      const path = `/conversations/${id}/messages`;
      const [reply] = await dataOf<MessageResource[]>(await call(url, "GET", `${path}?order=desc&limit=1`));
      await readEvents(await call(url, "GET", `${path}/${reply?.id}/stream`)).rest();
    }
  }

  async function rename(url: string, conversation: Known): Promise<void> {
    const title = `title ${++count}`;
    conversation.titles.push(title);
    await dataOf(await call(url, "PATCH", `/conversations/${conversation.id}`, { title }));
    conversation.titles = [title];
  }

  async function remove(url: string, conversation: Known): Promise<void> {
    conversation.deleted = "asked";
    const { status } = await call(url, "DELETE", `/conversations/${conversation.id}`);
    assert.equal(status, 204);
    conversation.deleted = "yes";
  }

  async function workOn(url: string): Promise<void> {
    const conversation = await createConversation(url);
    const rounds = 1 + Math.floor(Math.random() * 3);
    for (let round = 0; round < rounds; round++) await send(url, conversation, Math.random() < 0.7);
    if (Math.random() < 0.5) await rename(url, conversation);
    if (Math.random() < 0.2) await remove(url, conversation);
  }

  async function listAll(url: string): Promise<ConversationResource[]> {
    const found: ConversationResource[] = [];
    for (let page = 1; ; page++) {
      const list = (await (await call(url, "GET", `/conversations?limit=100&page=${page}`)).json()) as {
        data: ConversationResource[];
        pagination: { hasMore: boolean };
      };
      found.push(...list.data);
      if (!list.pagination.hasMore) return found;
    }
  }

  function verifyConversation(conversation: Known, found: readonly ConversationResource[]): boolean {
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

  async function verifyMessages(url: string, { id, twinId, ended }: Known): Promise<number> {
    const messages = await dataOf<MessageResource[]>(
      await call(url, "GET", `/conversations/${id}/messages?limit=100`),
    );
    for (const message of ended) {
      assert.deepEqual(
        messages.filter((one) => one.id === message.id),
        [message],
        `${message.id} is not there exactly once, as it was acknowledged`,
      );
    }
    const questions = messages.filter(({ role }) => role === "user").map(({ content }) => content);
    assert.equal(new Set(questions).size, questions.length, "a question was stored twice");
    return messages.filter((message) => verifyReply(twinId, message, messages)).length;
  }

  /** Whether a message is a reply that the crash cut off, and that went on. */
  function verifyReply(
    twinId: Known["twinId"],
    message: MessageResource,
    messages: readonly MessageResource[],
  ): boolean {
    if (message.role === "user") return false;
    const question = messages.find(({ id }) => id === message.inReplyTo);
    const { content = "" } = question ?? {};
    const whole = twinId === "echo" ? content : answerTo(content);
    assert.deepEqual(
      [message.status, message.content],
      ["completed", whole],
      `${message.id} is not its answer`,
    );
    assert.ok(message.attempt === 1 || message.attempt === 2);
    return message.attempt === 2;
  }

  /** Repeats an unanswered send with the same key: it must be stored only once. */
  async function retry(url: string, sending: LastSend): Promise<void> {
    const answer = await post(url, sending);
    const replayed = answer.headers.get("idempotency-replayed") === "true";
    if (answer.status === 200) assert.equal((await dataOf<MessageResource>(answer)).status, "completed");
    else
      assert.ok(
        answer.status === 404 || (answer.status === 503 && replayed),
        `a retry was answered ${answer.status}`,
      );
    const messages = await call(url, "GET", `${sending.path}?limit=100`);
    if (messages.status === 404) return;
    const same = (await dataOf<MessageResource[]>(messages)).filter(
      ({ role, content }) => role === "user" && content === sending.content, // an echo repeats it
    );
    assert.equal(same.length, 1, "a retried question was stored twice");
  }

  return {
    owner,
    busy,
    async createKey(url, token) {
      const answer = await fetch(`${url}/api/v1/auth/api-keys`, {
        method: "POST",
        headers: { Authorization: `Bearer ${token}`, "Content-Type": "application/json" },
        body: JSON.stringify({ name: "crash", scope: "full_access" }),
      });
      secret = (await dataOf<{ key: string }>(answer)).key;
    },
    async work(url) {
      try {
        while (!stopped) await workOn(url);
      } catch (error) {
        // The kill may cut off anything, but nothing may fail before it.
        if (!stopped) throw error;
      }
    },
    stop() {
      stopped = true;
    },
    async verify(url) {
      let [continued, resumed] = [0, 0];
      for (const conversation of known) resumed += await resumeAll(url, conversation);
      await settle(url);
      const found = await listAll(url);
      let acknowledged = 1; // the key, without which no request is answered
      for (const conversation of known) {
        acknowledged += 1 + conversation.ended.length;
        if (verifyConversation(conversation, found)) continued += await verifyMessages(url, conversation);
      }
      for (const sending of unanswered) await retry(url, sending);
      return { acknowledged, continued, resumed };
    },
  };
}
