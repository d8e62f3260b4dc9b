/**
 * The programs in docs/openai.md, run as their readers run them.
 */

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { createTwinList } from "../../core/mod.ts";
import { openOpenAI } from "../openai-clients/fixture.ts";
import { newTwin, overSocket } from "../support/harness.ts";
import { skip } from "./packages.ts";

const document = new URL("../../docs/openai.md", import.meta.url);

/** Runs a program beside the packages that it imports. */
async function run(program: string, env: Readonly<Record<string, string>>): Promise<string> {
  const folder = await mkdtemp(fileURLToPath(new URL("node_modules/.document-", import.meta.url)));
  try {
    const file = join(folder, "program.mjs");
    await writeFile(file, program);
    const { stdout } = await promisify(execFile)(process.execPath, [file], { env, timeout: 30_000 });
    return stdout;
  } finally {
    await rm(folder, { recursive: true });
  }
}

describe("docs/openai.md", { skip, timeout: 300_000, concurrency: true }, () => {
  let programs: readonly string[];
  before(async () => {
    const text = await readFile(document, "utf8");
    programs = [...text.matchAll(/^```js\n([\s\S]*?)^```$/gm)].map(([, program = ""]) => program);
    assert.equal(programs.length, 3);
  });

  for (const [index, name] of ["openai", "@ai-sdk/openai-compatible", "@langchain/openai"].entries()) {
    test(`the program for ${name} gets its reply`, async () => {
      const program = programs[index] ?? "";
      assert.ok(program.includes(`from "${name}"`));
      await using api = await openOpenAI(overSocket, {
        twins: createTwinList([newTwin({ id: "guide", engine: "echo" })]),
      });
      const env = { OPENAI_BASE_URL: `${api.fixture.url}/v1`, OPENAI_API_KEY: api.key };
      assert.equal(await run(program, env), "How do I resume a stream?");
      assert.equal((await api.messages()).length, 2);
    });
  }
});
