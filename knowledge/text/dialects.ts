/**
 * Makes plain Markdown of what site generators add to it: MDX, Liquid and shortcodes, attribute lists, admonitions. Each line
 * stays a line, so that faults keep their place.
 *
 * @module
 */

const fence = /^\s*(`{3,}|~{3,})/u;
// `!!! note "Title"` of MkDocs, whose text is indented; `??? question "Title"` is folded.
const indented = /^(?:!!!|\?\?\?\+?)\s+[\w-]+(?:\s+[\w-]+)*\s*(?:"(.*)")?\s*$/u;
// `:::tip Title` and `:::tip[Title]` of Docusaurus and VitePress, which end with `:::`.
const fenced = /^\s*:{3,}\s*(?:\{?[\w-]+\}?\s*(?:\[(.*)\]|(.*)))?$/u;
const template = /\{%.*?%\}|\{\{.*?\}\}|\{:[^{}\n]*\}|\{\/\*.*?\*\/\}/gu;
const attributes = /\s+\{\s*(?:[.#][\w-]+\s*)+\}\s*$/u;
const mdx =
  /^(?:import\s.*\bfrom\s+["'].*["'];?|import\s+["'].*["'];?|export\s+(?:const|default|function|let)\s.*)\s*$/u;

/** `isMdx`: whether lines that import or export are code. */
export function toPlainMarkdown(lines: readonly string[], isMdx: boolean): string[] {
  let code: string | undefined;
  let inside = false; // an admonition whose text is indented
  let comment = false;
  return lines.map((line) => {
    const mark = fence.exec(line)?.[1];
    if (code !== undefined) {
      if (mark?.startsWith(code)) code = undefined;
      return inside ? line.replace(/^ {4}/u, "") : line;
    }
    if (comment) {
      comment = !line.includes("*/}");
      return "";
    }
    if (mark !== undefined && !/`{3,}.*`/u.test(line)) code = mark;
    const title = indented.exec(line);
    if (title) {
      inside = true;
      return title[1] ? `**${title[1]}**` : "";
    }
    if (inside && line.trim() !== "" && !/^(?: {4}|\t)/u.test(line)) inside = false;
    const text = inside ? line.replace(/^(?: {4}|\t)/u, "") : line;
    if (code !== undefined) return text;
    const box = fenced.exec(text);
    if (box) return (box[1] ?? box[2])?.trim() ? `**${(box[1] ?? box[2] ?? "").trim()}**` : "";
    if (isMdx && mdx.test(text)) return "";
    if (/^\s*\{\/\*/u.test(text) && !text.includes("*/}")) {
      comment = true;
      return "";
    }
    if (!text.includes("{")) return text.replace(/^\s*>\s*\[!\w+\]\s*$/u, ">");
    return outsideCode(text, (part) => part.replace(template, "")).replace(attributes, "");
  });
}

/** Changes a line where it is not between backticks. */
function outsideCode(line: string, change: (part: string) => string): string {
  return line
    .split(/(`+[^`]*`+)/u)
    .map((part, at) => (at % 2 === 0 ? change(part) : part))
    .join("");
}
