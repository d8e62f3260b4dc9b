/**
 * Long messages, pages of them and histories, and short ones beside them.
 */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { readLongTextsInTurn } from "../../adapters/sql/fair-reads.ts";
import { noLog } from "../../core/base/log.ts";
import { createMemoryStore } from "../../core/store/mod.ts";
import type { MessageRecord } from "../../core/store/records.ts";
import { StoreUnavailable } from "../../core/store/store.ts";
import type { TwinEngine } from "../../core/twins/engine.ts";
import { readConfig } from "../../server/command-line.ts";
import { openStorage, type Storage } from "../../server/storage.ts";
import { begin, converse, messagesOf, newConversation, newOwner } from "../contracts/store-records.ts";
import { whole } from "../contracts/whole.ts";
import { createDatabase, skipWithoutPostgres } from "../postgres/database.ts";
import { makeFolder } from "../sqlite/fixture.ts";
import { createGate } from "../support/gate.ts";
import { inProcess, openFixture } from "../support/harness.ts";

const folder = await makeFolder();

/** New, empty storage of a server. */
async function openNew(kind: string): Promise<Storage & AsyncDisposable> {
  const database = kind === "postgres" ? await createDatabase() : undefined;
  const url = database?.url ?? (kind === "memory" ? "memory:" : `sqlite:${folder.newPath()}`);
  const config = readConfig(["--database", url], {});
  assert.equal(config.command, "serve");
  const storage = await openStorage(config.settings, { log: noLog, signal: new AbortController().signal });
  return {
    ...storage,
    async [Symbol.asyncDispose]() {
      await storage.close();
      await database?.drop();
    },
  };
}

test("reads that wait for one that is not answered fail with it, but not those that come later", async () => {
  const asked: string[] = [];
  const gate = createGate();
  const store = readLongTextsInTurn(
    {
      ...createMemoryStore(),
      async getMessage(_reach, id) {
        asked.push(id);
        if (id !== "1") return undefined;
        await gate.opened;
        throw new StoreUnavailable(`${id} was not answered`);
      },
    },
    1,
  );
  const get = (owner: string, id: string) =>
    store.getMessage({ owner }, id, whole).catch((error: Error) => error.message);
  const early = [get("ada", "1"), get("ada", "2"), get("ben", "3")];
  gate.open();
  assert.deepEqual(await Promise.all(early), Array(3).fill("1 was not answered"));
  assert.equal(await get("ben", "4"), undefined);
  assert.deepEqual(asked, ["1", "4"]);
});

test("who reads long texts one after another leaves others their turn in between", async () => {
  const long = { content: "x".repeat(262_144) } as MessageRecord;
  const store = readLongTextsInTurn({ ...createMemoryStore(), getMessage: async () => long });
  let turns = 0;
  const count = () => {
    turns++;
    if (turns < 100) setImmediate(count);
  };
  setImmediate(count);
  for (let read = 1; read <= 4; read++) {
    await store.getMessage({ owner: "ada" }, "1", whole);
    assert.ok(turns >= read, `${turns} turns in ${read} reads`);
  }
});

test("many who read texts that are not so long leave others their turn in between", async () => {
  const record = { content: "x".repeat(16_384) } as MessageRecord;
  let [turn, inTurn, most] = [0, 0, 0];
  let counted = -1;
  const store = readLongTextsInTurn({
    ...createMemoryStore(),
    async getMessage() {
      inTurn = counted === turn ? inTurn + 1 : 1;
      counted = turn;
      most = Math.max(most, inTurn);
      return record;
    },
  });
  const all = Promise.all(Array.from({ length: 200 }, () => store.getMessage({ owner: "ada" }, "1", whole)));
  const count = () => {
    turn++;
    if (turn < 10_000) setImmediate(count);
  };
  setImmediate(count);
  await all;
  turn = 10_000;
  assert.ok(most <= 64, `${most} reads in one turn`);
});

test("who reads pages of many short messages leaves others their turn in between", async () => {
  const page = { items: Array<MessageRecord>(1000).fill({ content: "a" } as MessageRecord), total: 1000 };
  const store = readLongTextsInTurn({ ...createMemoryStore(), listMessages: async () => page });
  using other = countTurns();
  const slice = { order: "desc", offset: 0, limit: 1000, ...whole } as const;
  for (let read = 1; read <= 4; read++) {
    await store.listMessages({ owner: "ada" }, "1", slice);
    assert.ok(other.turns() >= read, `${other.turns()} turns in ${read} reads`);
  }
});

for (const [who, reads, order] of [
  ["owners", "ada 1, ada 2, ada 3, ben 1, ben 2, eve 1", "ada 1, ada 2, ben 1, eve 1, ada 3, ben 2"],
  [
    "an owner's end users, and the owner,",
    "ada/ann 1, ada/ann 2, ada/ann 3, ada/bob 1, ada 1, ben/ann 1",
    "ada/ann 1, ada/ann 2, ben/ann 1, ada/bob 1, ada 1, ada/ann 3",
  ],
] as const) {
  test(`${who} take turns, and each one's reads keep their order`, async () => {
    const asked: string[] = [];
    const store = readLongTextsInTurn(
      {
        ...createMemoryStore(),
        async getMessage({ owner, endUser }, id) {
          asked.push(`${owner}${endUser === undefined ? "" : `/${endUser}`} ${id}`);
          return undefined;
        },
      },
      1,
    );
    await Promise.all(
      reads.split(", ").map((read) => {
        const [who = "", id = ""] = read.split(" ");
        const [owner = "", endUser] = who.split("/");
        return store.getMessage({ owner, endUser }, id, whole);
      }),
    );
    assert.equal(asked.join(", "), order);
  });
}

/** Counts the turns that other work is given. */
function countTurns() {
  let turns = 0;
  let next = setImmediate(function count() {
    turns++;
    next = setImmediate(count);
  });
  return { turns: () => turns, [Symbol.dispose]: () => clearImmediate(next) };
}

/** Fails unless other work had a turn between the first, the middle and the last piece. */
function assertTurnsBetween(turns: readonly number[]): void {
  const [first = 0, middle = 0, last = 0] = [0, Math.floor(turns.length / 2), -1].map((at) => turns.at(at));
  assert.ok(first < middle && middle < last, `${first}, ${middle}, ${last}`);
}

const skipPostgres = await skipWithoutPostgres();

describe("the server's storage", () => {
  test("gives other work its turn within a page, where SQLite reads many long messages", async () => {
    await using storage = await openNew("sqlite");
    const { store } = storage;
    const { owner, id } = await newConversation(store);
    const texts = Array.from({ length: 8 }, (_, n) => String(n).repeat(n === 4 ? 1_500_000 : 300_000));
    for (const content of texts) await converse(store, owner, id, { content });
    for (const order of ["asc", "desc"] as const) {
      using other = countTurns();
      const slice = { order, offset: 0, limit: 100, characters: 3_500_000 } as const;
      const page = await store.listMessages({ owner }, id, slice);
      const turns = other.turns();
      const replies = page?.items.filter(({ role }) => role === "assistant").map(({ content }) => content);
      assert.deepEqual(replies, (order === "asc" ? texts : texts.toReversed()).slice(0, 7));
      assert.ok(turns >= 2, `${turns} turns`);
    }
  });

  for (const kind of ["memory", "sqlite"]) {
    test(`gives other work its turn between long pages that are asked for at once (${kind})`, async () => {
      await using storage = await openNew(kind);
      const { store } = storage;
      const { owner, id } = await newConversation(store);
      await begin(store, owner, id, { content: "w".repeat(300_000) });
      await messagesOf(store, owner, id); // from here on, reads do not wait for what was stored to be on the disk
      using other = countTurns();
      const pages = Array.from({ length: 24 }, async () => {
        await messagesOf(store, owner, id);
        return other.turns();
      });
      assertTurnsBetween(await Promise.all(pages));
    });

    test(`gives other work its turn between lists of long metadata that are asked for at once (${kind})`, async () => {
      await using storage = await openNew(kind);
      const { store } = storage;
      const { owner } = await newConversation(store, newOwner(), { metadata: { long: "w".repeat(300_000) } });
      using other = countTurns();
      const lists = Array.from({ length: 24 }, async () => {
        await store.listConversations({ owner }, { offset: 0, limit: 1 });
        return other.turns();
      });
      assertTurnsBetween(await Promise.all(lists));
    });
  }

  for (const kind of ["memory", "sqlite", "postgres"]) {
    for (const what of ["pages", "messages"]) {
      const skip = kind === "postgres" && skipPostgres;
      test(`does not make an owner wait for the many long ${what} of another (${kind})`, {
        skip,
      }, async () => {
        await using storage = await openNew(kind);
        const { store } = storage;
        await using api = await openFixture(inProcess, { store });
        const greedy = await api.key("full_access", "greedy");
        const other = await api.key("full_access", "other");
        const long = await newConversation(store, "greedy");
        const short = await newConversation(store, "other");
        const { reply } = await converse(store, "greedy", long.id, { content: "w".repeat(300_000) });
        const longPath = `/conversations/${long.id}/messages${what === "pages" ? "" : `/${reply.id}`}`;
        let answered = 0;
        const answers = Array.from({ length: 48 }, async () => {
          assert.equal((await api.call("GET", longPath, greedy)).status, 200);
          answered++;
        });
        await api.call("GET", `/conversations/${short.id}/messages`, other);
        const answeredBefore = answered;
        await Promise.all(answers);
        assert.ok(answeredBefore < answers.length / 2, `${answeredBefore} were answered before`);
      });
    }
  }

  for (const kind of ["memory", "sqlite"]) {
    test(`gives other work its turn between replies with long histories that begin at once (${kind})`, async () => {
      await using storage = await openNew(kind);
      const { store } = storage;
      using other = countTurns();
      const owner = newOwner();
      const conversations = await Promise.all(
        Array.from({ length: 24 }, () => newConversation(store, owner, { twinId: "echo" })),
      );
      for (const { id } of conversations) await converse(store, owner, id, { content: "w".repeat(300_000) });
      const begun: number[] = [];
      const engine: TwinEngine = {
        async reply({ history }) {
          assert.equal(history.length, 2);
          begun.push(other.turns());
          return { finishReason: "stop", usage: null };
        },
      };
      await using api = await openFixture(inProcess, { store, engines: { echo: engine } });
      const key = await api.key("full_access", owner);
      await Promise.all(
        conversations.map(({ id }) =>
          api.call("POST", `/conversations/${id}/messages`, key, { content: "And?" }),
        ),
      );
      assertTurnsBetween(begun);
    });
  }
});
