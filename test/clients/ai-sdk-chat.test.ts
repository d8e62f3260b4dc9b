/**
 * The AI SDK's own `AbstractChat`, which `useChat` is made of, with the client as its transport: the cases of the SDK's tests
 * of chats that a transport has a part in, played by the service.
 */

import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import type * as Package from "ai";
import { createChatTransport, followSaid, toUIMessages } from "../../client/ai-sdk.ts";
import { TwinClient } from "../../client/mod.ts";
import { createTwinList } from "../../core/mod.ts";
import { openBreakingProxy } from "../client/breaking-proxy.ts";
import { openCutOff } from "../replies/cut-off.ts";
import { type Chat, openChat } from "../support/chat.ts";
import { createManualClock } from "../support/clock.ts";
import { newTwin, overSocket } from "../support/harness.ts";
import type { Run } from "../support/scripted-engine.ts";
import { skip } from "./packages.ts";

type Message = Package.UIMessage;

/** What a page would show, and a way to wait for it. */
class Shown implements Package.ChatState<Message> {
  messages: Message[];
  error: Error | undefined;
  #status: Package.ChatStatus = "ready";
  readonly #waiting = new Set<() => void>();

  constructor(messages: Message[]) {
    this.messages = messages;
  }

  get status(): Package.ChatStatus {
    return this.#status;
  }
  set status(status: Package.ChatStatus) {
    this.#status = status;
    this.#changed();
  }

  readonly snapshot = <Value>(value: Value): Value => structuredClone(value);
  readonly pushMessage = (message: Message): void => this.#show([...this.messages, message]);
  readonly popMessage = (): void => this.#show(this.messages.slice(0, -1));
  readonly replaceMessage = (index: number, message: Message): void =>
    this.#show(this.messages.with(index, structuredClone(message)));

  /** Resolves once the page shows these words, message by message. */
  shows(...words: string[]): Promise<void> {
    return this.#until(() => wordsOf(this.messages).join("|") === words.join("|"));
  }

  /** Resolves once the page has this status. */
  becomes(status: Package.ChatStatus): Promise<void> {
    return this.#until(() => this.#status === status);
  }

  #until(isSo: () => boolean): Promise<void> {
    return new Promise((resolve) => {
      const look = () => {
        if (!isSo()) return;
        this.#waiting.delete(look);
        resolve();
      };
      this.#waiting.add(look);
      look();
    });
  }

  #show(messages: Message[]): void {
    this.messages = messages;
    this.#changed();
  }

  #changed(): void {
    for (const look of [...this.#waiting]) look();
  }
}

interface PageOptions extends Pick<Package.ChatInit<Message>, "sendAutomaticallyWhen"> {
  readonly url?: string;
  readonly fetch?: typeof globalThis.fetch;
}

function wordsOf(messages: readonly Message[]): string[] {
  return messages.map(({ parts }) => parts.map((part) => (part.type === "text" ? part.text : "")).join(""));
}

describe("a chat of the AI SDK", { skip, timeout: 300_000 }, () => {
  let ai: typeof Package;
  before(async () => {
    ai = await import("ai");
  });

  /** A chat in a page, with these messages, and how its replies ended. */
  function openPage(
    { fixture, key, conversationId }: Chat,
    messages: Message[] = [],
    { url = fixture.url, fetch, sendAutomaticallyWhen }: PageOptions = {},
  ) {
    class Page extends ai.AbstractChat<Message> {}
    const state = new Shown(messages);
    const client = new TwinClient({
      baseUrl: url || "http://twins.test",
      apiKey: key,
      ...(fetch && { fetch }),
    });
    const ends: { isAbort: boolean; isDisconnect: boolean; isError: boolean }[] = [];
    const page = new Page({
      id: conversationId,
      state,
      transport: createChatTransport(client, { twinId: "scripted" }),
      ...(sendAutomaticallyWhen && { sendAutomaticallyWhen }),
      onFinish: ({ isAbort, isDisconnect, isError }) => void ends.push({ isAbort, isDisconnect, isError }),
    });
    /** The messages that a reload shows. */
    async function reloaded(): Promise<Message[]> {
      return toUIMessages((await client.messages.list(conversationId)).data);
    }
    return { page, state, ends, client, reloaded };
  }

  type Page = ReturnType<typeof openPage>;

  /** Asks, and has it answered. */
  async function ask({ page }: Page, chat: Chat, question: string, says: string, messageId?: string) {
    const asked = page.sendMessage({ text: question, ...(messageId !== undefined && { messageId }) });
    await answer(await chat.engine.next(), says, asked);
  }

  async function answer(run: Run, says: string, asked: Promise<void>) {
    run.write(says);
    run.finish();
    await asked;
  }

  /** Requires that a reload shows what the page shows. */
  async function assertKept({ state, reloaded }: Page, ...words: string[]) {
    assert.deepEqual(wordsOf(state.messages), words);
    const kept = await reloaded();
    assert.deepEqual(wordsOf(kept), words);
    const replies = (messages: Message[]) =>
      messages.flatMap(({ id, role }) => (role === "assistant" ? id : []));
    assert.deepEqual(replies(state.messages), replies(kept));
  }

  test("a question that waits for a person ends without a reply, and what was said is told by followSaid alone", async () => {
    await using chat = await openChat(overSocket, { clock: createManualClock(Date.now()) });
    const opened = openPage(chat);
    const { page, state, client, ends } = opened;
    await client.conversations.update(chat.conversationId, { answeredBy: "person" });
    await page.sendMessage({ text: "Anybody?" });
    await page.sendMessage({ text: "Please?" });
    assert.deepEqual([page.status, wordsOf(state.messages)], ["ready", ["Anybody?", "Please?"]]);
    assert.ok(ends.every(({ isError, isAbort }) => !isError && !isAbort));
    const { data } = await client.messages.list(chat.conversationId, { order: "desc", limit: 1 });
    const said = await client.messages.say(chat.conversationId, { content: "I am Eva.", author: "Eva" });
    await page.resumeStream();
    assert.deepEqual(wordsOf(state.messages), ["Anybody?", "Please?"]);
    const left = new AbortController();
    const show = (message: Message) => {
      state.pushMessage(message);
      left.abort();
    };
    await followSaid(client, chat.conversationId, show, { signal: left.signal, after: data[0]?.id });
    const shown = state.messages.at(-1);
    assert.deepEqual([shown?.id, shown?.role, shown?.metadata], [said.id, "assistant", { author: "Eva" }]);
    await page.sendMessage({ text: "Thanks." });
    await assertKept(opened, "Anybody?", "Please?", "I am Eva.", "Thanks.");
  });

  test("shows a reply as it is written, and finishes with it", async () => {
    await using chat = await openChat(overSocket);
    const opened = openPage(chat);
    const asked = opened.page.sendMessage({ text: "Hello?" });
    const run = await chat.engine.next();
    run.write("Hello,");
    await opened.state.shows("Hello?", "Hello,");
    assert.equal(opened.page.status, "streaming");
    await answer(run, " world.", asked);
    assert.equal(opened.page.status, "ready");
    assert.deepEqual(opened.ends, [{ isAbort: false, isDisconnect: false, isError: false }]);
    await assertKept(opened, "Hello?", "Hello, world.");
  });

  test("regenerates the last reply: what stands before it stays, and nothing is asked twice", async () => {
    await using chat = await openChat(overSocket);
    const opened = openPage(chat);
    await ask(opened, chat, "One?", "One.");
    await ask(opened, chat, "Two?", "Two.");
    const regenerated = opened.page.regenerate();
    const run = await chat.engine.next();
    assert.deepEqual(
      run.turn.history.map(({ content }) => content),
      ["One?", "One."],
    );
    await answer(run, "Two!", regenerated);
    await assertKept(opened, "One?", "One.", "Two?", "Two!");
  });

  test("regenerates an earlier reply, from which it goes on", async () => {
    await using chat = await openChat(overSocket);
    const opened = openPage(chat);
    await ask(opened, chat, "One?", "One.");
    await ask(opened, chat, "Two?", "Two.");
    const messageId = opened.page.messages[1]?.id ?? "";
    const regenerated = opened.page.regenerate({ messageId });
    await answer(await chat.engine.next(), "One!", regenerated);
    await ask(opened, chat, "Three?", "Three.");
    await assertKept(opened, "One?", "One!", "Three?", "Three.");
  });

  test("replaces a message that is edited, in the page that sent it and after a reload", async () => {
    await using chat = await openChat(overSocket);
    const opened = openPage(chat);
    await ask(opened, chat, "One?", "One.");
    await ask(opened, chat, "Two?", "Two.");
    await ask(opened, chat, "Three?", "Three.", opened.page.messages[2]?.id);
    await assertKept(opened, "One?", "One.", "Three?", "Three.");
    const again = openPage(chat, await opened.reloaded());
    await ask(again, chat, "Four?", "Four.", again.page.messages[0]?.id);
    await assertKept(again, "Four?", "Four.");
  });

  test("shows the whole reply, once, though the connection breaks in the middle of it", async () => {
    await using chat = await openChat(overSocket);
    const faults = [{ after: ['"type":"delta"'], plus: 40, how: "reset" }] as const;
    await using proxy = await openBreakingProxy(chat.fixture.url, faults);
    const opened = openPage(chat, [], { url: proxy.url });
    const asked = opened.page.sendMessage({ text: "Hello?" });
    const run = await chat.engine.next();
    run.write("Hello,");
    await opened.state.shows("Hello?", "Hello,");
    await answer(run, " world.", asked);
    assert.equal(proxy.faults.length, 0);
    assert.deepEqual(opened.ends, [{ isAbort: false, isDisconnect: false, isError: false }]);
    await assertKept(opened, "Hello?", "Hello, world.");
  });

  test("takes back what another process, which takes the reply over, writes anew", async () => {
    await using two = await openCutOff({ continues: "exact", saved: "One two", sent: " or more" });
    const other = await two.another();
    let asked = two.first;
    const dead = new AbortController();
    const fetch = async (input: RequestInfo | URL, init?: RequestInit) => {
      const response = await asked.service.fetch(new Request(input, init));
      const isOfFirst = asked === two.first;
      return new Response(
        response.body?.pipeThrough(new TransformStream(), isOfFirst ? { signal: dead.signal } : {}),
        response,
      );
    };
    const opened = openPage(two.first, await openPage(two.first, [], { fetch }).reloaded(), { fetch });
    const resumed = opened.page.resumeStream();
    await opened.state.shows("Hello?", "One two or more");
    asked = other;
    two.cutOff();
    dead.abort();
    await two.expire();
    const run = await two.engine.next();
    run.write("One two three");
    await two.clock.advance(1000);
    await opened.state.shows("Hello?", "One two three");
    run.write(", four.");
    run.finish();
    await two.clock.advance(1000);
    await resumed;
    await assertKept(opened, "Hello?", "One two three, four.");
    assert.deepEqual(opened.page.messages.at(-1)?.parts.length, 1);
    two.reconnect();
    await other[Symbol.asyncDispose]();
  });

  /** A chat with a twin whose calls a person has to allow. */
  const openConfirming = () =>
    openChat(overSocket, {
      twins: createTwinList([newTwin({ id: "scripted", engine: "scripted", confirm: ["orders"] })]),
    });

  /** Ends a reply with calls that wait, each by its id. */
  function askFor(run: Run, says: string, ...ids: string[]) {
    run.write(says);
    const calls = ids.map((callId) => ({ callId, name: "orders/cancel", arguments: { callId } }));
    run.finish({ finishReason: "tool_calls", pending: { calls, state: "kept" } });
  }

  const decidedIn = ({ turn }: Run) => turn.decided?.calls.map(({ callId, decision }) => [callId, decision]);

  const statesOf = (messages: readonly Message[]) =>
    messages.map(({ parts }) => parts.map((part) => ("state" in part ? part.state : part.type)));

  test("shows a reply behind decided calls once, as a message of its own", async () => {
    await using chat = await openConfirming();
    const opened = openPage(chat);
    const { page, state } = opened;
    const asked = page.sendMessage({ text: "Cancel it." });
    askFor(await chat.engine.next(), "May I?", "a");
    await asked;
    await page.addToolApprovalResponse({ id: "a", approved: true });
    const decided = page.sendMessage();
    await answer(await chat.engine.next(), "Done.", decided);
    assert.equal(page.status, "ready");
    await assertKept(opened, "Cancel it.", "May I?", "Done.");
    assert.deepEqual(statesOf(state.messages.slice(1)), [["done", "output-available"], ["done"]]);
  });

  test("goes on by itself once all calls are decided, and not before, also where the reply behind them asks again", async () => {
    await using chat = await openConfirming();
    const sendAutomaticallyWhen = ai.lastAssistantMessageIsCompleteWithApprovalResponses;
    const opened = openPage(chat, [], { sendAutomaticallyWhen });
    const { page, state } = opened;
    const asked = page.sendMessage({ text: "Cancel both." });
    askFor(await chat.engine.next(), "May I?", "a", "b");
    await asked;
    await page.addToolApprovalResponse({ id: "b", approved: false });
    await page.addToolApprovalResponse({ id: "a", approved: true });
    const second = await chat.engine.next();
    assert.deepEqual(decidedIn(second), [
      ["a", "approve"],
      ["b", "deny"],
    ]);
    askFor(second, "And the last?", "c");
    await state.becomes("ready");
    await page.addToolApprovalResponse({ id: "c", approved: true, reason: "It is late." });
    const third = await chat.engine.next();
    assert.deepEqual(decidedIn(third), [["c", "approve"]]);
    third.write("Done.");
    third.finish();
    await state.becomes("ready");
    await assertKept(opened, "Cancel both.", "May I?", "And the last?", "Done.");
    assert.deepEqual(statesOf(state.messages.slice(1)), [
      ["done", "output-available", "output-denied"],
      ["done", "output-available"],
      ["done"],
    ]);
    assert.equal(chat.engine.asked, 3);
    assert.ok(opened.ends.every(({ isError }) => !isError));
  });

  test("decides after a reload what waits; what another page decides then is refused, and runs nothing", async () => {
    await using chat = await openConfirming();
    const early = openPage(chat);
    const asked = early.page.sendMessage({ text: "Cancel it." });
    askFor(await chat.engine.next(), "May I?", "a");
    await asked;
    const late = openPage(chat, await early.reloaded());
    assert.deepEqual(statesOf(late.page.messages)[1], ["text", "approval-requested"]);
    await late.page.addToolApprovalResponse({ id: "a", approved: false });
    const decided = late.page.sendMessage();
    const run = await chat.engine.next();
    assert.deepEqual(decidedIn(run), [["a", "deny"]]);
    await answer(run, "As you wish.", decided);
    await assertKept(late, "Cancel it.", "May I?", "As you wish.");
    await early.page.addToolApprovalResponse({ id: "a", approved: true });
    await early.page.sendMessage();
    assert.equal(early.page.status, "error");
    assert.equal(chat.engine.asked, 2);
    assert.deepEqual(statesOf(await late.reloaded()).flat(), ["text", "text", "text"]);
  });

  test("has messages that the AI SDK takes as valid, and as a model's: with calls that are decided, without those that wait", async () => {
    await using chat = await openConfirming();
    const { page, reloaded } = openPage(chat);
    const asked = page.sendMessage({ text: "Cancel both." });
    askFor(await chat.engine.next(), "May I?", "a", "b");
    await asked;
    const kinds = async (messages: Message[]) => {
      await ai.validateUIMessages({ messages });
      const all = await ai.convertToModelMessages(messages, { ignoreIncompleteToolCalls: true });
      return all.flatMap(({ content }) =>
        typeof content === "string" ? "text" : content.map(({ type }) => type),
      );
    };
    assert.deepEqual(await kinds(page.messages), ["text", "text"]);
    assert.deepEqual(await kinds(await reloaded()), ["text", "text"]);
    await page.addToolApprovalResponse({ id: "a", approved: true });
    await page.addToolApprovalResponse({ id: "b", approved: false });
    const decided = page.sendMessage();
    await answer(await chat.engine.next(), "Done.", decided);
    const call = ["tool-call", "tool-approval-request"];
    const results = ["tool-approval-response", "tool-result"];
    assert.deepEqual(await kinds(page.messages), [
      "text",
      "text",
      ...call,
      ...call,
      ...results,
      ...results,
      "text",
    ]);
  });

  test("stopped, ends its reply for everybody, which keeps its text so far", async () => {
    await using chat = await openChat(overSocket);
    const opened = openPage(chat);
    const asked = opened.page.sendMessage({ text: "Hello?" });
    const run = await chat.engine.next();
    run.write("Hello");
    await opened.state.shows("Hello?", "Hello");
    await opened.page.stop();
    await run.aborted;
    run.finish();
    await asked;
    assert.equal(opened.page.status, "ready");
    await chat.clock.advance(1000);
    await assertKept(opened, "Hello?", "Hello");
    await ask(opened, chat, "And?", "Fine.");
    await assertKept(opened, "Hello?", "Hello", "And?", "Fine.");
  });

  test("stopped before its message is sent, sends nothing", async () => {
    await using chat = await openChat(overSocket);
    const opened = openPage(chat);
    const asked = opened.page.sendMessage({ text: "Hello?" });
    await opened.page.stop();
    await asked;
    assert.equal(opened.page.status, "ready");
    assert.deepEqual(await opened.reloaded(), []);
    assert.equal(chat.engine.asked, 0);
  });

  test("resumes a reply: the one before it is not part of it", async () => {
    await using chat = await openChat(overSocket);
    const first = openPage(chat);
    await ask(first, chat, "One?", "One.");
    const { run } = await chat.begin("Two?");
    const opened = openPage(chat, await first.reloaded());
    const resumed = opened.page.resumeStream();
    run.write("Tw");
    await opened.state.shows("One?", "One.", "Two?", "Tw");
    await answer(run, "o.", resumed);
    await assertKept(opened, "One?", "One.", "Two?", "Two.");
  });

  test("resumes nothing where no reply runs", async () => {
    await using chat = await openChat(overSocket);
    const first = openPage(chat);
    await ask(first, chat, "One?", "One.");
    const opened = openPage(chat, await first.reloaded());
    await opened.page.resumeStream();
    assert.equal(opened.page.status, "ready");
    await assertKept(opened, "One?", "One.");
  });

  test("resumes a reply that ended after the messages were read: it is shown once, whether they had it or not", async () => {
    await using chat = await openChat(overSocket, { clock: createManualClock(Date.now()) });
    const { run, stream } = await chat.begin();
    const early = openPage(chat, await openPage(chat).reloaded());
    run.write("Hello!");
    run.finish();
    await stream.rest();
    const late = openPage(chat, await openPage(chat).reloaded());
    for (const opened of [early, late]) {
      await opened.page.resumeStream();
      assert.equal(opened.page.status, "ready");
      await assertKept(opened, "Hello?", "Hello!");
    }
  });

  test("shows nothing more of a resumed reply that is stopped, which ends for everybody", async () => {
    await using chat = await openChat(overSocket);
    const { run, messageId } = await chat.begin();
    run.write("before");
    const opened = openPage(chat, await openPage(chat).reloaded());
    const resumed = opened.page.resumeStream();
    await opened.state.shows("Hello?", "before");
    await opened.page.stop();
    run.write(" after");
    await run.aborted;
    run.finish();
    await resumed;
    assert.equal(opened.page.status, "ready");
    assert.equal(wordsOf(opened.page.messages).at(-1), "before");
    await chat.clock.advance(1000);
    assert.equal((await chat.message(messageId)).status, "cancelled");
  });

  test("resumed twice at once, shows the reply once", async () => {
    await using chat = await openChat(overSocket);
    const { run } = await chat.begin();
    run.write("Hel");
    const opened = openPage(chat, await openPage(chat).reloaded());
    const resumed = [opened.page.resumeStream(), opened.page.resumeStream()];
    await opened.state.shows("Hello?", "Hel");
    run.write("lo");
    run.finish();
    await Promise.all(resumed);
    await assertKept(opened, "Hello?", "Hello");
  });

  test("asked something while a resumed reply runs, has both answered, each once", async () => {
    await using chat = await openChat(overSocket);
    const { run } = await chat.begin();
    run.write("Hel");
    const opened = openPage(chat, await openPage(chat).reloaded());
    const resumed = opened.page.resumeStream();
    await opened.state.shows("Hello?", "Hel");
    const asked = opened.page.sendMessage({ text: "And?" });
    run.write("lo");
    run.finish();
    await resumed;
    await answer(await chat.engine.next(), "Fine.", asked);
    assert.equal(opened.page.status, "ready");
    assert.deepEqual(wordsOf(await opened.reloaded()), ["Hello?", "Hello", "And?", "Fine."]);
  });

  test("shows why a reply failed, and goes on with the next message, in the person's words", async () => {
    await using chat = await openChat(overSocket);
    const opened = openPage(chat);
    const asked = opened.page.sendMessage({ text: "Hello?" });
    const run = await chat.engine.next();
    run.write("Hel");
    await opened.state.shows("Hello?", "Hel");
    run.fail(new Error("secret"));
    await asked;
    assert.equal(opened.page.status, "error");
    assert.doesNotMatch(String(opened.page.error), /secret/);
    opened.page.clearError();
    assert.equal(opened.page.status, "ready");
    await ask(opened, chat, "And?", "Fine.");
    await assertKept(opened, "Hello?", "Hel", "And?", "Fine.");
  });
});
