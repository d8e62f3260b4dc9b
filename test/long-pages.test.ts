/**
 * Pages of long messages in stores that read without waiting, and short ones beside them.
 */

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { readLongPagesInTurn } from "../adapters/long-pages.ts";
import { readConfig } from "../core/config.ts";
import type { TwinEngine } from "../core/engine.ts";
import { noLog } from "../core/log.ts";
import { createMemoryStore } from "../core/mod.ts";
import { openStorage } from "../server-storage.ts";
import { createGate } from "./gate.ts";
import { inProcess, openFixture } from "./harness.ts";
import { type Folder, makeFolder } from "./sqlite-fixture.ts";
import { begin, converse, messagesOf, newConversation, newOwner } from "./store-records.ts";

let folder: Folder;
before(async () => {
  folder = await makeFolder();
});
after(() => folder.remove());

function open(database: string) {
  const config = readConfig(["--database", database], {});
  assert.equal(config.command, "serve");
  return openStorage(config.settings, { log: noLog, signal: new AbortController().signal });
}

test("an owner's short pages are read eight at once, after seven", async () => {
  const memory = createMemoryStore();
  const allBegun = createGate();
  let begun = 0;
  const store = readLongPagesInTurn({
    ...memory,
    async listMessages(...parameters) {
      begun++;
      if (begun === 15) allBegun.open();
      if (begun > 7) await allBegun.opened;
      return memory.listMessages(...parameters);
    },
  });
  const owner = newOwner();
  const { id } = await newConversation(store, owner);
  await Promise.all(Array.from({ length: 15 }, () => messagesOf(store, owner, id)));
});

describe("the server's storage", () => {
  for (const kind of ["memory", "sqlite"]) {
    test(`gives other work its turn between long pages that are asked for at once (${kind})`, async () => {
      const { store, close } = await open(kind === "memory" ? "memory:" : `sqlite:${folder.newPath()}`);
      const owner = newOwner();
      const { id } = await newConversation(store, owner);
      await begin(store, owner, id, { content: "w".repeat(300_000) });
      await messagesOf(store, owner, id); // from here on, reads do not wait for what was stored to be on the disk
      let turns = 0;
      const counting = setInterval(() => turns++, 1);
      try {
        const pages = Array.from({ length: 24 }, async () => {
          await messagesOf(store, owner, id);
          return turns;
        });
        const [first = 0, middle = 0, last = 0] = (await Promise.all(pages)).filter(
          (_, index) => index % 10 === 0,
        );
        assert.ok(first < middle && middle < last, `${first}, ${middle}, ${last}`);
      } finally {
        clearInterval(counting);
        await close();
      }
    });
  }

  for (const kind of ["memory", "sqlite"]) {
    test(`does not make an owner wait for the many long pages of another (${kind})`, async () => {
      const { store, close } = await open(kind === "memory" ? "memory:" : `sqlite:${folder.newPath()}`);
      try {
        await using api = await openFixture(inProcess, { store });
        const greedy = await api.key("full_access", "greedy");
        const other = await api.key("full_access", "other");
        const long = await api.conversation(greedy);
        const short = await api.conversation(other);
        const content = "w".repeat(32_000);
        for (let exchanges = 0; exchanges < 5; exchanges++) {
          await api.call("POST", `/conversations/${long}/messages`, greedy, { content });
        }
        let answered = 0;
        const pages = Array.from({ length: 24 }, async () => {
          await api.call("GET", `/conversations/${long}/messages`, greedy);
          answered++;
        });
        await api.call("GET", `/conversations/${short}/messages`, other);
        const answeredBefore = answered;
        await Promise.all(pages);
        assert.ok(answeredBefore < pages.length / 2, `${answeredBefore} pages were answered before`);
      } finally {
        await close();
      }
    });
  }

  for (const kind of ["memory", "sqlite"]) {
    test(`gives other work its turn between replies with long histories that begin at once (${kind})`, async () => {
      const { store, close } = await open(kind === "memory" ? "memory:" : `sqlite:${folder.newPath()}`);
      let turns = 0;
      const counting = setInterval(() => turns++, 1);
      try {
        const owner = newOwner();
        const conversations = await Promise.all(
          Array.from({ length: 12 }, () => newConversation(store, owner, { twinId: "echo" })),
        );
        for (const { id } of conversations)
          await converse(store, owner, id, { content: "w".repeat(300_000) });
        const begun: number[] = [];
        const engine: TwinEngine = {
          async reply({ history }) {
            assert.equal(history.length, 2);
            begun.push(turns);
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
        const [first = 0, middle = 0, last = 0] = begun.filter((_, index) => index % 5 === 0);
        assert.ok(first < middle && middle < last, `${first}, ${middle}, ${last}`);
      } finally {
        clearInterval(counting);
        await close();
      }
    });
  }
});
