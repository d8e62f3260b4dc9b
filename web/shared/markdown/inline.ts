/**
 * The text of Markdown within a block: emphasis, code, links, images, line breaks. Read in linear time, without recursion,
 * as the text may be anyone's.
 *
 * @module
 */

/** A piece of text in order. What is opened holds the pieces up to its `close`. */
export type Span =
  | { readonly type: "text" | "code"; readonly text: string }
  | { readonly type: "link"; readonly text: string; readonly href: string }
  | { readonly type: "image"; readonly text: string; readonly href: string }
  | { readonly type: "open"; readonly tag: "em" | "strong" | "del" | "a"; readonly href?: string }
  | { readonly type: "close" | "break" };

/** A run of `*`, `_` or `~`, and what it turned out to open and close. */
interface Run {
  readonly mark: string;
  readonly length: number;
  readonly opens: boolean;
  readonly closes: boolean;
  /** How many of its characters are still text. */
  left: number;
  readonly closing: Span[];
  readonly opening: Span[];
}

/** A `[` that may begin a link. */
interface Bracket {
  readonly at: number;
  readonly runs: number;
  readonly isImage: boolean;
}

const special = /[\\`*_~[\]!<&\n]|https?:\/\//g;
const escaped = /\\([!-/:-@[-`{-~])/y;
const ticks = /`+/g;
const lineBreak = /[ \t]*(?:\n|<br ?\/?>)[ \t]*/iy;
const angleLink = /<((?:https?:\/\/|mailto:)[^\s<>]*|[\w.+-]+@[\w.-]+)>/iy;
const bareLink = /https?:\/\/[^\s<]*[\w/][^\s<]*/iy;
const entity = /&(?:#(\d{1,7})|#x([\da-f]{1,6})|(amp|lt|gt|quot|apos|nbsp));/iy;
const named: Readonly<Record<string, string>> = {
  amp: "&",
  lt: "<",
  gt: ">",
  quot: '"',
  apos: "'",
  nbsp: "\u00a0",
};
/** What follows the text of a link: an address with at most one pair of parentheses inside another, and a title. */
const target =
  /\(\s*(?:<([^<>\n]*)>|((?:[^\s()\\]|\\.|\((?:[^\s()\\]|\\.)*\))*))(?:\s+(?:"(?:[^"\\]|\\.)*"|'[^']*'))?\s*\)/y;

/** Scripts without spaces between words, where emphasis begins and ends anywhere. */
const unspaced =
  /[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3000-\ua4cf\uac00-\ud7af\uf900-\ufaff\uff00-\uffef]/;
const punctuation = /[\p{P}\p{S}]/u;

/**
 * Reads the text of a block. `isUnfinished`: more of it will come, and what is not closed yet is shown as if it was, so that
 * nothing jumps.
 */
export function readInline(source: string, isUnfinished = false): Span[] {
  const text = isUnfinished ? withoutMarks(source) : source;
  const pieces: (Span | Run)[] = [];
  const brackets: Bracket[] = [];
  let runs: Run[] = [];
  let at = 0;
  const say = (words: string) => {
    if (words !== "") pieces.push({ type: "text", text: words });
  };
  const match = (pattern: RegExp) => {
    pattern.lastIndex = at;
    const found = pattern.exec(text);
    if (found) at = pattern.lastIndex;
    return found;
  };
  const lastTicks = lastOfEachLength(text);

  /** Ends a link or an image at `]`, if there is one. */
  const endLink = () => {
    const bracket = brackets.pop();
    at++;
    const found = bracket && match(target);
    const isCut = !found && isUnfinished && /^(\([^)]*)?$/.test(text.slice(at, at + 2_000));
    if (!bracket || !(found || isCut)) return say("]");
    const address = found?.[1] ?? found?.[2] ?? "";
    const href = address.replace(/\\([!-/:-@[-`{-~])/g, "$1").replaceAll("&amp;", "&");
    if (!found) at = text.length;
    pair(runs.splice(bracket.runs));
    const inner = pieces.splice(bracket.at + 1).map((piece): Span | Run => {
      return "type" in piece && piece.type === "link" ? { type: "text", text: piece.text } : piece;
    });
    if (bracket.isImage) {
      const text = inner.map((piece) => ("text" in piece ? piece.text : "")).join("");
      pieces[bracket.at] = { type: "image", text, href };
    } else {
      pieces[bracket.at] = { type: "open", tag: "a", href };
      for (const piece of inner) pieces.push(piece);
      pieces.push({ type: "close" });
      brackets.length = 0; // a link is in no other
    }
  };

  while (at < text.length) {
    special.lastIndex = at;
    const next = special.exec(text);
    say(text.slice(at, next?.index ?? text.length));
    if (!next) break;
    at = next.index;
    const mark = text.charAt(at);
    if (mark === "\\") {
      const found = match(escaped);
      if (found) say(found[1] ?? "");
      else if (text[++at] !== "\n") say("\\"); // at the end of a line it is that line's break
    } else if (mark === "`") {
      const [run = ""] = match(/`+/y) ?? [];
      const end = closingTicks(text, at, run.length, lastTicks);
      if (end < 0 && !isUnfinished) say(run);
      else {
        pieces.push({ type: "code", text: codeOf(text.slice(at, end < 0 ? undefined : end)) });
        at = end < 0 ? text.length : end + run.length;
      }
    } else if (mark === "*" || mark === "_" || mark === "~") {
      const run = runAt(text, at);
      pieces.push(run);
      runs.push(run);
      at += run.length;
    } else if (mark === "[" || (mark === "!" && text[at + 1] === "[")) {
      brackets.push({ at: pieces.length, runs: runs.length, isImage: mark === "!" });
      say(mark === "!" ? "![" : "[");
      at += mark === "!" ? 2 : 1;
    } else if (mark === "]") {
      endLink();
    } else if (mark === "&") {
      const [, decimal, hex, name] = match(entity) ?? [];
      const code = decimal === undefined ? Number.parseInt(hex ?? "0", 16) : Number(decimal);
      if (name !== undefined) say(named[name.toLowerCase()] ?? "");
      else if (code > 0 && code <= 0x10ffff) say(String.fromCodePoint(code));
      else if (decimal === undefined && hex === undefined) say(text.charAt(at++));
    } else if (mark === "\n" || mark === "<") {
      const found = match(lineBreak) ? undefined : match(angleLink);
      const address = found?.[1];
      if (address !== undefined)
        pieces.push({
          type: "link",
          text: address,
          href: address.includes(":") ? address : `mailto:${address}`,
        });
      else if (text.charAt(at) === "<" && at === next.index) say(text.charAt(at++));
      else pieces.push({ type: "break" });
    } else if (mark === "h" && !/\w/.test(text[at - 1] ?? "") && match(bareLink)) {
      const href = withoutEnd(text.slice(next.index, at));
      pieces.push({ type: "link", text: href, href });
      at = next.index + href.length;
    } else {
      say(next[0]);
      at += next[0].length;
    }
  }
  const cut = brackets.at(-1);
  if (isUnfinished && cut) pieces[cut.at] = { type: "text", text: "" }; // of a link that is being written
  const open = pair(runs);
  const closing = isUnfinished ? open.map(openToTheEnd) : [];
  runs = [];
  return [...pieces.flatMap((piece) => ("type" in piece ? [piece] : spansOf(piece))), ...closing];
}

/** A text without the marks at its end, of which it is not known yet what they will be. */
function withoutMarks(text: string): string {
  let end = text.length;
  while (end > 0 && "\\*_~`!<[".includes(text.charAt(end - 1))) end--;
  return text.slice(0, end);
}

/** The runs of backticks: where the last one of each length begins. */
function lastOfEachLength(text: string): Map<number, number> {
  const last = new Map<number, number>();
  ticks.lastIndex = 0;
  for (const { index, 0: run } of text.matchAll(ticks)) last.set(run.length, index);
  return last;
}

/** Where the run of backticks begins that ends a code span, or -1. */
function closingTicks(text: string, from: number, length: number, last: Map<number, number>): number {
  if ((last.get(length) ?? -1) < from) return -1;
  ticks.lastIndex = from;
  for (let run = ticks.exec(text); run; run = ticks.exec(text))
    if (run[0].length === length) return run.index;
  return -1;
}

function codeOf(text: string): string {
  const line = text.replaceAll("\n", " ");
  return /^ .*[^ ].* $/.test(line) ? line.slice(1, -1) : line;
}

/** The run of marks at an offset, and whether it may open or close emphasis by what is around it. */
function runAt(text: string, at: number): Run {
  const mark = text.charAt(at);
  let end = at;
  while (text[end] === mark) end++;
  const [before, after] = [text[at - 1] ?? " ", text[end] ?? " "];
  const isLoose = (one: string) => /\s/.test(one) || punctuation.test(one) || unspaced.test(one);
  const opensLeft = !/\s/.test(after) && (!punctuation.test(after) || isLoose(before));
  const closesRight = !/\s/.test(before) && (!punctuation.test(before) || isLoose(after));
  const isWord = mark === "_"; // which may be within a word
  return {
    mark,
    length: end - at,
    opens: opensLeft && (!isWord || !closesRight || punctuation.test(before)),
    closes: closesRight && (!isWord || !opensLeft || punctuation.test(after)),
    left: end - at,
    closing: [],
    opening: [],
  };
}

/** Pairs runs that open with runs that close, by the rules of CommonMark. Returns those that nothing has closed. */
function pair(runs: readonly Run[]): Run[] {
  const openers: Run[] = [];
  const bottoms: Record<string, number> = {}; // below which no opener fits a closer of a kind
  for (const closer of runs) {
    while (closer.closes && closer.left > 0) {
      const kind = `${closer.mark}${closer.opens}${closer.length % 3}`;
      const bottom = bottoms[kind] ?? 0;
      let at = openers.length - 1;
      for (; at >= bottom; at--) if (fits(openers[at], closer)) break;
      const opener = at < bottom ? undefined : openers[at];
      if (!opener) {
        bottoms[kind] = openers.length;
        break;
      }
      openers.length = at + 1;
      const used = opener.left > 1 && closer.left > 1 ? 2 : 1;
      opener.left -= used;
      closer.left -= used;
      opener.opening.unshift({ type: "open", tag: tagOf(closer.mark, used) });
      closer.closing.push({ type: "close" });
      if (opener.left === 0) openers.pop();
      for (const each in bottoms) bottoms[each] = Math.min(bottoms[each] ?? 0, openers.length);
    }
    if (closer.opens && closer.left > 0) openers.push(closer);
  }
  return openers;
}

function fits(opener: Run | undefined, closer: Run): boolean {
  if (opener?.mark !== closer.mark) return false;
  if (closer.mark === "~") return opener.length === 2 && closer.length === 2; // one may be "about"
  const isThree = (opener.length + closer.length) % 3 === 0 && closer.length % 3 !== 0;
  return !(isThree && (opener.closes || closer.opens));
}

function tagOf(mark: string, used: number): "em" | "strong" | "del" {
  if (mark === "~") return "del";
  return used === 2 ? "strong" : "em";
}

/** Has a run open what it will open, up to the end of the text so far. */
function openToTheEnd(run: Run): Span {
  run.opening.push({ type: "open", tag: tagOf(run.mark, Math.min(run.left, 2)) });
  run.left = 0;
  return { type: "close" };
}

function spansOf({ mark, left, closing, opening }: Run): Span[] {
  const rest: Span[] = left > 0 ? [{ type: "text", text: mark.repeat(left) }] : [];
  return [...closing, ...rest, ...opening];
}

/** An address in a text, after its `https://`, without the marks of the sentence behind it. */
function withoutEnd(address: string): string {
  let end = address.length;
  for (; end > 8; end--) {
    const last = address.charAt(end - 1);
    if (last === ")" ? address.includes("(") : !/[?!.,:;*_~'"\]]/.test(last)) break;
  }
  return address.slice(0, end);
}
