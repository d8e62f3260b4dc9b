/**
 * What the scripted model is asked to do. A question carries the order through every server, such as `[[live:pipe]]`.
 *
 * @module
 */

/** A stream that gets one token at once, and more while its group is told to run. It ends when its group does. */
export interface LiveScript {
  readonly kind: "live";
  readonly group: string;
}

/** A reply of so many tokens, at a rate; 0: all of them at once. The model counts how often it is asked for each id. */
export interface ReplyScript {
  readonly kind: "reply";
  readonly id: string;
  readonly tokens: number;
  readonly perSecond: number;
  /** How many tokens the text has that the model is asked to continue. */
  readonly from: number;
}

/** What a question asks the model to do. */
export type Script = LiveScript | ReplyScript;

/** The question that orders a live stream. */
export function liveQuestion(group: string): string {
  return `[[live:${group}]]`;
}

/** The question that orders a reply. */
export function replyQuestion(id: string, tokens: number, perSecond: number): string {
  return `[[reply:${id}:${tokens}:${perSecond}]]`;
}

const orders = /\[\[(live|reply):([\w-]+)(?::(\d+):(\d+))?\]\]/g;

/** The order in the last question of a request's body. Undefined: it has none. */
export function scriptIn(body: string): Script | undefined {
  const [, kind, name = "", tokens, perSecond] = [...body.matchAll(orders)].at(-1) ?? [];
  if (kind === "live") return { kind, group: name };
  if (kind !== "reply") return undefined;
  return { kind, id: name, tokens: Number(tokens), perSecond: Number(perSecond), from: continuedFrom(body) };
}

/** A request may have the beginning of the reply, and ask for the rest, as vLLM understands it. */
function continuedFrom(body: string): number {
  if (!body.includes('"continue_final_message":true')) return 0;
  return [...body.matchAll(/~(\w+):/g)].length;
}
