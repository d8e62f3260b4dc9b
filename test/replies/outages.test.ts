/**
 * A store that is down, hangs or loses its answers: no reply is lost, none is begun twice, and none ends before it is stored.
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import { sleep } from "../../core/base/clock.ts";
import type { Log } from "../../core/mod.ts";
import { createMemoryStore, type Store, StoreUnavailable } from "../../core/store/mod.ts";
import type { MessageResource } from "../../core/wire/schemas.ts";
import { openChat, withOutages } from "../support/chat.ts";
import { createManualClock, settle } from "../support/clock.ts";
import { createGate } from "../support/gate.ts";
import { dataOf, inProcess, startOfTests } from "../support/harness.ts";

test("complete is not sent before the store has the reply's end", async () => {
  let down = false;
  await using chat = await openChat(inProcess, { store: withOutages(createMemoryStore(), () => down) });
  const { stream, run } = await chat.begin();
  down = true;
  run.write("kept");
  run.finish();
  assert.deepEqual((await stream.next()).data, { type: "delta", content: "kept" });
  let ended = false;
  const last = stream.next().then((event) => {
    ended = true;
    return event;
  });
  await chat.clock.advance(3000);
  assert.equal(ended, false);
  down = false;
  await chat.clock.advance(500);
  const { data } = await last;
  assert.ok(data.type === "complete");
  assert.deepEqual(await chat.message(data.message.id), data.message);
});

test("an outage is logged once for each thing that is retried, however long it lasts", async () => {
  let down = false;
  const said: string[] = [];
  const memory = { ...createMemoryStore(), exclusive: false };
  const log: Log = (level, message) => {
    if (level !== "debug" && !["request", "audit"].includes(message)) said.push(`${level} ${message}`);
  };
  await using chat = await openChat(inProcess, { store: withOutages(memory, () => down), log });
  await using other = await chat.another({ store: withOutages(memory, () => down), log });
  const { messageId, run } = await chat.begin();
  const followed = await other.resume(messageId);
  for (const outage of ["first", "second"]) {
    down = true;
    run.write(outage);
    await chat.clock.advance(12_000);
    assert.deepEqual(new Set(said).size, said.length - 2, said.join("\n")); // both processes sweep
    assert.deepEqual([...new Set(said)].sort(), [
      "warn a reply could not be looked up; it will be tried again",
      "warn a running reply could not be saved; it will be tried again",
      "warn expired idempotency keys and client tokens could not be swept; it will be tried again",
      "warn the store could not be swept; it will be tried again",
    ]);
    said.length = 0;
    down = false;
    await chat.clock.advance(5_000);
  }
  down = true;
  run.finish();
  await chat.clock.advance(12_000);
  assert.equal(said.filter((line) => line.startsWith("error a reply's end could not be stored")).length, 1);
  down = false;
  await chat.clock.advance(5_000);
  const last = (await followed.rest()).at(-1);
  assert.ok(last?.data.type === "complete");
});

test("an end that cannot be stored is logged as an error, even if a save in flight fails after it", async () => {
  const clock = createManualClock(startOfTests);
  let down = false;
  const store = withOutages(
    createMemoryStore(),
    () => down,
    () => sleep(clock, 700),
  );
  const said: string[] = [];
  const log: Log = (level, message) => void said.push(`${level} ${message}`);
  await using chat = await openChat(inProcess, { store, log, clock });
  const sending = chat.send();
  const run = await chat.engine.next();
  run.write("text");
  clock.after(1_300, () => run.finish());
  await clock.advance(500);
  down = true; // a save hangs from 1,000 to 1,700, the end comes at 1,300
  await clock.advance(5_000);
  down = false;
  await clock.advance(5_000);
  assert.equal((await sending).status, 200);
  assert.equal(said.filter((line) => line.startsWith("error a reply's end could not be stored")).length, 1);
});

/** A store whose answers to `beginReply` get lost on their way back. */
function losingBeginnings(store: Store, lost: () => void = () => {}): Store {
  return {
    ...store,
    async beginReply(begin) {
      await store.beginReply(begin);
      lost();
      throw new StoreUnavailable("The connection broke after the commit.");
    },
  };
}

test("a reply is produced as usual even if the store's answer to its beginning got lost", async () => {
  await using chat = await openChat(inProcess, { store: losingBeginnings(createMemoryStore()) });
  for (const content of ["One", "Two"]) {
    const sending = chat.send(content);
    const run = await chat.engine.next();
    run.write(content);
    run.finish();
    const reply = await dataOf<MessageResource>(await sending);
    assert.deepEqual([reply.status, reply.content], ["completed", content]);
  }
  assert.equal(await chat.status(), "idle");
});

test("a reply is cancelled that is given up meanwhile, because its beginning was not confirmed", async () => {
  const memory = createMemoryStore();
  const looked = createGate();
  let looks = 0;
  const store: Store = {
    ...losingBeginnings(memory),
    async getConversation(...which) {
      if (++looks !== 2) return memory.getConversation(...which);
      await looked.opened; // the second look is for the reply that may have begun
      throw new StoreUnavailable("The connection broke.");
    },
  };
  await using chat = await openChat(inProcess, { store });
  const sending = chat.send();
  await settle();
  const [, reply] = await dataOf<MessageResource[]>(await chat.get("/messages"));
  const cancelling = chat.cancel(reply?.id ?? "");
  await settle();
  looked.open();
  assert.equal((await sending).status, 503);
  await chat.clock.advance(60_000);
  assert.equal((await dataOf<MessageResource>(await cancelling)).status, "cancelled");
});

test("a reply that another request began is not mistaken for one's own", async () => {
  const memory = createMemoryStore();
  let broken = false;
  const store: Store = {
    ...memory,
    async beginReply(begin) {
      if (broken) throw new StoreUnavailable("The connection broke before the commit.");
      return memory.beginReply(begin);
    },
  };
  await using chat = await openChat(inProcess, { store });
  const sending = chat.send();
  const run = await chat.engine.next();
  broken = true;
  assert.equal((await chat.send()).status, 503);
  run.finish();
  assert.equal((await sending).status, 200);
});

test("a store that hangs has two seconds to say whether a reply was begun", async () => {
  let hangs = false;
  const store = losingBeginnings(createMemoryStore(), () => {
    hangs = true;
  });
  const hanging: Store = {
    ...store,
    getConversation: (...which) => (hangs ? new Promise(() => {}) : store.getConversation(...which)),
  };
  await using chat = await openChat(inProcess, { store: hanging });
  let status: number | undefined;
  void chat.send().then((answer) => {
    status = answer.status;
  });
  await chat.clock.advance(1_999);
  assert.equal(status, undefined);
  await chat.clock.advance(1);
  assert.equal(status, 503);
});

test("a begun reply that its process lost in an outage is begun again once its lease runs out", async () => {
  let down = false;
  const store = withOutages(createMemoryStore(), () => down);
  const losing = losingBeginnings(store, () => {
    down = true;
  });
  await using chat = await openChat(inProcess, { store: losing });
  assert.equal((await chat.send()).status, 503);
  down = false;
  assert.equal(await chat.status(), "busy");
  assert.equal(chat.engine.asked, 0);
  await chat.clock.advance(35_000);
  (await chat.engine.next()).finish();
  await chat.clock.advance(0);
  assert.equal(await chat.status(), "idle");
  const history = await dataOf<MessageResource[]>(await chat.get("/messages"));
  assert.deepEqual(
    history.map(({ status, attempt }) => [status, attempt]),
    [
      ["completed", 1],
      ["completed", 2],
    ],
  );
});
