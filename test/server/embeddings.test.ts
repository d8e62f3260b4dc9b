/**
 * A server that finds sections by their meaning.
 */

import assert from "node:assert/strict";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { shapes, startEmbeddings } from "../openai-models/embeddings-server.ts";
import { dataOf } from "../support/harness.ts";
import { call, converse, createKey, createScratch, mint } from "./fixture.ts";
import { startServer } from "./process.ts";

const scratch = await createScratch();

test("twins find sections by their meaning, and no text is sent again after a restart", async () => {
  await using model = await startEmbeddings(shapes.OpenAI);
  const { flags, folder } = await scratch({
    "inn.md":
      "---\nname: Inn\nengine: knowledge\n---\n## Pets\n\nA dog sleeps for free.\n\n## Water\n\nThe pool is open.\n",
  });
  const variables = { MODEL_BASE_URL: model.baseUrl, MODEL_EMBEDDINGS: "words" };
  for (let start = 0; start < 2; start++) {
    const server = await startServer(flags, variables);
    const key = await createKey(server, await mint(flags));
    const messages = await converse(server, key, "inn");
    const sent = await call(messages, "POST", key, { content: "Darf mein Hund mit?" });
    assert.match((await dataOf<{ content: string }>(sent)).content, /A dog sleeps for free/);
    await server.stop();
  }
  const texts = model.asked.flatMap(({ input }) => input);
  assert.equal(texts.filter((text) => text.includes("A dog sleeps")).length, 1);
  const kept = (await readdir(folder, { recursive: true })).filter((name) =>
    /^.*embeddings\/\w+$/.test(name),
  );
  assert.equal(kept.length, 2, join(folder, ...kept));
});
