/**
 * The desk's inbox: who waits for a person, and answering them; and the pane of the wire, which is beside the twins alone.
 */

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { Browser, Page } from "playwright-core";
import { TwinClient } from "../../client/mod.ts";
import { assertAccessible, assertFitsScreens, openPage } from "./browsers.ts";
import { openPlayground, type Playground, replyOn, send } from "./playground.ts";
import { representativeBrowsers } from "./shared-browsers.ts";

const echo = `---
name: Echo
engine: echo
handover: true
---
`;

/** Has a page count the sounds that it makes. */
const recordSounds = `window.sounds = 0;
window.AudioContext = class extends AudioContext {
  createOscillator() {
    window.sounds++;
    return super.createOscillator();
  }
};`;

for (const { name, skip, start } of representativeBrowsers) {
  describe(`the inbox in ${name}`, { skip }, () => {
    let browser: Browser;
    let server: Playground;
    let app: TwinClient;
    before(async () => {
      server = await openPlayground({}, { "echo.md": echo });
      app = new TwinClient({ baseUrl: server.url, apiKey: await server.key() });
      browser = await start();
    });
    after(() => server[Symbol.asyncDispose]());

    /** A person who waits for another one. */
    async function wait(endUser: string, content = "Anybody?"): Promise<string> {
      const { id } = await app.conversations.create({ twinId: "echo", endUser });
      await app.conversations.update(id, { answeredBy: "person" });
      await app.messages.send(id, { content });
      return id;
    }

    /** Nobody waits any more. */
    async function settle(): Promise<void> {
      for await (const { id } of app.conversations.list({ answeredBy: "person" }))
        await app.conversations.update(id, { answeredBy: "twin" });
    }

    /** The playground, signed in, with its inbox. `setsClock`: whether the test sets the page's clock.
     * `except`: what the browser reports by itself. */
    async function open(
      colorScheme: "light" | "dark" | null = null,
      setsClock = false,
      except?: RegExp,
    ): Promise<Page & AsyncDisposable> {
      const page = await openPage(browser, { colorScheme }, except);
      if (setsClock) await page.clock.install();
      await page.addInitScript({ content: recordSounds });
      await server.open(page);
      await page.locator("#twins button").waitFor();
      await page.click("#tab-inbox");
      return page;
    }

    const entry = (page: Page, who: string) => page.locator("#inbox-list button", { hasText: who });

    test("tells how many wait, who they are, and for how long, the longest first", async () => {
      await settle();
      await wait("ann");
      await wait("ben");
      await using page = await open();
      await entry(page, "ben").waitFor();
      const names = await page.locator("#inbox-list .name").allInnerTexts();
      assert.deepEqual(names, ["ann", "ben"]);
      assert.match(await entry(page, "ann").innerText(), /waits, asked just now · Echo/);
      assert.equal(await page.locator("#inbox-count").innerText(), "2");
      await assertAccessible(page);
      await assertFitsScreens(page);
    });

    test("shows who waits, also where a person has more than a hundred newer conversations", async () => {
      await settle();
      const many = new TwinClient({ baseUrl: server.url, apiKey: await server.key() });
      await wait("ann");
      for (let number = 0; number <= 100; number++) {
        const { id } = await many.conversations.create({ twinId: "echo", endUser: "one of many" });
        await many.conversations.update(id, { answeredBy: "person" });
      }
      await using page = await open();
      await entry(page, "ann").waitFor();
      assert.equal(await page.locator("#inbox-list button").count(), 101);
      assert.equal(await page.locator("#inbox-count").innerText(), "1");
      await many.endUsers.erase("one of many");
    });

    test("shows the whole conversation live, answers under a name, and hands back", async () => {
      await settle();
      const id = await wait("cleo", "Where is my parcel?");
      await using page = await open();
      await entry(page, "cleo").press("Enter");
      const messages = page.locator("#inbox-messages");
      await messages.getByText("Where is my parcel?").waitFor();
      await page.fill("#inbox-name", "Eva");
      await page.fill("#inbox-content", "It is on its way.");
      await page.press("#inbox-content", "Enter");
      await messages.locator(".author", { hasText: "Eva" }).waitFor();
      assert.equal((await app.conversations.get(id)).waitingSince, null);
      await app.messages.send(id, { content: "Thank you!" });
      await messages.getByText("Thank you!").waitFor();
      await page.locator("#inbox-about", { hasText: "waits" }).waitFor();
      await assertAccessible(page);
      await page.click("#inbox-hand-back");
      await page.locator("#inbox-about", { hasText: "the twin answers" }).waitFor();
      const { answeredBy, waitingSince } = await app.conversations.get(id);
      assert.deepEqual([answeredBy, waitingSince], ["twin", null]);
      const { data } = await app.messages.list(id);
      assert.deepEqual(
        data.map(({ content, author }) => [content, author]),
        [
          ["Where is my parcel?", null],
          ["It is on its way.", "Eva"],
          ["Thank you!", null],
        ],
      );
      await page.reload();
      await page.locator("#inbox:visible").waitFor();
      assert.equal(await page.inputValue("#inbox-name"), "Eva");
    });

    test("keeps what is written to one for that one, also if it could not be said", async () => {
      await settle();
      await wait("dora");
      await wait("emil");
      await using page = await open(null, false, /status of 409/);
      const field = page.locator("#inbox-content");
      const shows = async (who: string, words: string) => {
        await entry(page, who).press("Enter");
        await page.locator("#inbox-title", { hasText: who }).waitFor();
        assert.equal(await field.inputValue(), words);
      };
      await shows("dora", "");
      await field.fill("For Dora.");
      await shows("emil", "");
      await field.fill("For Emil.");
      await page.route("**/messages", async (route) => {
        if (route.request().method() !== "POST") return route.fallback();
        await shows("dora", "For Dora.");
        const error = { code: "conversation_busy", message: "Not now." };
        await route.fulfill({ status: 409, json: { error } });
      });
      await field.press("Enter");
      await page.locator("#inbox-problem", { hasText: "Not now." }).waitFor();
      assert.equal(await field.inputValue(), "For Dora.");
      await shows("emil", "For Emil.");
    });

    test("says once what is sent again by hand after its answer was lost", async () => {
      await settle();
      const id = await wait("finn");
      await using page = await open(null, false, /ERR_FAILED|NetworkError|Failed to load/);
      await entry(page, "finn").press("Enter");
      const field = page.locator("#inbox-content");
      await field.fill("I come.");
      await page.clock.install(); // for the pauses between the tries
      await page.route("**/messages", async (route) => {
        if (route.request().method() !== "POST") return route.fallback();
        await route.fetch();
        await route.abort();
        await page.clock.runFor(20_000);
      });
      await field.press("Enter");
      await page.locator("#inbox-problem", { hasText: "cannot be reached" }).waitFor();
      assert.equal(await field.inputValue(), "I come.");
      await page.unroute("**/messages");
      await field.press("Enter");
      await page.waitForFunction(
        () => document.querySelector<HTMLTextAreaElement>("#inbox-content")?.value === "",
      );
      await page.locator("#inbox-messages .message", { hasText: "I come." }).waitFor();
      await app.messages.say(id, { content: "Later." });
      await page.locator("#inbox-messages .message", { hasText: "Later." }).waitFor();
      const { data } = await app.messages.list(id);
      assert.deepEqual(
        data.map(({ content }) => content),
        ["Anybody?", "I come.", "Later."],
      );
    });

    test("says that somebody new waits only where that is wanted", async () => {
      await settle();
      await using page = await open();
      await page.locator("#inbox-list li", { hasText: "Nobody waits" }).waitFor();
      await wait("dora");
      await entry(page, "dora").waitFor();
      assert.doesNotMatch(await page.title(), /\(/);
      assert.equal(await page.evaluate("sounds"), 0);
      await page.locator("#inbox-bell").check();
      assert.match(await page.title(), /^\(1\) /);
      await wait("emil");
      await entry(page, "emil").waitFor();
      assert.match(await page.title(), /^\(2\) /);
      assert.equal(await page.evaluate("sounds"), 1);
    });

    test("names a conversation by its title, its twin, and who talks, not by who reads", async () => {
      await settle();
      await app.conversations.update(await wait("iris"), { title: "A parcel" });
      await wait("jo");
      const { id } = await app.conversations.create({ twinId: "echo", title: "Nobody's" });
      await app.conversations.update(id, { answeredBy: "person" });
      await app.messages.send(id, { content: "Anybody?" });
      await using page = await open();
      assert.match(await entry(page, "iris").innerText(), /^iris\s+A parcel\s+waits, .* · Echo$/);
      const asked = page.locator("#inbox-messages .message.user");
      for (const [listed, writer] of [
        ["iris", "iris"],
        ["Nobody's", "Visitor"],
      ] as const) {
        await entry(page, listed).click();
        await page.locator("#inbox-title", { hasText: listed }).waitFor();
        await asked.waitFor();
        assert.equal(await asked.getAttribute("aria-label"), writer);
      }
    });

    test("tells times anew as they pass, wherever they are shown", async () => {
      await settle();
      await wait("kim");
      await using page = await open(null, true);
      await entry(page, "kim").click();
      await page.locator("#inbox-about", { hasText: "asked just now" }).waitFor();
      await page.clock.fastForward("12:00");
      await page.locator("#inbox-about", { hasText: "asked 12 minutes ago" }).waitFor();
    });

    test("has no obstacles and fits all screens, in dark colours", async () => {
      await settle();
      await wait("gina");
      await wait("hugo");
      await using page = await open("dark");
      await entry(page, "gina").click();
      await page.locator("#inbox-messages").getByText("Anybody?").waitFor();
      await page.fill("#inbox-name", "Eva");
      await page.fill("#inbox-content", "Here I am.");
      await page.press("#inbox-content", "Enter");
      await page.locator("#inbox-messages .author", { hasText: "Eva" }).waitFor();
      await assertAccessible(page);
      await assertFitsScreens(page);
    });

    test("on a phone, shows the list or a conversation, and goes back", async () => {
      await settle();
      await wait("finn");
      await using page = await open();
      await page.setViewportSize({ width: 390, height: 800 });
      await entry(page, "finn").click();
      await page.locator("#inbox-messages").getByText("Anybody?").waitFor();
      assert.equal(await page.locator("#inbox-list").isVisible(), false);
      const read = await page.locator("#inbox-messages").boundingBox();
      assert.ok((read?.height ?? 0) >= 400, `${read?.height} of 800 pixels are left to read in`);
      await assertAccessible(page);
      await page.click("#inbox-back");
      await entry(page, "finn").waitFor();
    });

    test("in the tab of twins, what a person says is seen by name, and is not rated", async () => {
      await using page = await open();
      await page.click("#tab-talk");
      await send(page, "Hello?");
      await replyOn(page);
      const [, id = ""] = /conversation=(\w+)/.exec(page.url()) ?? [];
      await app.messages.say(id, { content: "I am here.", author: "Eva", answeredBy: "person" });
      const said = page.locator("#messages .message.twin", { hasText: "I am here." });
      await said.locator(".author", { hasText: "Eva" }).waitFor();
      assert.equal(await said.locator(".tool").count(), 0);
      await page.locator("#state", { hasText: "A person answers here." }).waitFor();
      await send(page, "Good.");
      await page.locator("#messages .message.user", { hasText: "Good." }).waitFor();
      await page.locator("#send:not(:disabled)").waitFor();
      assert.equal((await app.messages.list(id)).data.at(-1)?.content, "Good.");
    });

    test("the pane of the wire can be closed, is not beside the inbox, and stays as it was left", async () => {
      await using page = await open();
      assert.equal(await page.locator("#wire").isVisible(), false);
      await page.click("#tab-talk");
      assert.equal(await page.locator("#wire").isVisible(), true);
      await page.click("#close-wire");
      assert.equal(await page.locator("#wire").isVisible(), false);
      assert.equal(await page.locator("#open-wire:focus").count(), 1);
      await page.reload();
      await page.locator("#twins button").waitFor();
      assert.equal(await page.locator("#wire").isVisible(), false);
      await assertAccessible(page);
      await page.click("#open-wire");
      assert.equal(await page.locator("#wire").isVisible(), true);
    });
  });
}
