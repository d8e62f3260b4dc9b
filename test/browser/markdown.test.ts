/**
 * Hostile replies in a page: what is shown of them, and that nothing of them runs or loads.
 */

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, before, describe, test } from "node:test";
import { build } from "esbuild";
import type { Browser, Page } from "playwright-core";
import { patienceMs } from "./browsers.ts";
import type {} from "./pages/markdown.ts";
import { sharedBrowsers } from "./shared-browsers.ts";

const run = "globalThis.hit=1";

/** Texts that have run scripts, or loaded something, in other pages. */
const hostile = [
  `<script>${run}</script>`,
  `<img src=x onerror=${run}>`,
  `<img src="javascript:${run}">`,
  `<svg onload=${run}>`,
  `<svg><animate onbegin=${run} attributeName=x dur=1s>`,
  `<svg><a xlink:href="javascript:${run}"><text y=20>click</text></a></svg>`,
  `<math><mi xlink:href="data:x,<script>${run}</script>">`,
  `<math><mtext><table><mglyph><style><img src=x onerror=${run}>`,
  `<form><math><mtext></form><form><mglyph><style></math><img src onerror=${run}>`,
  `<noscript><p title="</noscript><img src=x onerror=${run}>">`,
  `<style>@import "https://evil.test/x.css";</style>`,
  `<link rel=stylesheet href="https://evil.test/x.css">`,
  `<iframe srcdoc="<script>parent.hit=1</script>"></iframe>`,
  `<object data="data:text/html,<script>${run}</script>"></object>`,
  `<embed src="https://evil.test/x.swf">`,
  `<base href="https://evil.test/"><a href="x">x</a>`,
  `<meta http-equiv=refresh content="0;url=javascript:${run}">`,
  `<details open ontoggle=${run}>`,
  `<input autofocus onfocus=${run}>`,
  `<video><source onerror=${run}></video>`,
  `<audio src=x onerror=${run}>`,
  `<body onload=${run}>`,
  `<a href="javascript:${run}">x</a>`,
  `<a id=location name=location href="https://evil.test">x</a>`,
  `<img name=createElement src=x><img id=getElementById src=y>`,
  `<!--<img src="--><img src=x onerror=${run}//">`,
  `<![CDATA[<script>${run}</script>]]>`,
  `[x](javascript:${run})`,
  `[x](JaVaScRiPt:${run})`,
  `[x](<java\u0000script:${run}>)`,
  `[x](\u0001javascript:${run})`,
  `[x](java\tscript:${run})`,
  `[x](&#106;avascript:${run})`,
  `[x](javascript&colon;${run})`,
  `[x](\u2028javascript:${run})`,
  `[x](vbscript:${run})`,
  `[x](data:text/html,<script>${run}</script>)`,
  `[x](file:///etc/passwd)`,
  `[x](//evil.test/x)`,
  `[x](blob:https://evil.test/x)`,
  `<javascript:${run}>`,
  `![x](https://evil.test/pixel.png)`,
  `![x](http://evil.test/pixel.png)`,
  `![x](javascript:${run})`,
  `![x](x" onerror="${run})`,
  `[![x](https://evil.test/pixel.png)](https://evil.test)`,
  `[x](https://evil.test "x\\" onmouseover=\\"${run}")`,
  `https://evil.test/"onmouseover="${run}`,
  `<https://evil.test/"onmouseover="${run}>`,
  `\`\`\`html" onmouseover="${run}\n<script>${run}</script>\n\`\`\``,
  `| <script>${run}</script> |\n| --- |\n| <img src=x onerror=${run}> |`,
  `# <svg onload=${run}>`,
  `- <img src=x onerror=${run}>`,
  `> <img src=x onerror=${run}>`,
  `{{constructor.constructor('${run}')()}}`,
  "__proto__ [x](__proto__) **constructor** `toString`",
];

async function read<Suite>(name: string): Promise<Suite> {
  return JSON.parse(await readFile(new URL(`../suites/${name}`, import.meta.url), "utf8"));
}

const { payloads } = await read<{ payloads: string[] }>("dompurify.json");
const { examples } = await read<{ examples: string[] }>("commonmark.json");

const allowed =
  /^(p|h3|pre|code|blockquote|hr|ul|ol|li|em|strong|del|br|div|table|thead|tbody|tr|th|td|span|a|img)( (dir|data-level|tabindex|class|start|align)=[\w-]+)*( href=(https?:\/\/|mailto:|tel:)\S* target=_blank rel=noopener noreferrer nofollow)?$/i;

for (const { name, skip, start } of sharedBrowsers) {
  describe(`hostile replies in ${name}`, { skip }, () => {
    let browser: Browser;
    let page: Page;
    const loaded: string[] = [];

    before(async () => {
      const { outputFiles } = await build({
        entryPoints: ["test/browser/pages/markdown.ts"],
        bundle: true,
        write: false,
      });
      browser = await start();
      page = await browser.newPage();
      page.setDefaultTimeout(patienceMs);
      await page.route("**/*", (route) => {
        loaded.push(route.request().url());
        return route.fulfill({ contentType: "text/html", body: "<!doctype html>" });
      });
      await page.goto("http://page.test/");
      await page.addScriptTag({ content: String(outputFiles[0]?.text) });
      loaded.length = 0;
    });
    after(() => page?.close());

    test("run nothing, load nothing, and make only elements of Markdown", async () => {
      for (const text of hostile) {
        const { elements, text: shown } = await page.evaluate(
          (text) => globalThis.showReply(text, false),
          text,
        );
        for (const element of elements) assert.match(element, allowed, text);
        assert.notEqual(shown, "", text);
      }
      assert.equal(await page.evaluate("globalThis.hit"), undefined);
      assert.deepEqual(loaded, []);
    });

    test("of the suites of DOMPurify and CommonMark run nothing, load nothing, and make only elements of Markdown", async () => {
      const dialogs: string[] = [];
      page.on("dialog", (dialog) => {
        dialogs.push(dialog.message());
        return dialog.dismiss();
      });
      const texts = [...payloads, ...examples];
      const shown = await page.evaluate(
        (texts) => texts.map((text) => globalThis.showReply(text, false).elements),
        texts,
      );
      const wrong = shown.flatMap((elements, at) =>
        elements.filter((element) => !allowed.test(element)).map((element) => [texts[at], element]),
      );
      assert.deepEqual(wrong, []);
      assert.deepEqual([payloads.length, examples.length, dialogs, loaded], [223, 652, [], []]);
    });

    test("load images, where that is allowed, over HTTPS alone and without telling their page", async () => {
      const texts = hostile.filter((text) => text.includes("!["));
      for (const text of texts) await page.evaluate((text) => globalThis.showReply(text, true), text);
      const { elements } = await page.evaluate(
        (text) => globalThis.showReply(text, true),
        "![A cat](https://images.test/cat.png)",
      );
      assert.deepEqual(elements.slice(1), [
        "img src=https://images.test/cat.png alt=A cat loading=lazy referrerpolicy=no-referrer",
      ]);
      assert.equal(await page.evaluate("globalThis.hit"), undefined);
      assert.ok(loaded.every((url) => url.startsWith("https://")));
    });

    test("nested thousandfold are shown", async () => {
      for (const mark of ["- ", "> ", "1. ", "*a ", "**a ", "[", "![", "a`", "| ", "  - a\n"]) {
        const text = `${mark.repeat(16_000)}end`;
        const { text: shown } = await page.evaluate((text) => globalThis.showReply(text, false), text);
        assert.match(shown, /end$/, mark);
        assert.equal(
          await page.evaluate("document.querySelector('main').getBoundingClientRect().height > 0"),
          true,
        );
      }
      const emphasis = `${"*a ".repeat(8_000)}end${"*".repeat(8_000)}`;
      const { elements } = await page.evaluate((text) => globalThis.showReply(text, false), emphasis);
      assert.ok(elements.length < 100);
    });
  });
}
