/**
 * Replies of OpenAI's clients whose process died: another one goes on with them.
 */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { createTwinList } from "../../core/mod.ts";
import { createMemoryStore } from "../../core/store/mod.ts";
import { withOutages } from "../support/chat.ts";
import { inProcess, newTwin } from "../support/harness.ts";
import type { Run } from "../support/scripted-engine.ts";
import { named, type OpenAIFixture, openOpenAI, readData, retried } from "./fixture.ts";

/** A process that has begun a reply and lost its store, and another one. */
interface TwoProcesses extends AsyncDisposable {
  readonly first: OpenAIFixture;
  readonly other: OpenAIFixture;
  /** Follows the response on the other process, after an event. */
  resume(after: number): Promise<Response>;
  /** Lets the lease run out. */
  expire(): Promise<void>;
  /** The same. Resolves with what the other process asks of the engine. */
  takeOver(): Promise<Run>;
}

/** `ask` begins the reply. The first process saves "One two", and its client has " three", too. */
async function openTwo(
  continues: "exact" | "partial" | undefined,
  ask: (first: OpenAIFixture) => Promise<Response>,
  options: Parameters<typeof openOpenAI>[1] = {},
): Promise<TwoProcesses> {
  const store = { ...createMemoryStore(), exclusive: false };
  let away = false;
  const first = await openOpenAI(inProcess, { store: withOutages(store, () => away), ...options });
  Object.defineProperty(first.engine, "continues", { value: continues });
  const other = await first.another({ store });
  await other.fixture.service.ready();
  const response = await ask(first);
  const run = await first.engine.next();
  run.write("One two");
  await first.fixture.clock.advance(1_000);
  away = true;
  run.write(" three");
  await response.body?.cancel();
  const reply = (await other.messages())[1];
  assert.equal(reply?.content, "One two");
  const expire = () => first.fixture.clock.advance(35_000);
  return {
    first,
    other,
    resume: (after) =>
      other.send(
        "GET",
        `/responses/${reply.id.replace("msg_", "resp_")}?stream=true&starting_after=${after}`,
      ),
    expire,
    async takeOver() {
      await expire();
      return first.engine.next();
    },
    async [Symbol.asyncDispose]() {
      away = false;
      await other[Symbol.asyncDispose]();
      await first[Symbol.asyncDispose]();
    },
  };
}

interface ReplyEvent {
  readonly sequence_number: number;
  readonly type: string;
  readonly delta?: string;
  readonly text?: string;
  readonly response?: { readonly status: string };
}

async function eventsOf(response: Response): Promise<ReplyEvent[]> {
  assert.equal(response.status, 200);
  return readData(await response.text()) as ReplyEvent[];
}

function deltasOf(events: readonly ReplyEvent[]): string {
  return events.map(({ delta = "" }) => delta).join("");
}

async function assertContinued({ other }: TwoProcesses, content: string): Promise<void> {
  const messages = await other.messages();
  assert.equal(messages.length, 2);
  const [, reply] = messages;
  assert.deepEqual([reply?.status, reply?.content, reply?.attempt], ["completed", content, 2]);
}

describe("a reply whose process died, for OpenAI's clients", { timeout: 300_000 }, () => {
  for (const stream of [true, false]) {
    test(`is joined by the retry of a completion (${stream ? "streamed" : "whole"})`, async () => {
      await using two = await openTwo("exact", (first) => first.chat({ stream: true }, named));
      const run = await two.takeOver();
      const retry = two.other.chat({ stream }, { ...named, ...retried });
      assert.equal(run.turn.content, "Hello?");
      run.write("One two three four");
      run.finish();
      const text = await (await retry).text();
      const written = stream
        ? (readData(text) as { choices?: { delta: { content?: string } }[] }[])
            .map(({ choices }) => choices?.[0]?.delta.content ?? "")
            .join("")
        : (JSON.parse(text) as { choices: { message: { content: string } }[] }).choices[0]?.message.content;
      assert.equal(written, "One two three four");
      await assertContinued(two, "One two three four");
      assert.equal(two.first.engine.asked, 2);
    });
  }

  const respond = (first: OpenAIFixture) =>
    first.send("POST", "/responses", { model: "ada", input: "Hello?", stream: true });

  for (const had of ["One two", "One two three"]) {
    test(`is resumed by a client that has "${had}"`, async () => {
      await using two = await openTwo("exact", respond);
      const run = await two.takeOver();
      const resumed = await two.resume(3 + had.length);
      run.write("One two three four");
      run.finish();
      const events = await eventsOf(resumed);
      assert.equal(had + deltasOf(events), "One two three four");
      const numbers = events.map(({ sequence_number: number }) => number);
      assert.deepEqual(
        numbers,
        [...numbers].sort((one, two) => one - two),
      );
      assert.deepEqual(
        [events.at(-1)?.type, events.at(-1)?.sequence_number],
        ["response.completed", 7 + "One two three four".length],
      );
      await assertContinued(two, "One two three four");
    });
  }

  test("ends for a client that has more than the whole text, which it is told", async () => {
    await using two = await openTwo("partial", respond);
    const run = await two.takeOver();
    const resumed = await two.resume(16);
    run.write(".");
    run.finish();
    const events = await eventsOf(resumed);
    assert.equal(deltasOf(events), "");
    assert.equal(events.at(-1)?.type, "response.completed");
    assert.match(JSON.stringify(events.at(-1)?.response), /"text":"One two\."/);
  });

  test("whose history only its client has is not asked for again without it", async () => {
    const earlier = [
      { role: "user", content: "I am Bo." },
      { role: "assistant", content: "Hello." },
    ];
    const input = [...earlier, { role: "user", content: "Who am I?" }];
    await using two = await openTwo("exact", (first) =>
      first.send("POST", "/responses", { model: "ada", input, stream: true }),
    );
    await two.expire();
    assert.equal((await eventsOf(await two.resume(10))).at(-1)?.type, "response.failed");
    assert.equal(two.first.engine.asked, 1);
  });

  test("where calls would wait for a person is not asked for again, as nobody can be asked", async () => {
    const twins = createTwinList([
      newTwin({ id: "ada", engine: "scripted", tools: ["a/b"], confirm: ["a/b"] }),
    ]);
    await using two = await openTwo("exact", respond, { twins });
    await two.expire();
    assert.equal((await eventsOf(await two.resume(10))).at(-1)?.type, "response.failed");
    assert.equal(two.first.engine.asked, 1);
  });

  test("that cannot be gone on with is told to a client that has more than was saved", async () => {
    await using two = await openTwo(undefined, respond);
    await two.expire();
    const events = await eventsOf(await two.resume(16));
    assert.deepEqual(
      events.map(({ type, response }) => [type, response?.status]),
      [["response.failed", "failed"]],
    );
  });
});
