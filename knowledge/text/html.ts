/**
 * Turns HTML into Markdown, so that headings, lists and tables count in either form.
 *
 * @module
 */

import { Parser } from "htmlparser2";

/** What is written before and after the text of elements. */
const written: readonly (readonly [names: string, before: string, after: string])[] = [
  ["b strong", "**", "**"],
  ["em i", "*", "*"],
  ["del s", "~~", "~~"],
  ["code", "`", "`"],
  ["pre", "\n\n```\n", "\n```\n\n"],
  ["dt summary", "\n\n**", "**\n\n"],
  ["details", "\n\n", "\n\n---\n\n"],
  ["address article aside blockquote body center dd div dl fieldset figcaption figure", "\n\n", "\n\n"],
  ["footer form header hr html main nav ol p section ul", "\n\n", "\n\n"],
  ...[1, 2, 3, 4, 5, 6].map((level) => [`h${level}`, `\n\n${"#".repeat(level)} `, "\n\n"] as const),
];
const marks = new Map(
  written.flatMap(([names, before, after]) => names.split(" ").map((name) => [name, { before, after }])),
);
const unseen = new Set(["script", "style", "template", "head", "title", "noscript", "nav", "svg", "iframe"]);
/** The deepest nesting of elements: browsers write no deeper pages, and the parser needs quadratic time for it. */
const deepest = 200;
/** Lists that are deeper are written like this one: Markdown takes long to read them, and no one means them. */
const deepestList = 20;

/**
 * The Markdown of a page of HTML, with its title as the first heading if it has no other one.
 *
 * @example
 * ```ts
 * import { readHtml } from "twin-service/knowledge";
 *
 * console.log(readHtml("<h1>Hours</h1><p>From <b>nine</b>.")); // # Hours … From **nine**.
 * ```
 *
 * @throws {RangeError} if its elements are nested more than 200 deep.
 */
export function readHtml(html: string): string {
  const markdown = toMarkdown(html).trim();
  const [, title = ""] = /<title\b[^>]*>([^<]*)<\/title/iu.exec(html.slice(0, 20_000)) ?? [];
  return !title.trim() || /^# /mu.test(markdown) ? markdown : `# ${toMarkdown(title).trim()}\n\n${markdown}`;
}

function toMarkdown(html: string): string {
  const writer = new MarkdownWriter();
  writer.writeHtml(html);
  if (writer.isTooDeep) throw new RangeError(`HTML is nested more than ${deepest} deep.`);
  return writer.end();
}

/** Writes Markdown for HTML, with Markdown between its tags. Of tags without a meaning there, the text stays. */
export class MarkdownWriter {
  /** Whether elements are nested more than 200 deep. What follows in HTML is left out. */
  isTooDeep = false;
  readonly #parser = new Parser({
    onopentag: (name, attributes) => this.#open(name, attributes),
    ontext: (text) => this.#writeText(text),
    onclosetag: (name) => this.#close(name),
  });
  readonly #out: string[] = [];
  #depth = 0;
  #hidden = 0;
  #verbatim = 0;
  #lists = 0;
  #rows: string[][] = [];
  #cell: string | undefined;
  readonly #links: string[] = [];

  writeHtml(html: string): void {
    this.#parser.write(html);
  }

  write(markdown: string): void {
    if (this.#hidden > 0 || markdown === "") return;
    if (this.#cell === undefined) this.#out.push(markdown);
    else this.#cell += markdown.replace(/\s+/gu, " ");
  }

  end(): string {
    this.#parser.end();
    this.#closeTable(); // a table that is not closed
    return this.#out.join("");
  }

  #open(name: string, { href, src = "", alt }: Readonly<Record<string, string>>): void {
    this.isTooDeep = ++this.#depth > deepest;
    if (this.isTooDeep) this.#parser.pause();
    if (unseen.has(name)) this.#hidden++;
    if (name === "li") this.write(`\n${"  ".repeat(Math.min(Math.max(0, this.#lists - 1), deepestList))}- `);
    if (name === "br") this.write(this.#cell === undefined ? "  \n" : " ");
    if (name === "tr") this.#rows.push([]);
    if (name === "td" || name === "th") this.#cell = "";
    if (name === "img" && alt) this.write(`![${alt}](${src})`);
    if (name === "a") this.#links.push(href ? `](${href})` : "");
    if (name === "a" && href) this.write("[");
    if (name === "ul" || name === "ol") this.#lists++;
    if (this.#verbatim === 0) this.write(marks.get(name)?.before ?? "");
    if (name === "pre") this.#verbatim++;
  }

  #writeText(text: string): void {
    const isAtStart = this.#cell === undefined && (this.#out.at(-1) ?? "\n").endsWith("\n");
    const words = () => text.replace(isAtStart ? /^\s+/u : "", "").replace(/\s+/gu, " ");
    this.write(this.#verbatim > 0 ? text : words());
  }

  #close(name: string): void {
    this.#depth--;
    if (unseen.has(name)) this.#hidden--;
    if (name === "a") this.write(this.#links.pop() ?? "");
    if (name === "td" || name === "th") this.#closeCell();
    if (name === "table") this.#closeTable();
    if (name === "ul" || name === "ol") this.#lists--;
    if (name === "pre") this.#verbatim--;
    if (this.#verbatim === 0) this.write(marks.get(name)?.after ?? "");
  }

  #closeCell(): void {
    this.#rows.at(-1)?.push((this.#cell ?? "").replaceAll("|", "\\|").trim());
    this.#cell = undefined;
  }

  #closeTable(): void {
    const [head, ...rows] = this.#rows.splice(0).filter((row) => row.length > 0);
    this.#cell = undefined;
    if (!head) return;
    const toLine = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
    this.write(["\n", toLine(head), toLine(head.map(() => "---")), ...rows.map(toLine), "\n"].join("\n"));
  }
}
