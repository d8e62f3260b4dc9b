/**
 * The programs in docs/replies.md that follow a reply in other languages, over connections that break.
 */

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test } from "node:test";
import { promisify } from "node:util";
import { openChat } from "../support/chat.ts";
import { overSocket } from "../support/harness.ts";
import { until } from "../support/until.ts";
import { type Fault, openBreakingProxy } from "./breaking-proxy.ts";

const run = promisify(execFile);

/** A language: its name in Markdown, what runs a program, and how long that waits before it connects again. */
const languages = [
  {
    name: "py",
    command: "python3",
    version: ["--version"],
    args: [],
    wait: ["time.sleep(1)", "time.sleep(0.01)"],
  },
  {
    name: "go",
    command: "go",
    version: ["version"],
    args: ["run"],
    wait: ["time.Second)", "time.Millisecond)"],
  },
] as const;

const document = await readFile(new URL("../../docs/replies.md", import.meta.url), "utf8");

/** Ten breaks: before and in the head, in the midst of lines, behind their ends, between the events. */
const faults: readonly Fault[] = [
  { after: "request", how: "502" },
  { after: "request", how: "reset" },
  { after: ["HTTP/1.1 200"], how: "end" },
  { after: ["\n\n"], how: "reset" },
  { after: ['"type":"delta"'], how: "end" },
  { after: ['"type":"delta"', "\n"], how: "reset" },
  { after: ['"type":"delta"', "\n\n", "id: "], plus: 1, how: "end" },
  { after: ["id: ", "\n"], how: "end" },
  { after: ['"content":"'], plus: 2, how: "reset" },
  { after: ['"type":"complete"'], how: "end" },
];

for (const { name, command, version, args, wait } of languages) {
  const skip = await run(command, version).then(
    () => false,
    () => `there is no ${command}`,
  );
  describe(`the program in ${name}`, { skip, timeout: 120_000 }, () => {
    const [, program = ""] = new RegExp(`^\`\`\`${name}\n([\\s\\S]*?)^\`\`\`$`, "m").exec(document) ?? [];

    /** Runs the program against an address. */
    async function follow(url: string, key: string, conversationId: string) {
      const folder = await mkdtemp(join(tmpdir(), "twins-language-"));
      try {
        const file = join(folder, `program.${name}`);
        assert.ok(program.includes(wait[0]));
        await writeFile(file, program.replace(wait[0], wait[1]));
        const env = { ...process.env, API: `${url}/api/v1`, KEY: key };
        const { stdout } = await run(command, [...args, file, conversationId, "Hello?"], {
          env,
          timeout: 100_000,
        });
        return stdout;
      } finally {
        await rm(folder, { recursive: true });
      }
    }

    test("has all of a reply, once, after ten breaks", async () => {
      await using chat = await openChat(overSocket);
      await using proxy = await openBreakingProxy(chat.fixture.url, faults);
      const following = follow(proxy.url, chat.key, chat.conversationId);
      const engine = await chat.engine.next();
      let text = "";
      const write = async () => {
        const piece = `piece ${text.length} 👋 `;
        text += piece;
        engine.write(piece);
        await chat.clock.advance(100); // it is sent
        return proxy.faults.length <= 1; // the last one is at the end
      };
      await until("nine breaks", 60_000, write);
      engine.finish();
      assert.equal(await following, text);
      assert.equal(proxy.faults.length, 0);
      assert.equal(chat.engine.asked, 1);
    });

    test("gives up where it is refused", async () => {
      await using chat = await openChat(overSocket);
      await assert.rejects(follow(chat.fixture.url, "twin_wrong", chat.conversationId), { code: 1 });
      assert.equal(chat.engine.asked, 0);
    });
  });
}
