/**
 * Makes golden questions of what was left unanswered, and of what people thought of replies.
 *
 * @module
 */

import process from "node:process";
import { Document, visit } from "yaml";
import type { TwinClient } from "../../client/mod.ts";
import { visible, visibleLine } from "../../core/base/visible.ts";
import type { RatedReplyResource } from "../../core/wire/schemas.ts";
import type { CommandConfig } from "../command-line.ts";
import { requireDatabase } from "../tokens.ts";
import { connectToTwins, findTwin, whileOpen } from "./client.ts";

/** A golden question of a twin's front matter, and where it comes from. */
interface FoundTest {
  readonly test: { readonly ask: string; readonly source?: string; readonly never?: string };
  readonly comment: string;
}

/** How much of a reply a test quotes, in characters. */
const quoted = 80;

/**
 * Writes `tests:` for the front matter of a twin, as YAML: questions without an answer, which have to get one; replies
 * that people liked, with the section that they came from; and replies that they did not like, which are not to come again.
 */
export async function writeTests(client: TwinClient, twinId: string): Promise<string> {
  await findTwin(client, twinId);
  const found: FoundTest[] = [];
  for await (const { question: ask, count } of client.questions.unanswered({ twinId, limit: 100 })) {
    found.push({
      test: { ask: accepted(ask) },
      comment: `asked ${count === 1 ? "once" : `${count} times`}, without an answer`,
    });
  }
  const asked = new Set(found.map(({ test }) => test.ask));
  for await (const reply of client.feedback.list({ twinId, limit: 100 })) {
    const test = testOf(reply);
    if (asked.has(test.ask)) continue; // the newest feedback counts
    asked.add(test.ask);
    found.push({ test, comment: `thumb ${reply.rating}${said(reply.comment)}` });
  }
  return toYaml(found.filter(({ test }) => test.ask !== ""));
}

/** How much of a twin's front matter they may take, in bytes, of the 64 KiB that it may have. */
const mostBytes = 60_000;

/** The tests that fit, and how many did not. */
function toYaml(found: readonly FoundTest[]): string {
  const items: string[] = [];
  let bytes = 0;
  for (const { test, comment } of found) {
    const item = `  # ${visibleLine(comment)}\n${yamlOf(test)}`;
    if (bytes + Buffer.byteLength(item) > mostBytes) continue;
    bytes += Buffer.byteLength(item);
    items.push(item);
  }
  const more = found.length - items.length;
  const rest = more === 0 ? "" : `# ${more} more, which front matter has no room for\n`;
  return items.length === 0 ? `tests: []\n${rest}` : `tests:\n${items.join("")}${rest}`;
}

/** Texts that YAML takes for nothing else, if they are no number or the like, which its writer knows. */
const plain = /^[\p{L}\p{N}][\p{L}\p{N}\p{M} ,.?!'’()-]*$/u;

/** An item of a list, as YAML. What a terminal would obey is escaped, in quotes. */
function yamlOf(test: FoundTest["test"]): string {
  const document = new Document([test]);
  visit(document, {
    Scalar(_, scalar) {
      const { value } = scalar;
      if (typeof value === "string" && !plain.test(value)) scalar.type = "QUOTE_DOUBLE";
    },
  });
  return visible(document.toString({ lineWidth: 0, doubleQuotedAsJSON: true })).replaceAll(/^(?=.)/gm, "  ");
}

/** A text that front matter takes: without control characters but line ends and tabs. Empty: none is left. */
function accepted(text: string): string {
  return text
    .replaceAll(/\r\n?/g, "\n")
    .replaceAll(/[^\P{Cc}\n\t]/gu, "")
    .trim();
}

function said(comment: string | null): string {
  return comment === null ? "" : `: ${comment.replaceAll(/\s+/g, " ")}`;
}

function testOf({ question, rating, content, sources }: RatedReplyResource): FoundTest["test"] {
  const ask = accepted(question);
  const source = accepted(sources?.[0]?.heading ?? "");
  if (rating === "up") return { ask, ...(source && { source }) };
  const lines = accepted(content)
    .split("\n")
    .map((line) => line.trim());
  const longest = lines.reduce((one, other) => (other.length > one.length ? other : one), "");
  return { ask, ...(longest && { never: [...longest].slice(0, quoted).join("").trim() }) };
}

/** Prints the golden questions. */
export async function printTests(config: CommandConfig<"tests">, samples: string): Promise<void> {
  if (config.url === undefined) requireDatabase(config.settings, "that has questions");
  const tests = await whileOpen(connectToTwins(config, samples), ({ client }) =>
    writeTests(client, config.twinId),
  );
  process.stdout.write(tests);
}
