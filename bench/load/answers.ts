/**
 * Checks answers: a benchmark of wrong answers is worth nothing.
 *
 * @module
 */

import { tokens } from "../burst/reply.ts";

/** Finds what is wrong with a body. Undefined: nothing. */
export type Check = (body: Buffer) => string | undefined;

/** What the contenders answer. `reply`: the service's stream, with a final message; `deltas`: that of a bare server. */
export type AnswerKind = "reply" | "deltas";

const replyText = tokens.join("");

/** Creates the check for one kind of answer. A body that equals one that was right is not parsed again. */
export function createCheck(kind: AnswerKind): Check {
  const finalText = kind === "reply" ? replyText : undefined;
  let right: Buffer | undefined;
  return (body) => {
    if (right?.equals(body)) return undefined;
    const wrong = checkStream(body.toString(), finalText);
    if (wrong === undefined) right = Buffer.from(body);
    return wrong;
  };
}

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
