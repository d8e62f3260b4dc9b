/**
 * Makes golden questions of what people asked in vain, and of what they thought of replies.
 *
 * @module
 */

import { Document, isMap } from "yaml";
import type { TwinClient } from "../../client/mod.ts";
import type { RatedReplyResource } from "../../core/wire/schemas.ts";
import { findTwin } from "./client.ts";

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
      test: { ask },
      comment: `asked ${count === 1 ? "once" : `${count} times`}, without an answer`,
    });
  }
  const asked = new Set(found.map(({ test }) => test.ask));
  for await (const reply of client.feedback.list({ twinId, limit: 100 })) {
    if (asked.has(reply.question)) continue; // the newest feedback counts
    asked.add(reply.question);
    found.push({ test: testOf(reply), comment: `thumb ${reply.rating}${said(reply.comment)}` });
  }
  const document = new Document({ tests: found.map(({ test }) => test) });
  found.forEach(({ comment }, index) => {
    const item = document.getIn(["tests", index]);
    if (isMap(item)) item.commentBefore = ` ${comment}`;
  });
  return document.toString({ lineWidth: 0 });
}

function said(comment: string | null): string {
  return comment === null ? "" : `: ${comment.replaceAll(/\s+/g, " ")}`;
}

function testOf({ question: ask, rating, content, sources }: RatedReplyResource): FoundTest["test"] {
  const [source] = sources ?? [];
  if (rating === "up") return { ask, ...(source && { source: source.heading }) };
  const lines = content.split("\n").map((line) => line.trim());
  const longest = lines.reduce((one, other) => (other.length > one.length ? other : one), "");
  return { ask, ...(longest && { never: [...longest].slice(0, quoted).join("").trim() }) };
}
