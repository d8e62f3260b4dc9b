/**
 * Turns blocks of HTML within Markdown into Markdown, so that headings, lists and tables count in either form.
 *
 * @module
 */

import { Parser } from "htmlparser2";

const breaks = new Set(
  "address article aside blockquote body center dd details div dl fieldset figcaption figure footer form header hr html main nav ol p section ul".split(
    " ",
  ),
);
const unseen = new Set(["script", "style", "template", "head", "title", "noscript", "nav", "svg", "iframe"]);
/** The deepest nesting of elements: browsers write no deeper pages, and the parser needs quadratic time for it. */
const deepest = 200;
/** Lists that are deeper are written like this one: Markdown takes long to read them, and no one means them. */
const deepestList = 20;
const marks: ReadonlyMap<string, string> = new Map([
  ["b", "**"],
  ["strong", "**"],
  ["em", "*"],
  ["i", "*"],
  ["code", "`"],
  ["del", "~~"],
  ["s", "~~"],
]);

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
  const title = /<title\b[^>]*>([^<]*)<\/title/iu
    .exec(html.slice(0, 20_000))?.[1]
    ?.replace(/\s+/gu, " ")
    .trim();
  return !title || /^# /mu.test(markdown) ? markdown : `# ${toMarkdown(title).trim()}\n\n${markdown}`;
}

/**
 * The Markdown for a block of HTML. Tags without a meaning there are left out, their text stays.
 *
 * @throws {RangeError} if its elements are nested more than 200 deep.
 */
export function toMarkdown(html: string): string {
  const writer = new MarkdownWriter();
  let depth = 0;
  const parser = new Parser(
    {
      onopentag: (name, attributes) => {
        if (++depth > deepest) throw new RangeError(`HTML is nested more than ${deepest} deep.`);
        writer.open(name, attributes);
      },
      ontext: (text) => writer.text(text),
      onclosetag: (name, isImplied) => {
        depth--;
        writer.close(name, isImplied);
      },
    },
    { decodeEntities: true },
  );
  parser.end(html);
  return writer.end();
}

class MarkdownWriter {
  #out = "";
  #hidden = 0;
  #verbatim = 0;
  #depth = 0;
  #rows: string[][] = [];
  #cell: string | undefined;
  readonly #links: string[] = [];

  open(name: string, attributes: Readonly<Record<string, string>>): void {
    const level = /^h([1-6])$/u.exec(name)?.[1];
    if (unseen.has(name)) this.#hidden++;
    else if (level) this.#write(`\n\n${"#".repeat(Number(level))} `);
    else if (name === "summary" || name === "dt") this.#write("\n\n**");
    else if (name === "li")
      this.#write(`\n${"  ".repeat(Math.min(Math.max(0, this.#depth - 1), deepestList))}- `);
    else if (name === "br") this.#write(this.#cell === undefined ? "  \n" : " ");
    else if (name === "pre") this.#openCode();
    else if (name === "tr") this.#rows.push([]);
    else if (name === "td" || name === "th") this.#cell = "";
    else if (name === "img" && attributes.alt) this.#write(`![${attributes.alt}](${attributes.src ?? ""})`);
    else if (name === "a") this.#openLink(attributes.href);
    else if (marks.has(name) && this.#verbatim === 0) this.#write(marks.get(name) ?? "");
    else if (breaks.has(name)) this.#write("\n\n");
    if (name === "ul" || name === "ol") this.#depth++;
  }

  text(text: string): void {
    if (this.#hidden > 0) return;
    this.#write(this.#verbatim > 0 ? text : text.replace(/\s+/gu, " "));
  }

  /** `isImplied`: the block ends before the tag does. */
  close(name: string, isImplied: boolean): void {
    if (unseen.has(name)) this.#hidden--;
    else if (/^h[1-6]$/u.test(name)) this.#write("\n\n");
    else if (name === "summary" || name === "dt") this.#write("**\n\n");
    else if (name === "pre") this.#closeCode();
    else if (name === "td" || name === "th") this.#closeCell();
    else if (name === "table") this.#closeTable();
    else if (name === "details" && !isImplied) this.#write("\n\n---\n\n");
    else if (name === "a") this.#write(this.#links.pop() ?? "");
    else if (marks.has(name) && this.#verbatim === 0) this.#write(marks.get(name) ?? "");
    else if (breaks.has(name)) this.#write("\n\n");
    if (name === "ul" || name === "ol") this.#depth--;
  }

  end(): string {
    this.#closeTable(); // a table that is not closed
    return this.#out.replace(/^ (?=\S)/gmu, "");
  }

  #write(text: string): void {
    if (this.#hidden > 0) return;
    if (this.#cell === undefined) this.#out += text;
    else this.#cell += text.replace(/\s+/gu, " ");
  }

  #openCode(): void {
    this.#write("\n\n```\n");
    this.#verbatim++;
  }

  #closeCode(): void {
    this.#verbatim--;
    this.#write("\n```\n\n");
  }

  #openLink(href: string | undefined): void {
    this.#write(href ? "[" : "");
    this.#links.push(href ? `](${href})` : "");
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
    this.#out += ["\n", toLine(head), toLine(head.map(() => "---")), ...rows.map(toLine), "\n"].join("\n");
  }
}
