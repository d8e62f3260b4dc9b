/**
 * The desk's list of conversations: whose they are, how they begin, when they were used; a choice among them, and a search.
 */

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { Browser, BrowserContextOptions } from "playwright-core";
import { TwinClient } from "../../client/mod.ts";
import { createGate } from "../support/gate.ts";
import { assertAccessible, assertFitsScreens, openPage, type WatchedPage } from "./browsers.ts";
import { openPlayground, type Playground, replyOn, send } from "./playground.ts";
import { representativeBrowsers } from "./shared-browsers.ts";

const echo = `---
name: Echo
engine: echo
handover: true
---
`;

for (const { name, skip, start } of representativeBrowsers) {
  describe(`the list of conversations in ${name}`, { skip }, () => {
    let browser: Browser;
    let server: Playground;
    let app: TwinClient;
    before(async () => {
      server = await openPlayground({}, { "echo.md": echo });
      app = new TwinClient({ baseUrl: server.url, apiKey: await server.key() });
      browser = await start();
      const { id } = await app.conversations.create({ twinId: "echo", endUser: "visitor-1" });
      await app.messages.send(id, { content: "Where is the  Ａccordion\nthat I ordered?" });
      for (let made = 0; made < 40; made++)
        await app.conversations.create({ twinId: "echo", title: `Bulk ${made}` });
      const waiting = await app.conversations.create({ twinId: "echo", endUser: "visitor-2" });
      await app.conversations.update(waiting.id, { answeredBy: "person" });
      await app.messages.send(waiting.id, { content: "Is anybody there?" });
      await app.conversations.create({ twinId: "echo", endUser: "visitor-2" });
    });
    after(() => server[Symbol.asyncDispose]());

    async function open(options?: BrowserContextOptions): Promise<WatchedPage> {
      const page = await openPage(browser, options);
      await server.open(page);
      await page.locator("#conversations [data-conversation^=conv]").first().waitFor({ state: "attached" });
      return page;
    }

    /** The rows, without the one that begins a new conversation, as soon as they are these. */
    async function assertListed(page: WatchedPage, expected: readonly RegExp[]): Promise<void> {
      const rows = page.locator("#conversations [data-conversation^=conv]");
      await page.waitForFunction(
        (count) => document.querySelectorAll("#conversations [data-conversation^=conv]").length === count,
        expected.length,
      );
      for (const [at, words] of expected.entries()) await rows.nth(at).filter({ hasText: words }).waitFor();
    }

    test("says who talks, how it began and when, and reads first words of what is in view alone", async () => {
      await using page = await openPage(browser);
      const read: string[] = [];
      page.on("request", (request) => {
        const [, id] = /conversations\/(\w+)\/messages\?limit=1/.exec(request.url()) ?? [];
        if (id) read.push(id);
      });
      await server.open(page);
      const row = page.locator("#conversations button", { hasText: "Is anybody there?" });
      await row.waitFor();
      assert.match(await row.innerText(), /^Is anybody there\?\s+visitor-2 · (just now|\d+ minutes? ago)$/);
      const [{ id } = { id: "" }] = (await app.conversations.list({ waiting: true })).data;
      assert.deepEqual(read, [id]);
    });

    test("shows those of one person, or who wait for one", async () => {
      await using page = await open();
      await page.selectOption("#conversations-filter", { label: "Waiting for a person" });
      await assertListed(page, [/Is anybody there\?/]);
      await page.selectOption("#conversations-filter", { label: "visitor-2" });
      await assertListed(page, [/visitor-2/, /Is anybody there\?/]);
      await page.selectOption("#conversations-filter", { label: "All" });
      await page.locator("#conversations", { hasText: "Bulk 39" }).waitFor();
    });

    test("searches titles, people and first words, and further than it has read", async () => {
      await using page = await open();
      const state = page.locator("#conversations-state");
      await page.fill("#conversations-search", "BULK 17");
      await assertListed(page, [/Bulk 17/]);
      await page.fill("#conversations-search", "accordion");
      await assertListed(page, []);
      assert.match(await state.innerText(), /^0 found in \d+ of 4\d\.$/);
      await page.getByRole("button", { name: "Search further" }).click();
      await assertListed(page, [/Where is the Ａccordion that I ordered\?\s*visitor-1/]);
      assert.match(await state.innerText(), /^1 found in 4\d of 4\d\.$/);
      await page.locator("#conversations-more").waitFor({ state: "hidden" });
      await page.locator("#conversations button", { hasText: "visitor-1" }).click();
      await page.locator(".message.twin", { hasText: "that I ordered" }).waitFor();
    });

    test("shows more of a long list, and gives the focus to the first that is new", async () => {
      await using page = await open();
      await page.getByRole("button", { name: "Show more" }).click();
      await page.locator("#conversations button:focus", { hasText: "Bulk" }).waitFor();
      const rows = page.locator("#conversations [data-conversation^=conv]");
      assert.equal(await rows.count(), (await app.conversations.list()).pagination.total);
    });

    test("keeps what is written while a conversation is opened, and where it cannot be", async () => {
      const { id } = await app.conversations.create({ twinId: "echo", title: "Late" });
      await app.messages.send(id, { content: "One?" });
      const refused = { error: { code: "insufficient_scope", message: "Not this one." } };
      await using page = await openPage(browser, {}, /status of 403/);
      await server.open(page);
      const row = page.locator("#conversations button", { hasText: "Late" });
      const write = async (content: string) => {
        await page.fill("#content", content);
        await page.press("#content", "Enter");
      };
      const read = `**/${id}/messages?*`;
      const [asked, opened] = [createGate(), createGate()];
      await page.route(read, async (route) => {
        asked.open();
        await opened.opened;
        await route.continue();
      });
      await row.click();
      await asked.opened;
      await write("Two?");
      assert.equal(await page.inputValue("#content"), "Two?");
      opened.open();
      await page.locator(".message.user", { hasText: "One?" }).waitFor();
      await page.press("#content", "Enter");
      await page.locator(".message.user", { hasText: "Two?" }).waitFor();
      assert.equal(await replyOn(page), "Two?");
      await page.locator("#conversations button", { hasText: "New conversation" }).click();
      await page.unroute(read);
      await page.route(read, (route) => route.fulfill({ status: 403, json: refused }));
      await row.click();
      await page.locator("#problem", { hasText: "Not this one." }).waitFor();
      await write("Three?");
      await page.locator(".message.user", { hasText: "Three?" }).waitFor();
      assert.equal(await replyOn(page), "Three?");
      assert.equal((await app.messages.list(id)).pagination.total, 4);
    });

    test("calls a new conversation by whole characters", async () => {
      {
        await using page = await open();
        await send(page, `a${"🌊".repeat(70)}`);
        await replyOn(page);
      }
      const [{ id, title } = { id: "", title: "" }] = (await app.conversations.list({ limit: 1 })).data;
      assert.equal(title, `a${"🌊".repeat(59)}`);
      await app.conversations.delete(id); // not before: the page may be about to read it
    });

    for (const colorScheme of ["light", "dark"] as const) {
      test(`has no obstacles and fits all screens, in ${colorScheme} colours`, async () => {
        await using page = await open({ colorScheme });
        await page.fill("#conversations-search", "visitor");
        await page.locator("#conversations-state", { hasText: "found" }).waitFor();
        await assertAccessible(page);
        await assertFitsScreens(page);
        await page.setViewportSize({ width: 390, height: 800 });
        await page.click("#show-people");
        await page.fill("#conversations-search", "bulk");
        await page.locator("#conversations-search:visible").waitFor(); // only a choice leaves the list
        await assertAccessible(page);
        await assertFitsScreens(page);
      });
    }
  });
}
