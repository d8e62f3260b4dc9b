/**
 * What one owner's credentials can have stored at most, or far more than most do.
 *
 * @module
 */

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** Whose it is. */
export const owner = "owner";

/** Four bytes in UTF-8, two units in UTF-16, without spaces: no character costs more. */
export const costly = "𠀋";

const at = Date.UTC(2026, 10, 1);
const words = "Much is said in few words. ".repeat(40);

/** Runs the statements that store it, in the dialect that both databases have. */
export async function fill(run: (sql: string) => Promise<unknown>): Promise<void> {
  const numbers = (count: number) =>
    `WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < ${count - 1})`;
  const conversations =
    "INSERT INTO conversations (owner, id, twin_id, end_user, log_length, path, created_at, updated_at)";
  const messages =
    "INSERT INTO messages (id, owner, conversation_id, seq, role, content, status, after_id, branch_from, created_at, " +
    "completed_at, rating, rated_at, unanswered, review_twin)";
  const role = (seq: string) => `CASE WHEN ${seq} % 2 = 0 THEN 'user' ELSE 'assistant' END`;
  const converse = async (id: string, person: string, length: number, content: string) => {
    // Each question of a forked conversation is another first one: the path is the last of them.
    const isForked = id === "conv_forks";
    const path = isForked ? `'[[${length - 2},${length}]]'` : "NULL";
    await run(
      `${conversations} VALUES ('${owner}', '${id}', 'echo', '${person}', ${length}, ${path}, ${at}, ${at})`,
    );
    const ofReply = (value: string) =>
      id.startsWith("conv_deep") ? `CASE WHEN i % 2 = 1 THEN ${value} END` : "NULL";
    const from = isForked ? "CASE WHEN i % 2 = 0 AND i > 0 THEN -1 END" : "CAST(NULL AS BIGINT)";
    await run(`${messages} ${numbers(length)} SELECT 'msg_${id}_' || i, '${owner}', '${id}', i, ${role("i")}, '${content}',
      'completed', NULL, ${from}, ${at}, ${at}, ${ofReply("'down'")}, ${ofReply(`${at} + i`)},
      ${ofReply("'question ' || i")}, ${ofReply("'echo'")} FROM n`);
  };
  await converse("conv_long", "ann", 200, costly.repeat(32_000));
  await converse("conv_forks", "ann", 2_000, words);
  for (const n of [0, 1, 2]) {
    await converse(`conv_deep_${n}`, `bob_${n}`, 50_000, words);
    await run(`${conversations} ${numbers(10_000)} SELECT '${owner}', 'conv_${n}_' || i, 'echo', 'cleo_${n}', 2,
      NULL, ${at} + i, ${at} FROM n`);
    await run(`${messages} ${numbers(20_000)} SELECT 'msg_${n}_' || i, '${owner}', 'conv_${n}_' || (i / 2), i % 2,
      ${role("i")}, '${words}', 'completed', NULL, NULL, ${at}, ${at}, NULL, NULL, NULL, NULL FROM n`);
  }
  for (const list of ["conversations", "conversations/echo"])
    await run(`INSERT INTO totals (owner, list, total) VALUES ('${owner}', '${list}', 30005)`);
  // 300,000 sums of end users: of many on a few days, and of some on each day. The other sums are as many as there are days.
  const sums =
    "INSERT INTO usage_sums (owner, kind, name, day, replies, input_tokens, output_tokens, cached_input_tokens)";
  const dayOf = (n: number) => new Date(at - n * 86_400_000).toISOString().slice(0, 10);
  for (let day = 0; day < 400; day++) {
    const people = day < 2 ? 75_375 : 375;
    await run(
      `${sums} ${numbers(people)} SELECT '${owner}', 'endUser', 'person ' || i, '${dayOf(day)}', 1, 2, 3, 0 FROM n`,
    );
    await run(
      `${sums} ${numbers(750)} SELECT '${owner}', 'twin', 'twin-' || i, '${dayOf(day)}', 1, 2, 3, 0 FROM n`,
    );
    await run(`${sums} VALUES ('${owner}', 'day', '', '${dayOf(day)}', 1, 2, 3, 0)`);
  }
}

/** A thousand twins, of which one is asked what its text has. Returns their folder. */
export function writeTwins(folder: string): string {
  mkdirSync(folder, { recursive: true });
  for (let n = 0; n < 998; n++)
    writeFileSync(join(folder, `twin-${n}.md`), `---\nname: Twin ${n}\nengine: echo\n---\nRepeat.\n`);
  writeFileSync(join(folder, "echo.md"), "---\nname: Echo\nengine: echo\n---\nRepeat.\n");
  const topics = Array.from({ length: 200 }, (_, n) => {
    const unspaced = String.fromCodePoint(
      0x4e00 + n,
      0x4f00 + n,
      0x0e01 + (n % 40),
      0x1780 + (n % 30),
      0x1000 + (n % 30),
    );
    return `## Topic ${n}\n\nTopic ${n} has words: ${unspaced.repeat(40)}. ${words}\n`;
  });
  writeFileSync(
    join(folder, "library.md"),
    `---\nname: Library\nengine: knowledge\n---\nYou are a library.\n\n${topics.join("\n")}`,
  );
  return folder;
}
