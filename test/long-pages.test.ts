/**
 * Pages of long messages in stores that read without waiting.
 */

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { readConfig } from "../core/config.ts";
import { noLog } from "../core/log.ts";
import { openStorage } from "../server-storage.ts";
import { type Folder, makeFolder } from "./sqlite-fixture.ts";
import { begin, messagesOf, newConversation, newOwner } from "./store-records.ts";

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
});
