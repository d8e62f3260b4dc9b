/**
 * Checks answers: a benchmark of wrong answers is worth nothing.
 *
 * @module
 */

import { tokens } from "../burst/reply.ts";
import { pageOf } from "../list/twins.ts";

/** Finds what is wrong with a body. Undefined: nothing. */
export type Check = (body: Buffer) => string | undefined;

/**
 * What the contenders answer. `reply`: the service's stream, with a final message; `deltas`: that of a bare server;
 * `list`: the first page of all twins.
 */
export type AnswerKind = "reply" | "deltas" | "list";

const replyText = tokens.join("");

/** Creates the check for one kind of answer. A body that equals one that was right is not parsed again. */
export function createCheck(kind: AnswerKind): Check {
  const finalText = kind === "reply" ? replyText : undefined;
  const find = kind === "list" ? checkList : (text: string) => checkStream(text, finalText);
  let right: Buffer | undefined;
  return (body) => {
    if (right?.equals(body)) return undefined;
    const wrong = find(body.toString());
    if (wrong === undefined) right = Buffer.from(body);
    return wrong;
  };
}

function checkList(body: string): string | undefined {
  return withoutTimes(body) === list ? undefined : `the wrong list: ${body.slice(0, 300)}`;
}

/** JSON without the times of twins: this service has those of their files. */
function withoutTimes(json: string): string {
  return JSON.stringify(JSON.parse(json, (name, value) => (name.endsWith("At") ? "" : value)));
}

const list = withoutTimes(JSON.stringify(pageOf({ page: 1, limit: 20 })));

function checkStream(body: string, finalText: string | undefined): string | undefined {
  let text = "";
  let stored: string | undefined;
  for (const data of eventData(body)) {
    const event = JSON.parse(data);
    if (event.type === "delta") text += event.content;
    if (event.type === "complete") stored = event.message.content;
    if (event.type === "error") return `an error event: ${data}`;
  }
  if (text !== replyText) return `a stream with the wrong text: ${JSON.stringify(text.slice(0, 200))}`;
  return stored === finalText ? undefined : `a stream with the wrong final message: ${stored?.slice(0, 200)}`;
}

/** The data of each event, one line each, whether or not a space follows the colon. */
export function* eventData(text: string): Generator<string> {
  let at = text.startsWith("data:") ? 0 : text.indexOf("\ndata:") + 1;
  while (at > 0 || text.startsWith("data:", at)) {
    const end = text.indexOf("\n", at);
    yield text.slice(at + 5, end === -1 ? undefined : end);
    const next = end === -1 ? -1 : text.indexOf("\ndata:", end);
    if (next === -1) return;
    at = next + 1;
  }
}
