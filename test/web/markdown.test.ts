/**
 * The pages' reader of Markdown: what it makes of the texts that models write, finished or not, and of hostile ones.
 */

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { describe, test } from "node:test";
import { marked } from "marked";
import { toHtml } from "./markdown-html.ts";

/** HTML without what only looks differ in. */
function normal(html: string): string {
  return html
    .replaceAll(/ (align|class|title)="[^"]*"/g, "")
    .replaceAll(/\s*(<\/?\w[^>]*>)\s*/g, "$1")
    .replaceAll(/<br\s*\/?>/g, "<br>")
    .replaceAll("&#39;", "'")
    .trim();
}

/** What another reader, which holds to CommonMark and GitHub's additions, makes of a text. */
function theirs(text: string): string {
  return normal(marked.parse(text, { gfm: true, breaks: true, async: false }));
}

const likeOthers = [
  "- **Chocolate, nuts, caramel:**\n- plain\n- *em* and `code`",
  "1. one\n2. two\n   - a\n   - b\n3. three",
  "- a\n\n- b\n\n- c",
  "- a\n  - b\n    - c\n      - d\n- e",
  "* a\n\n  para\n\n* b",
  "# H1\n## H2 ##\ntext\n### H3\n#no heading\n#",
  "***bold em*** **a *b* c** *a **b** c* _a_ snake_case_word __b__ **bold**text a*b*c",
  "5 * 3 * 2, 2*3*4 = 24, a ** b ** c, **, **a, *a, `a, [a, [a](b, a_b_c, foo__bar__baz",
  "~~gone~~, but ~5 to ~10",
  "`a``b` ``c`d`` `unclosed",
  '[a](http://x.y "t") and [b](<http://z>), [1] and [2], [a [b](http://c) d](http://e), *a [b*](http://c)',
  "[x](http://a_(b)_c) ![i](http://x/y.png) [![i](http://s)](http://l)",
  "https://a.b/c?d=e&f=g. And (https://x.y/z). <https://a.b> <me@x.y> https:// http",
  "| a | b |\n|---|:-:|\n| 1 | 2 |\n| x | c \\| d |\n\nafter",
  "a | b\n--- | ---\n1 | 2",
  "> quote\nlazy\n\n> - x\n> - y\n\n> > deep",
  "```js\nlet a = 1 < 2;\n```\nafter\n\n~~~\na\n```\n~~~\n\n    indented\n\n    code\n\nafter",
  "---\n\n***\n\n- - -\n\nTitle\n===\n\nSub\n---\n\ntext",
  "a  \nb\\\nc \\*not em\\* \\[x\\] &lt;b&gt; &amp; &#169; &#xA9;",
  "text\n- list\n- more\n\ntext\n2. no list",
  "1. a\n\n2. b\n\n   c\n\n10. ten\n11. eleven\n\n1) a\n2) b",
  "- a\n```\ncode\n```\n\n- a\n  ```\n  code\n  ```\n- b\n+ c",
  '**Note:**text "**x**" **a**, **b**. __init__.py',
];

const folder = new URL("../../twins/", import.meta.url);
const twins = readdirSync(folder).filter((name) => name.endsWith(".md"));

describe("Markdown", () => {
  for (const text of likeOthers) {
    test(`is read as others read it: ${JSON.stringify(text).slice(0, 60)}`, () => {
      assert.equal(normal(toHtml(text)), theirs(text));
    });
  }

  for (const name of twins) {
    test(`of the sample ${name} is read as others read it`, () => {
      const text = readFileSync(new URL(name, folder), "utf8").replaceAll(
        /^---\n.*?\n---\n|<!--.*?-->/gs,
        "",
      );
      assert.equal(normal(toHtml(text)), theirs(text));
    });
  }

  for (const [what, text, html] of [
    ["HTML is text", "<b onclick=x>hi</b>", "<p>&lt;b onclick=x&gt;hi&lt;/b&gt;</p>"],
    ["a break in a cell breaks it", "a<br>b", "<p>a<br>b</p>"],
    [
      "emphasis ends where a script has no spaces",
      "**「重要」**です",
      "<p><strong>「重要」</strong>です</p>",
    ],
    [
      "a list in a list needs two spaces",
      "1. a\n  - b\n2. c",
      "<ol><li>a<ul><li>b</li></ul></li><li>c</li></ol>",
    ],
  ] as const) {
    test(`departs from others: ${what}`, () => {
      assert.equal(toHtml(text), html);
    });
  }
});

/** The words that a reader sees. */
function wordsOf(html: string): string {
  return html
    .replaceAll(/<(br|hr|ul|ol|\/(p|li|h\d|t[dh]|pre))>/g, " ")
    .replaceAll(/<[^>]*>/g, "")
    .replaceAll(/\s+/g, " ")
    .trim();
}

describe("Markdown that is being written", () => {
  for (const text of [
    "# Title\n\nSome **bold text** and *em*, `code`, a [link](https://example.com/a_b) and https://x.y/z.",
    "Text before a list:\n- **Chocolate, nuts, caramel:** yes\n- two\n  - nested **x**\n\n1. one\n2. two\n\nend",
    "Code:\n\n```js\nlet a = 1;\n// **not bold**\n```\n\nafter it ***both*** and __under__ snake_case.",
    "A table:\n\n| a | b |\n|---|---|\n| 1 | **2** |\n| 3 | 4 |\n\n> quote\n> more\n\n---\n\nEnd ~~gone~~ a * b.",
  ]) {
    test(`shows no mark that goes again: ${JSON.stringify(text).slice(0, 50)}`, () => {
      const whole = wordsOf(toHtml(text));
      for (let length = 1; length < text.length; length++) {
        const words = wordsOf(toHtml(text.slice(0, length), true));
        assert.ok(whole.startsWith(words), `${JSON.stringify(text.slice(0, length))}: ${words}`);
      }
    });
  }

  test("shows lists, code and tables as such from their first line on", () => {
    assert.match(toHtml("- a", true), /^<ul>/);
    assert.match(toHtml("```js\nlet", true), /^<pre>/);
    assert.match(toHtml("| a | b", true), /^<table>/);
    assert.match(toHtml("**bol", true), /^<p><strong>bol<\/strong>/);
  });
});

describe("hostile Markdown", () => {
  const many = 16_000;
  for (const [what, text] of Object.entries({
    "lists in lists": "- ".repeat(many),
    "quotes in quotes": "> ".repeat(many),
    "numbers in numbers": "1. ".repeat(many),
    emphasis: "*a **b ".repeat(many / 4),
    "emphasis that ends": "*a **b ".repeat(many / 8) + "a** b* ".repeat(many / 8),
    brackets: "[".repeat(many),
    "brackets that end": `${"[".repeat(many)}a${"](b)".repeat(many)}`,
    "images in images": `${"![".repeat(many)}a${"](b)".repeat(many)}`,
    "addresses without end": "[a](".repeat(many),
    titles: '[a](b "'.repeat(many / 4),
    "code without end": Array.from({ length: 250 }, (_, length) => `${"`".repeat(length + 1)}a`).join(""),
    "wide tables": `${"|a".repeat(200)}\n${"|-".repeat(200)}\n${"|x\n".repeat(5_000)}`,
    spaces: `- ${" ".repeat(many)}a`,
    "links without end": "http://a)".repeat(many / 4),
    "lazy lines": `> a\n${"b\n".repeat(many)}`,
    "blank lines": `- a\n${"\n".repeat(many)}b`,
    entities: "&#x".repeat(many / 2),
  })) {
    test(`is read in linear time: ${what}`, () => {
      for (const isUnfinished of [false, true]) {
        const before = process.cpuUsage();
        const html = toHtml(text, isUnfinished);
        const { user } = process.cpuUsage(before);
        assert.ok(user < 1_500_000, `${user / 1_000} ms of the processor`); // usually 50; a square of the length takes minutes
        assert.ok(isUnfinished || html.length > 0);
      }
    });
  }
});
