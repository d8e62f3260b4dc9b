/**
 * What an owner does in the playground besides talking: reading what was asked, keeping keys and conversations in order.
 */

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { Browser, Page } from "playwright-core";
import { TwinClient } from "../../client/mod.ts";
import { assertAccessible, assertFitsScreens, openPage, type WatchedPage } from "./browsers.ts";
import { openPlayground, type Playground, replyOn, send } from "./playground.ts";
import { representativeBrowsers } from "./shared-browsers.ts";

const keeper = `---
name: Keeper
greeting: Ask me about the lighthouse.
tests:
  - ask: How tall is the lighthouse?
    says: forty
---
## The lighthouse

The lighthouse is **forty** metres tall.

## Visits

You may visit the lighthouse on Sundays.
`;

/** Has a page remember what it copies. Texts, as functions would need what this test's compiler adds to them. */
const recordCopies = `Object.defineProperty(navigator, "clipboard", {
  value: { writeText: async (text) => void (window.copied = text) },
});`;
const withoutClipboard = `Object.defineProperty(navigator, "clipboard", { value: undefined });
addEventListener("copy", ({ target }) => { window.copied = target.value; });`;

for (const { name, skip, start } of representativeBrowsers) {
  describe(`the desk in ${name}`, { skip }, () => {
    let browser: Browser;
    let server: Playground;
    before(async () => {
      server = await openPlayground({}, { "keeper.md": keeper });
      browser = await start();
    });
    after(() => server[Symbol.asyncDispose]());

    /** The playground, signed in. What a page copies is on `window.copied`. `except`: what fails there on purpose. */
    async function open(except?: RegExp, content = recordCopies): Promise<WatchedPage> {
      const page = await openPage(browser, {}, except);
      await page.addInitScript({ content });
      await server.open(page);
      await page.locator("#twins button").waitFor();
      return page;
    }

    const copied = (page: Page) => page.evaluate(() => String((window as { copied?: string }).copied));

    async function client(): Promise<TwinClient> {
      return new TwinClient({ baseUrl: server.url, apiKey: await server.key() });
    }

    /** The rules of the page's style that reach elements without naming the place that they are in. */
    const strangers = (page: Page, place: string, among: string) =>
      page.evaluate(
        ([place, among]) => {
          const rules = [...document.styleSheets].flatMap(({ cssRules }) => [...cssRules]);
          const reach = [...document.querySelectorAll(among)];
          return rules.flatMap((rule) => {
            const isGeneral = !(rule instanceof CSSStyleRule) || !/[.#]/.test(rule.selectorText);
            if (isGeneral || rule.selectorText.includes(place)) return [];
            return reach.some((element) => element.matches(rule.selectorText)) ? [rule.selectorText] : [];
          });
        },
        [place, among] as const,
      );

    /** Signs in by the form. */
    async function signInWith(page: Page, credential: string): Promise<void> {
      await page.fill("#credential", credential);
      await page.click("#signin-form button");
      await page.locator("#twins button").waitFor({ state: "attached" });
    }

    test("suggests questions to begin with, until one is asked", async () => {
      await using page = await open();
      await page.getByRole("button", { name: "How tall is the lighthouse?" }).click();
      assert.match(await replyOn(page), /forty metres/);
      assert.equal(await page.locator(".starter").count(), 0);
    });

    test("goes from tab to tab by the arrow keys, and shows the same one after a reload", async () => {
      await using page = await open();
      await page.focus("#tab-talk");
      for (const [key, panel] of [
        ["ArrowRight", "questions"],
        ["End", "inbox"],
        ["ArrowRight", "talk"],
        ["ArrowLeft", "inbox"],
        ["Home", "talk"],
        ["ArrowRight", "questions"],
      ] as const) {
        await page.keyboard.press(key);
        const shown = await page
          .locator("[role=tabpanel]:visible")
          .evaluateAll((all) => all.map(({ id }) => id));
        assert.deepEqual(shown, [panel]);
        assert.equal(await page.locator("[role=tab][aria-selected=true]:focus").count(), 1);
        assert.equal(await page.locator("[role=tab][tabindex='0']").count(), 1);
      }
      await page.reload();
      await page.locator("#questions:visible .panel").first().waitFor();
    });

    test("takes a thumb at a reply, shows it among the questions, and takes it back", async () => {
      await using page = await open();
      await send(page, "When may I visit?");
      await replyOn(page);
      const thumb = page.getByRole("button", { name: "Bad reply" });
      await thumb.press("Enter");
      await page.locator(".tool[aria-pressed=true]").waitFor();
      const [, reply] = await server.stored(page);
      assert.equal(reply?.feedback?.rating, "down");
      await page.click("#tab-questions");
      const entry = page.getByRole("region", { name: "Thumbs down" }).locator(".entry");
      assert.match(await entry.innerText(), /When may I visit\?[\s\S]*on Sundays[\s\S]*Keeper/);
      await assertAccessible(page);
      await page.click("#tab-talk");
      await thumb.click();
      await page.locator(".tool[aria-pressed=true]").waitFor({ state: "detached" });
      assert.equal((await server.stored(page))[1]?.feedback, null);
    });

    test("opens the conversation of an unanswered question at its reply", async () => {
      const { conversations, messages } = await client();
      const { id } = await conversations.create({ twinId: "keeper", endUser: "user-7" });
      const { id: messageId } = await messages.send(id, { content: "Who painted Guernica?" });
      for (let more = 0; more < 8; more++)
        await messages.send(id, { content: "How tall is the lighthouse?" });
      await using page = await open();
      await page.click("#tab-questions");
      await page.getByRole("link", { name: "Open the conversation: Who painted Guernica?" }).press("Enter");
      const reply = page.locator(`.message.twin[data-message=${messageId}]:focus`);
      await reply.waitFor();
      assert.ok(
        await reply.evaluate((element) => {
          const { top, bottom } = element.getBoundingClientRect();
          return top >= 0 && bottom <= innerHeight;
        }),
        "it is in view",
      );
      assert.match(page.url(), new RegExp(`#conversation=${id}$`));
    });

    test("renames and deletes a conversation, by the keyboard", async () => {
      await using page = await open();
      await send(page, "How tall is the lighthouse?");
      await replyOn(page);
      const before = await page.locator("#conversations button").count();
      await page.locator("#rename").press("Enter");
      await page.getByLabel("Title").fill("Heights");
      await assertAccessible(page);
      await page.keyboard.press("Enter");
      await page.locator("#conversations [aria-current]", { hasText: "Heights" }).waitFor();
      assert.equal(await page.innerText("#chat-about"), "Heights");
      const [, id = ""] = /#conversation=(\w+)/.exec(page.url()) ?? [];
      await page.locator("#delete").press("Enter");
      await page.keyboard.press("Enter"); // the answer that changes nothing comes first
      await page.locator("dialog").waitFor({ state: "detached" });
      const { conversations } = await client();
      assert.equal((await conversations.get(id)).title, "Heights");
      await page.locator("#delete").press("Enter");
      await page.keyboard.press("Tab");
      await page.keyboard.press("Enter");
      await page.locator("#conversations [aria-current]", { hasText: "New conversation" }).waitFor();
      assert.equal(await page.locator("#conversations button").count(), before - 1);
      await assert.rejects(conversations.get(id), { status: 404 });
      assert.equal(await page.innerText("#problem"), "");
    });

    test("keeps the words of a message that was not sent, and sends it once when asked to try again", async () => {
      await using page = await open(/status of 40|Failed to load/);
      const refused = {
        status: 400,
        json: { error: { code: "invalid_request", message: "Refused for a test." } },
      };
      await page.route("**/api/v1/conversations", (route) =>
        route.request().method() === "POST" ? route.fulfill(refused) : route.continue(),
      );
      await send(page, "How tall is the lighthouse?");
      const again = page.locator("#problem").getByRole("button", { name: "Try again" });
      await again.waitFor();
      assert.equal(await page.inputValue("#content"), "How tall is the lighthouse?");
      await page.unroute("**/api/v1/conversations");
      // It arrives, and the answer does not.
      const keys: (string | undefined)[] = [];
      await page.route("**/messages/stream", async (route) => {
        keys.push(route.request().headers()["idempotency-key"]);
        if (keys.length > 1) return route.continue();
        const asked = route.request();
        const headers = { ...asked.headers(), "accept-encoding": "identity" };
        const body = asked.postData();
        await (await fetch(asked.url(), { method: "POST", headers, body })).text();
        await route.fulfill(refused);
      });
      await again.click();
      await page.locator("#problem", { hasText: "Refused for a test." }).waitFor();
      assert.equal(await page.inputValue("#content"), "How tall is the lighthouse?");
      await assertAccessible(page);
      await again.click();
      await page.locator(".message.twin[aria-busy=false] .text", { hasText: "forty" }).first().waitFor();
      await page.waitForFunction(() => document.querySelectorAll(".message").length === 3); // with the greeting
      assert.equal(await page.locator(".message .text", { hasText: "forty" }).count(), 1);
      assert.equal(await page.inputValue("#content"), "");
      assert.equal(await page.innerText("#problem"), "");
      assert.equal(new Set(keys).size, 1);
      assert.equal((await server.stored(page)).length, 2);
    });

    test("copies a request of the wire as a command, without the credential", async () => {
      await using page = await open();
      await send(page, "It's how tall?");
      await replyOn(page);
      await page.getByRole("button", { name: /^Copy as curl: POST .*stream$/ }).click();
      await page.locator("#said", { hasText: "Copied" }).waitFor({ state: "attached" });
      const command = await copied(page);
      assert.match(command, /^curl -sSN -X POST 'http:\S+\/messages\/stream' \\\n/);
      assert.match(command, /-H "Authorization: Bearer \$KEY"/);
      assert.match(command, /-d '\{"content":"It'\\''s how tall\?","after":null\}'$/);
      assert.doesNotMatch(command, /twin_/);
    });

    test("copies where pages have no clipboard, as over plain HTTP, and leaves the focus where it is", async () => {
      await using page = await open(undefined, withoutClipboard);
      await page.getByRole("button", { name: "Copy as curl: GET /usage" }).press("Enter");
      await page.locator("#said", { hasText: "Copied" }).waitFor({ state: "attached" });
      assert.match(await copied(page), /^curl -sSN 'http:\S+\/usage' /);
      assert.equal(await page.locator("#wire .tool:focus").count(), 1);
    });

    test("makes a key that can be copied while it is shown, and revokes it once that is confirmed", async () => {
      await using page = await open();
      await page.click("#tab-keys");
      await page.locator(".new-key summary").press("Enter");
      await page.getByLabel("Name").fill("mobile app");
      await page.getByLabel("May do").selectOption("Full access");
      await page.getByLabel("Days until it ends").fill("30");
      await page.keyboard.press("Enter");
      await page.getByRole("button", { name: "Copy the key" }).press("Enter");
      await page.locator("#said", { hasText: "Copied" }).waitFor({ state: "attached" });
      const key = await copied(page);
      const entry = page.locator(".key", { hasText: "mobile app" });
      assert.match(
        await entry.innerText(),
        /full access[\s\S]*as its scope[\s\S]*never[\s\S]*(in 30 days|next month)/,
      );
      const made = new TwinClient({ baseUrl: server.url, apiKey: key });
      assert.equal((await made.usage.get()).scope, "full_access");
      await assertAccessible(page);
      await page.getByRole("button", { name: "Done" }).click();
      assert.ok(!(await page.locator("#keys").innerHTML()).includes(key), "it is not there any more");
      await page.getByRole("button", { name: "Revoke mobile app" }).click();
      await page.getByRole("button", { name: "Cancel" }).click();
      assert.equal((await made.usage.get()).scope, "full_access");
      await page.getByRole("button", { name: "Revoke mobile app" }).click();
      await page.locator("dialog").getByRole("button", { name: "Revoke" }).click();
      await entry.locator(".state", { hasText: "Revoked" }).waitFor();
      await assert.rejects(made.usage.get(), { status: 401 });
    });

    test("gives a key another secret, which is shown once; the one before works for as long as one says", async () => {
      await using page = await open();
      const owner = new TwinClient({ baseUrl: server.url, apiKey: await server.token() });
      const before = await owner.keys.create({ name: "kiosk" });
      await page.click("#tab-keys");
      await page.getByRole("button", { name: "New secret for kiosk" }).click();
      await page.getByLabel("Hours for which").fill("0");
      await page.getByRole("button", { name: "Make it" }).click();
      await page.getByRole("button", { name: "Copy the key" }).click();
      await page.locator("#said", { hasText: "Copied" }).waitFor({ state: "attached" });
      const after = new TwinClient({ baseUrl: server.url, apiKey: await copied(page) });
      assert.equal((await after.usage.get()).scope, "read_only");
      const ended = new TwinClient({ baseUrl: server.url, apiKey: before.key });
      await assert.rejects(ended.usage.get(), { status: 401 });
      await page.getByRole("button", { name: "New secret for kiosk" }).click();
      await page.getByLabel("Hours for which").fill("many");
      await page.getByRole("button", { name: "Make it" }).click();
      await page.locator(".key [role=alert]", { hasText: "0 to 168" }).waitFor();
      await assertAccessible(page);
    });

    test("shows how much of a budget of tokens is used", async () => {
      await using page = await openPage(browser);
      await page.goto(`${server.url}/`);
      const owner = new TwinClient({ baseUrl: server.url, apiKey: await server.token() });
      const { key } = await owner.keys.create({ name: "frugal", tokensPerDay: 5000 });
      await signInWith(page, key);
      await page.click("#tab-keys");
      const meter = page.getByLabel("This page's key, this day: 0 of 5,000 tokens");
      await meter.waitFor();
      assert.deepEqual([await meter.getAttribute("max"), await meter.getAttribute("value")], ["5000", "0"]);
      await assertAccessible(page);
    });

    test("says why a key cannot be made", async () => {
      await using page = await open(/status of 403/);
      await page.click("#tab-keys");
      await page.locator(".new-key summary").click();
      await page.getByLabel("Name").fill("much");
      await page.getByLabel("Requests an hour").fill("9000");
      await page.getByRole("button", { name: "Make the key" }).click();
      await page.locator(".new-key [role=alert]", { hasText: "requests_per_hour" }).waitFor();
      assert.equal(await page.inputValue("#key-name"), "much");
    });

    test("shows the use of each day as a chart and as a table", async () => {
      await using page = await open();
      await send(page, "How tall is the lighthouse?");
      await replyOn(page);
      await page.click("#tab-keys");
      await page.locator(".chart rect").last().waitFor();
      assert.equal(await page.locator(".chart rect").count(), 30);
      await page.getByText("As a table").press("Enter");
      const today = new Date().toISOString().slice(0, 10);
      await page.locator("#use tbody tr", { hasText: today }).waitFor();
      await assertAccessible(page);
      await assertFitsScreens(page);
    });

    test("says what a credential may not do: keys and a person's token", async () => {
      await using page = await openPage(browser, {}, /status of 403/);
      await page.goto(`${server.url}/`);
      const owner = new TwinClient({ baseUrl: server.url, apiKey: await server.token() });
      const { key } = await owner.keys.create({ name: "reader", scope: "read_only" });
      await signInWith(page, key);
      assert.equal(await page.isDisabled("#send"), true);
      assert.equal(await page.isDisabled("#content"), true);
      await page.click("#tab-keys");
      await page.locator("#keys :is(.chart, .soft)").first().waitFor();
      await page.getByText("A key manages no keys.").waitFor();
      await assertAccessible(page);
      await page.getByRole("button", { name: "Sign in with a token" }).click();
      assert.equal(await page.locator("#credential:focus").count(), 1);
      const { token } = await (await client()).clientTokens.create({ endUser: "user-7" });
      await signInWith(page, token);
      await page.click("#tab-questions");
      const refusals = page.getByText("Your credential may not see this.");
      await refusals.nth(2).waitFor();
      await page.click("#tab-keys");
      await page.locator("#use", { hasText: "Your credential may not see this." }).waitFor();
    });

    test("says why a list cannot be read, and reads it when asked to try again", async () => {
      await using page = await open(/status of 404/);
      await page.route("**/questions/unanswered*", (route) =>
        route.fulfill({ status: 404, json: { error: { code: "not_found", message: "Lost for a test." } } }),
      );
      await page.click("#tab-questions");
      const column = page.getByRole("region", { name: "Unanswered" });
      await column.getByText("Lost for a test.").waitFor();
      await assertAccessible(page);
      await page.unroute("**/questions/unanswered*");
      await column.getByRole("button", { name: "Try again" }).click();
      await column.locator(".entry, .soft:not([role])").first().waitFor();
    });

    test("what a reply was made of, and the lines of the wire, have no other subject's style", async () => {
      await using page = await open();
      await send(page, "How tall is the lighthouse?");
      await replyOn(page);
      await page.locator(".notes .source").waitFor();
      await page.locator("#wire .conversation").waitFor();
      for (const [place, among] of [
        [".notes", ".notes > span"],
        [".events", "#wire li"],
      ] as const)
        assert.deepEqual(await strangers(page, place, among), []);
    });
  });
}
