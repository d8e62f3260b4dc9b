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

/** The longest metadata of a conversation. */
export const pairs: Readonly<Record<string, string>> = Object.fromEntries(
  Array.from({ length: 16 }, (_, n) => [costly.repeat(62) + `${n}`.padStart(2, "0"), costly.repeat(512)]),
);

const at = Date.UTC(2026, 10, 1);
/** For what is deleted once it is old. */
const now = Date.now();
/** Where webhooks are told of what happens: nobody is there. */
export const receiver = "https://127.0.0.1:9/";
/** How many of the owner's keys can be used, and so rotated or revoked. */
const liveKeys = 3;
const words = "Much is said in few words. ".repeat(40);

/** How many end users of the owner ask at once. Each has a conversation of its own long messages, and one with the longest reply. */
export const people = 100;

/** The longest message, and the longest reply, in characters of two units. */
const longestMessage = 131_072;
const longestReply = 2 * 1024 * 1024;

/** What the ids of a conversation's messages begin with, before their numbers: those of responses have letters and digits alone. */
export function messageId(conversation: string): string {
  return `msg_${conversation.replaceAll("_", "")}x`;
}

/** Runs the statements that store it, in the dialect that both databases have. */
export async function fill(run: (sql: string) => Promise<unknown>): Promise<void> {
  const numbers = (count: number) =>
    `WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < ${count - 1})`;
  const title = `'${costly.repeat(200)}'`;
  const metadata = `'${JSON.stringify(pairs)}'`;
  const conversations =
    "INSERT INTO conversations (owner, id, twin_id, end_user, title, metadata, log_length, path, created_at, updated_at)";
  const messages =
    "INSERT INTO messages (id, owner, conversation_id, seq, role, content, status, after_id, branch_from, created_at, " +
    "completed_at, rating, rating_comment, rated_at, unanswered, review_twin)";
  const role = (seq: string) => `CASE WHEN ${seq} % 2 = 0 THEN 'user' ELSE 'assistant' END`;
  /** `rated`: the twin's replies were rated at this time, and knew no answer to these questions. */
  const converse = async (
    { id, person, length }: { id: string; person: string; length: number },
    content: string,
    rated?: { readonly at: number; readonly question: string },
  ) => {
    // Each question of a forked conversation is another first one: the path is the last of them.
    const isForked = id === "conv_forks";
    const path = isForked ? `'[[${length - 2},${length}]]'` : "NULL";
    await run(
      `${conversations} VALUES ('${owner}', '${id}', 'echo', '${person}', ${title}, ${metadata}, ${length}, ${path}, ${at}, ${at})`,
    );
    const ofReply = (value: string) => (rated ? `CASE WHEN i % 2 = 1 THEN ${value} END` : "NULL");
    const from = isForked ? "CASE WHEN i % 2 = 0 AND i > 0 THEN -1 END" : "CAST(NULL AS BIGINT)";
    await run(`${messages} ${numbers(length)} SELECT '${messageId(id)}' || i, '${owner}', '${id}', i, ${role("i")}, ${content},
      'completed', NULL, ${from}, ${at}, ${at}, ${ofReply("'down'")}, ${ofReply(`'${costly.repeat(1_000)}'`)},
      ${ofReply(`${rated?.at} + i`)}, ${ofReply(`'${rated?.question} ' || i`)}, ${ofReply("'echo'")} FROM n`);
  };
  const long = `'${costly.repeat(longestMessage)}'`;
  const longest = `CASE WHEN i = 0 THEN 'Write a book.' ELSE '${costly.repeat(longestReply)}' END`;
  for (let n = 0; n < people; n++) {
    const person = `ann_${n}`;
    // The newest ratings, so that a list begins with them.
    const rated = { at: at + 1e9, question: `long ${n}` };
    await converse({ id: `conv_long_${n}`, person, length: n === 0 ? 200 : 4 }, long, rated);
    await converse({ id: `conv_book_${n}`, person, length: 2 }, longest);
  }
  await converse({ id: "conv_forks", person: "ann_0", length: 2_000 }, `'${words}'`);
  for (const n of [0, 1, 2]) {
    const person = `bob_${n}`;
    const rated = { at, question: "question" };
    await converse({ id: `conv_deep_${n}`, person, length: 50_000 }, `'${words}'`, rated);
    // A page of the newest, and one of the oldest.
    await run(`${conversations} ${numbers(10_000)} SELECT '${owner}', 'conv_${n}_' || i, 'echo', 'cleo_${n}', ${title},
      CASE WHEN i < 100 OR i >= 9900 THEN ${metadata} END, 2, NULL, ${at} + i, ${at} FROM n`);
    await run(`${messages} ${numbers(20_000)} SELECT 'msg_${n}_' || i, '${owner}', 'conv_${n}_' || (i / 2), i % 2,
      ${role("i")}, '${words}', 'completed', NULL, NULL, ${at}, ${at}, NULL, NULL, NULL, NULL, NULL FROM n`);
  }
  for (const list of ["conversations", "conversations/echo"])
    await run(
      `INSERT INTO totals (owner, list, total) VALUES ('${owner}', '${list}', ${30_004 + 2 * people})`,
    );
  await run(`INSERT INTO api_keys (owner, id, name, scope, prefix, hash, created_at, revoked_at) ${numbers(1_000)}
    SELECT '${owner}', 'key_' || i, '${costly.repeat(100)}', 'read_only', 'twin_' || i, 'hash ' || i, ${at} + i,
      CASE WHEN i >= ${liveKeys} THEN ${at} + i END FROM n`);
  await run(`INSERT INTO webhooks (id, owner, url, secret, status, created_at)
    VALUES ('hook_0', '${owner}', '${receiver}', 'whsec_', 'active', ${at})`);
  await run(`INSERT INTO deliveries (id, webhook_id, owner, event, status, attempts, due_at, created_at) ${numbers(100_000)}
    SELECT 'dlv_' || i, 'hook_0', '${owner}', 'reply.completed', 'failed', 11, ${now} + i, ${now} + i FROM n`);
  // 300,000 sums of end users: of many on a few days, and of some on each day. The other sums are as many as there are days.
  const sums =
    "INSERT INTO usage_sums (owner, kind, name, day, replies, input_tokens, output_tokens, cached_input_tokens)";
  const dayOf = (n: number) => new Date(at - n * 86_400_000).toISOString().slice(0, 10);
  const longName = costly.repeat(115);
  for (let day = 0; day < 400; day++) {
    const named = day < 2 ? 75_375 : 375;
    await run(
      `${sums} ${numbers(named)} SELECT '${owner}', 'endUser', '${longName} ' || i, '${dayOf(day)}', 1, 2, 3, 0 FROM n`,
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
    writeFileSync(
      join(folder, `twin-${n}.md`),
      `---\nname: ${costly.repeat(100)}\ndescription: ${words}\nengine: echo\n---\nRepeat.\n`,
    );
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
