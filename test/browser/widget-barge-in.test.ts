/**
 * The widget where a visitor writes while a reply is written: the reply stops, and the words stand directly behind it.
 */

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { Browser, Page } from "playwright-core";
import { TwinClient } from "../../client/mod.ts";
import { assertAccessible, openPage } from "./browsers.ts";
import { lastingText, openPlayground, type Playground, readAlong } from "./playground.ts";
import { representativeBrowsers } from "./shared-browsers.ts";

/** What takes twenty seconds to repeat: it is interrupted, also on a machine that is slow. */
const story = lastingText.repeat(5);

for (const { name, skip, start } of representativeBrowsers) {
  describe(`a visitor who interrupts in ${name}`, { skip }, () => {
    let browser: Browser;
    let server: Playground;
    let client: TwinClient;

    before(async () => {
      server = await openPlayground();
      client = new TwinClient({ baseUrl: server.url, apiKey: await server.key() });
      browser = await start();
    });
    after(() => server?.[Symbol.asyncDispose]());

    /** A page with the widget, of an end user. `kept`: what another page of the visitor has kept for its tab. */
    async function open(endUser = `user-${Math.random()}`, kept: readonly [string, string][] = []) {
      const page = await openPage(browser, {}, /ERR_FAILED|Failed to load|NetworkError/);
      const address = `${server.url}/shop`;
      const html = `<!doctype html><html lang="en"><title>A shop</title><link rel="icon" href="data:,">
        <script type="module" src="/widget.js"></script>
        <main><h1>A shop</h1><twin-chat twin="echo" token-url="/token"></twin-chat></main>`;
      await page.route(address, (route) => route.fulfill({ contentType: "text/html", body: html }));
      await page.route(`${server.url}/token`, async (route) => {
        const { token } = await client.clientTokens.create({ endUser });
        await route.fulfill({ json: { token } });
      });
      await readAlong(page);
      await page.goto(address);
      if (kept.length > 0) {
        await page.evaluate((kept) => {
          for (const [key, value] of kept) sessionStorage.setItem(key, value);
        }, kept);
        await page.reload();
      }
      await page.locator("twin-chat [part~=greeting]").waitFor();
      return { page, endUser, [Symbol.asyncDispose]: () => page[Symbol.asyncDispose]() };
    }

    /** The reply that is written; for a moment after an interruption, the one before looks so, too. */
    const running = (page: Page) => page.locator("twin-chat [part~=reply][aria-busy]").last();
    const button = (page: Page, label: string) => page.getByRole("button", { name: label, exact: true });

    async function write(page: Page, content: string): Promise<void> {
      await page.locator("twin-chat textarea").fill(content);
      await page.locator("twin-chat textarea").press("Enter");
    }

    /** What is on a page, once nothing is on its way and no reply is written. */
    async function shown(page: Page): Promise<string[]> {
      await page.locator("twin-chat [aria-busy]").first().waitFor({ state: "detached" });
      return page.locator("twin-chat [part~=message]:not([part~=greeting])").allInnerTexts();
    }

    /** What is stored, and how each reply ended. */
    async function stored(endUser: string) {
      const [conversation] = (await client.conversations.list({ endUser })).data;
      const { data } = await client.messages.list(String(conversation?.id));
      return {
        contents: data.map(({ content }) => content),
        statuses: data.filter(({ role }) => role === "assistant").map(({ status }) => status),
      };
    }

    /** Another page of the same visitor, with the same conversation. */
    async function openBeside(page: Page, endUser: string) {
      const kept = await page.evaluate(() => Object.entries(sessionStorage));
      return open(endUser, kept as [string, string][]);
    }

    test("their words stop the first reply, and are answered; the page shows what is stored", async () => {
      await using visit = await open();
      const { page, endUser } = visit;
      await write(page, story);
      await running(page).getByText("word5 ").waitFor();
      await write(page, "word0 enough");
      await page.locator("twin-chat [part~=reply]:not([aria-busy])", { hasText: "word0 enough" }).waitFor();
      const { contents, statuses } = await stored(endUser);
      assert.deepEqual(statuses, ["cancelled", "completed"]);
      assert.deepEqual(await shown(page), contents);
      const [, cut = ""] = contents;
      assert.ok(cut.length < story.length && story.startsWith(cut), cut);
      assert.equal(await page.locator("twin-chat textarea").inputValue(), "");
      await page.reload();
      await page.locator("twin-chat [part~=reply]", { hasText: "enough" }).waitFor();
      assert.deepEqual(await shown(page), contents);
    });

    test("a second page sees the same, also where the interruption came from there", async () => {
      await using visit = await open();
      const { page, endUser } = visit;
      await write(page, "word0 first");
      await page.locator("twin-chat [part~=reply]:not([aria-busy])", { hasText: "word0 first" }).waitFor();
      await using other = await openBeside(page, endUser);
      const beside = other.page;
      for (const [by, content] of [
        [page, "word0 from here"],
        [beside, "word0 from there"],
      ] as const) {
        await write(page, story);
        for (const each of [page, beside]) await running(each).getByText("word5 ").waitFor();
        await write(by, content);
        for (const each of [page, beside])
          await each.locator("twin-chat [part~=reply]:not([aria-busy])", { hasText: content }).waitFor();
        const { contents } = await stored(endUser);
        assert.deepEqual(await shown(page), contents);
        assert.deepEqual(await shown(beside), contents);
      }
      assert.deepEqual((await stored(endUser)).statuses, [
        "completed",
        "cancelled",
        "completed",
        "cancelled",
        "completed",
      ]);
    });

    test("three interruptions in a row, each by a reply that runs, leave one that is answered to its end", async () => {
      await using visit = await open();
      const { page, endUser } = visit;
      for (let time = 0; time < 3; time++) {
        await write(page, `${story} ${time}`);
        await page.locator("twin-chat [part~=user]:not([aria-busy])", { hasText: `119 ${time}` }).waitFor();
        await running(page).getByText("word5 ").waitFor();
      }
      await write(page, "word0 enough");
      await page.locator("twin-chat [part~=reply]:not([aria-busy])", { hasText: "word0 enough" }).waitFor();
      const { contents, statuses } = await stored(endUser);
      assert.deepEqual(statuses, ["cancelled", "cancelled", "cancelled", "completed"]);
      assert.deepEqual(await shown(page), contents);
    });

    test("the button for sending is there beside the one that stops once there are words, by keyboard, too", async () => {
      await using visit = await open();
      const { page } = visit;
      await write(page, story);
      await running(page).getByText("word5 ").waitFor();
      assert.deepEqual(
        [await button(page, "Stop").isVisible(), await button(page, "Send").isVisible()],
        [true, false],
      );
      await page.locator("twin-chat textarea").fill("word0 enough");
      assert.deepEqual(
        [await button(page, "Stop").isVisible(), await button(page, "Send").isVisible()],
        [true, true],
      );
      await assertAccessible(page);
      await page.keyboard.press("Tab");
      await page.keyboard.press("Enter");
      await page.locator("twin-chat [part~=reply]:not([aria-busy])", { hasText: "word0 enough" }).waitFor();
      assert.equal(await button(page, "Stop").isVisible(), false);
    });

    test("words whose answer was lost stand there once", async () => {
      await using visit = await open();
      const { page, endUser } = visit;
      await write(page, story);
      await running(page).getByText("word5 ").waitFor();
      let lost = 0;
      await page.route("**/messages/stream", async (route) => {
        if (lost++ > 0) return route.fallback();
        await route.fetch();
        await route.abort();
      });
      await write(page, "word0 enough");
      await page.locator("twin-chat [part~=reply]:not([aria-busy])", { hasText: "word0 enough" }).waitFor();
      assert.ok(lost > 1);
      const { contents, statuses } = await stored(endUser);
      assert.deepEqual(statuses, ["cancelled", "completed"]);
      assert.deepEqual(await shown(page), contents);
    });

    test("words that are refused go back into the box, and the reply goes on", async () => {
      await using visit = await open();
      const { page, endUser } = visit;
      await write(page, lastingText);
      await running(page).getByText("word5 ").waitFor();
      await page.route("**/messages/stream", (route) =>
        route.fulfill({
          status: 429,
          headers: { "Retry-After": "18" },
          json: { error: { code: "rate_limited", message: "Too many.", requestId: "req_1" } },
        }),
      );
      await write(page, "word0 enough");
      await page.locator("twin-chat [part~=status]").getByText("Try again in 18 seconds.").waitFor();
      assert.equal(await page.locator("twin-chat textarea").inputValue(), "word0 enough");
      await page.locator("twin-chat [part~=reply]:not([aria-busy])", { hasText: "word119" }).waitFor();
      assert.deepEqual((await stored(endUser)).statuses, ["completed"]);
      assert.deepEqual(await shown(page), [lastingText, lastingText]);
    });
  });
}
