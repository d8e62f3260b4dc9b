/**
 * The desk where names, titles and questions are as long as may be, and where they are written from right to left.
 */

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { Browser, Locator, Page } from "playwright-core";
import { TwinClient } from "../../client/mod.ts";
import { assertFitsScreens, openPage } from "./browsers.ts";
import { openPlayground, type Playground } from "./playground.ts";
import { representativeBrowsers } from "./shared-browsers.ts";

const twin = (name: string) => `---
name: ${name}
description: ${"d".repeat(200)}
---
## ${"h".repeat(200)}

It is forty metres tall.
`;

const asked = "מה שלומך?";

for (const { name, skip, start } of representativeBrowsers) {
  describe(`names and words on the desk in ${name}`, { skip }, () => {
    let browser: Browser;
    let server: Playground;
    before(async () => {
      server = await openPlayground({}, { "keeper.md": twin("n".repeat(100)) });
      browser = await start();
      const app = new TwinClient({ baseUrl: server.url, apiKey: await server.key() });
      const [endUser, title, author] = ["e".repeat(128), "t".repeat(200), "a".repeat(100)];
      const { id } = await app.conversations.create({ twinId: "keeper", endUser, title });
      const { id: replyId } = await app.messages.send(id, { content: asked });
      await app.feedback.give(id, replyId, { rating: "down", comment: "c".repeat(200) });
      await app.conversations.update(id, { answeredBy: "person" });
      await app.messages.say(id, { content: "s".repeat(200), author });
      const again = await app.conversations.create({ twinId: "keeper" });
      await app.messages.send(again.id, { content: `${asked} ${"q".repeat(200)}` });
      const headers = { Authorization: `Bearer ${await server.token()}`, "Content-Type": "text/markdown" };
      const own = { method: "PUT", headers, body: twin("o".repeat(100)) };
      assert.equal((await fetch(`${server.url}/api/v1/twins/${"i".repeat(60)}/file`, own)).status, 201);
    });
    after(() => server[Symbol.asyncDispose]());

    async function open(): Promise<Page & AsyncDisposable> {
      const page = await openPage(browser);
      await server.open(page);
      await page.locator("#twins button").first().waitFor();
      return page;
    }

    const views: Readonly<Record<string, (page: Page) => Promise<Locator>>> = {
      async talk(page) {
        await page.locator("#conversations button", { hasText: "ttt" }).click();
        return page.locator("#messages .author");
      },
      async inbox(page) {
        await page.click("#tab-inbox");
        await page.locator("#inbox-list button").click();
        return page.locator("#inbox-messages .author");
      },
      async questions(page) {
        await page.click("#tab-questions");
        return page.locator("#questions .asked").last();
      },
      async "own twins"(page) {
        await page.click("#tab-own-twins");
        await page.locator("#own-twins [data-twin^=i]").click();
        return page.locator("#twin-text");
      },
    };

    for (const [view, show] of Object.entries(views)) {
      test(`long ones fit all screens: ${view}`, async () => {
        await using page = await open();
        await (await show(page)).waitFor();
        await assertFitsScreens(page);
        await page.setViewportSize({ width: 360, height: 800 });
        const wide = await page.evaluate(() =>
          [...document.querySelectorAll("main, .chat, .people, .sheet, .messages")]
            .filter(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth)
            .map(({ className }) => className),
        );
        assert.deepEqual(wide, []);
      });
    }

    test("words are shown in their own direction: in the talk, in the inbox and among questions", async () => {
      await using page = await open();
      for (const view of ["talk", "inbox", "questions"] as const) {
        await (await views[view]?.(page))?.waitFor();
        const words = page.locator(".message.user:visible, .asked:visible", { hasText: asked }).first();
        const [first, last] = await words.evaluate(({ firstChild }) => {
          const text = firstChild as Text;
          return [0, text.data.indexOf("?")].map((at) => {
            const range = document.createRange();
            range.setStart(text, at);
            range.setEnd(text, at + 1);
            return range.getBoundingClientRect().left;
          });
        });
        assert.ok(Number(first) > Number(last), `${view}: ${first}, ${last}`);
      }
    });
  });
}
