/**
 * What may go wrong while a visitor writes to a twin in the widget: no words are lost, and the page says what can be done.
 */

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { Browser } from "playwright-core";
import { TwinClient } from "../../client/mod.ts";
import { assertAccessible, openPage } from "./browsers.ts";
import { lastingText, openPlayground, type Playground, readAlong } from "./playground.ts";
import { representativeBrowsers } from "./shared-browsers.ts";

for (const { name, skip, start } of representativeBrowsers) {
  describe(`the widget in ${name}, where something goes wrong:`, { skip }, () => {
    let browser: Browser;
    let server: Playground;
    let client: TwinClient;
    /** Another device, which reads along. */
    let reader: TwinClient;

    before(async () => {
      server = await openPlayground();
      const apiKey = await server.key();
      client = new TwinClient({ baseUrl: server.url, apiKey });
      const fetch: typeof globalThis.fetch = (input, init) => {
        const request = new Request(input, init);
        request.headers.set("Prefer", "reading-pace");
        return globalThis.fetch(request);
      };
      reader = new TwinClient({ baseUrl: server.url, apiKey, fetch });
      browser = await start();
    });
    after(() => server?.[Symbol.asyncDispose]());

    /** A page with the widget, of an end user of its own. Browsers report refusals and broken connections, as they should. */
    async function open(attributes = "", requestsPerHour = 60, backend = client) {
      const page = await openPage(browser, {}, /status of|NetworkError|ERR_|Failed to load/);
      const endUser = `user-${Math.random()}`;
      const address = `${server.url}/shop`;
      const html = `<!doctype html><html lang="en"><title>A shop</title><link rel="icon" href="data:,">
        <script type="module" src="/widget.js"></script>
        <main><h1>A shop</h1><twin-chat twin="echo" token-url="/token" ${attributes}></twin-chat></main>`;
      await page.route(address, (route) => route.fulfill({ contentType: "text/html", body: html }));
      await page.route(`${server.url}/token`, async (route) => {
        const { token } = await backend.clientTokens.create({ endUser, requestsPerHour });
        await route.fulfill({ json: { token } });
      });
      await readAlong(page);
      await page.goto(address);
      await page.locator("twin-chat [part~=greeting]").waitFor();
      const input = page.locator("twin-chat textarea");
      const replies = page.locator("twin-chat [part~=reply]:not([part~=greeting]):not([aria-busy])");
      return {
        page,
        input,
        replies,
        running: page.locator("twin-chat [part~=reply][aria-busy]"),
        status: page.locator("twin-chat [part~=status]"),
        async say(content: string) {
          await input.fill(content);
          await input.press("Enter");
        },
        /** What is stored, in order. */
        async stored() {
          const [conversation] = (await client.conversations.list({ endUser })).data;
          const messages = await client.messages.list(String(conversation?.id));
          return messages.data.map(({ content }) => content);
        },
        conversation: async () => (await client.conversations.list({ endUser })).data[0]?.id ?? "",
        [Symbol.asyncDispose]: () => page[Symbol.asyncDispose](),
      };
    }

    test("a message takes the place of a reply that is written to another device", async () => {
      await using chat = await open();
      await chat.say("word0 first");
      await chat.replies.first().waitFor();
      const elsewhere = reader.messages.stream(await chat.conversation(), { content: lastingText });
      await chat.running.getByText("word5 ").waitFor();
      await chat.say("word0 second");
      await chat.replies.getByText("word0 second").waitFor();
      const { status, content } = await elsewhere.final();
      assert.equal(status, "cancelled");
      const own = ["word0 second", "word0 second"];
      assert.deepEqual(await chat.stored(), ["word0 first", "word0 first", lastingText, content, ...own]);
    });

    for (const [status, code, says] of [
      [429, "rate_limited", /^Try again in 18 seconds\.$/],
      [429, "budget_exceeded", /^That is all for today\. Try again in 18 seconds\.$/],
      [503, "shutting_down", /^That did not work\.$/],
      [401, "invalid_api_key", /^Please reload the page\.$/],
      [403, "insufficient_scope", /^Please reload the page\.$/],
      [400, "validation_error", /^The content is wrong\.$/],
    ] as const) {
      test(`a message that is refused with ${status} ${code} goes back into the box`, async () => {
        await using chat = await open();
        await chat.page.route("**/messages/stream", (route) =>
          route.fulfill({
            status,
            headers: { "Retry-After": status === 503 ? "0" : "18" },
            json: { error: { code, message: "The content is wrong.", requestId: "req_1" } },
          }),
        );
        await chat.say("words of mine");
        await chat.status.getByText(says).waitFor();
        assert.equal(await chat.input.inputValue(), "words of mine");
        assert.equal(await chat.page.locator("twin-chat [part~=user]").count(), 0);
        await assertAccessible(chat.page);
        await chat.page.unroute("**/messages/stream");
        await chat.input.press("Enter");
        await chat.replies.getByText("words of mine").waitFor();
        assert.deepEqual(await chat.stored(), ["words of mine", "words of mine"]);
      });
    }

    test("what is refused in a question's place goes there later, and what asks for another reply leaves the box alone", async () => {
      await using chat = await open();
      await chat.say("word0 first");
      await chat.replies.getByText("word0 first").waitFor();
      await chat.page.route("**/messages/stream", (route) =>
        route.fulfill({
          status: 429,
          headers: { "Retry-After": "18" },
          json: { error: { code: "rate_limited", message: "Too many.", requestId: "req_1" } },
        }),
      );
      await chat.input.fill("written meanwhile");
      await chat.page.getByRole("button", { name: "Try again" }).click();
      await chat.status.getByText("Try again in 18 seconds.").waitFor();
      assert.equal(await chat.input.inputValue(), "written meanwhile");
      await chat.input.fill("");
      await chat.page.getByRole("button", { name: "Edit" }).click();
      await chat.say("word0 second");
      await chat.status.getByText("Try again in 18 seconds.").waitFor();
      assert.equal(await chat.input.inputValue(), "word0 second");
      await chat.page.unroute("**/messages/stream");
      await chat.input.press("Enter");
      await chat.page.locator("twin-chat [part~=mine]", { hasText: "2 / 2" }).waitFor();
      await chat.replies.getByText("word0 second").waitFor();
      assert.deepEqual(await chat.stored(), ["word0 second", "word0 second"]);
    });

    test("a message to a conversation that was deleted begins another one", async () => {
      await using chat = await open();
      await chat.say("word0 first");
      await chat.replies.first().waitFor();
      await client.conversations.delete(await chat.conversation());
      await chat.say("word0 second");
      await chat.replies.getByText("word0 second").waitFor();
      assert.deepEqual(await chat.stored(), ["word0 second", "word0 second"]);
    });

    test("a first message whose conversation was deleted before it came begins another one", async () => {
      await using chat = await open();
      let isLost = true;
      await chat.page.route("**/messages/stream", (route) => (isLost ? route.abort() : route.continue()));
      await chat.say("word0 hello");
      const again = chat.page.locator("twin-chat [part~=again]");
      await again.waitFor();
      await client.conversations.delete(await chat.conversation());
      isLost = false;
      await again.click();
      await chat.replies.getByText("word0 hello").waitFor();
      assert.deepEqual(await chat.stored(), ["word0 hello", "word0 hello"]);
    });

    test("what happens in other places is shown as it is written, and unfinished words stay", async () => {
      await using chat = await open();
      await chat.say("word0 first");
      await chat.replies.first().waitFor();
      const id = await chat.conversation();
      await chat.input.fill("unfinished words");
      const elsewhere = reader.messages.stream(id, { content: lastingText });
      await chat.running.getByText("word5 ").waitFor();
      const { id: second } = await elsewhere.final();
      await chat.page.locator("twin-chat [part~=reply]:not([aria-busy])", { hasText: lastingText }).waitFor();
      assert.equal(await chat.page.locator("twin-chat [part~=user]").count(), 2);

      await client.messages.send(id, { content: "word0 anew", after: null });
      await chat.page.locator("twin-chat [part~=tools]", { hasText: "2 / 2" }).waitFor();
      await chat.replies.getByText("word0 anew").waitFor();
      assert.equal(await chat.page.locator("twin-chat [part~=user]").count(), 1);

      await client.conversations.update(id, { lastMessageId: second });
      await chat.replies.getByText(lastingText).waitFor();
      assert.equal(await chat.page.locator("twin-chat [part~=user]").count(), 2);

      await client.conversations.delete(id);
      await chat.page.locator("twin-chat [part~=user]").first().waitFor({ state: "detached" });
      assert.equal(await chat.input.inputValue(), "unfinished words");
      await chat.say("word0 another");
      await chat.replies.getByText("word0 another").waitFor();
    });

    test("the first message costs two requests", async () => {
      await using chat = await open();
      const requests: string[] = [];
      chat.page.on("request", (request) => {
        const { pathname } = new URL(request.url());
        if (pathname.startsWith("/api/"))
          requests.push(`${request.method()} ${pathname.replace(/conv_\w+/, "…")}`);
      });
      await chat.say(lastingText);
      await chat.running.getByText("word5 ").waitFor();
      assert.deepEqual(requests, [
        "POST /api/v1/conversations",
        "POST /api/v1/conversations/…/messages/stream",
      ]);
    });

    test("a visitor who asks three questions costs seven requests of the key, as the documents say", async () => {
      const owner = new TwinClient({ baseUrl: server.url, apiKey: await server.token() });
      const { key } = await owner.keys.create({ name: "a shop", scope: "full_access" });
      const shop = new TwinClient({ baseUrl: server.url, apiKey: key });
      const spent = async () => {
        const { limit, remaining } = await shop.usage.get();
        return limit - remaining;
      };
      await using chat = await open("", 60, shop);
      assert.equal(await spent(), 2);
      for (const [content, cost] of [
        ["word0 first", 5],
        ["word0 second", 6],
        ["word0 third", 7],
      ] as const) {
        const isFollowed = cost > 5 || chat.page.waitForResponse(/conversations\/\w+\/stream/);
        await chat.say(content);
        await chat.replies.getByText(content).waitFor();
        await isFollowed;
        assert.equal(await spent(), cost);
      }
    });

    test("Enter that ends the conversion of an input method sends nothing", async () => {
      await using chat = await open();
      await chat.input.fill("日本");
      await chat.input.evaluate((element) => {
        const options = { key: "Enter", bubbles: true, composed: true, cancelable: true };
        const event = new KeyboardEvent("keydown", options);
        Object.defineProperty(event, "keyCode", { value: 229 }); // as Safari has it, behind the composition's end
        element.dispatchEvent(event);
        element.dispatchEvent(new KeyboardEvent("keydown", { ...options, isComposing: true }));
      });
      assert.equal(await chat.input.inputValue(), "日本");
      assert.equal(await chat.page.locator("twin-chat [part~=user]").count(), 0);
    });

    test("what is sent offline stays on the page with its state, and is sent once the browser is online", async () => {
      await using chat = await open();
      await chat.say("word0 first");
      await chat.replies.first().waitFor();
      await chat.page.context().setOffline(true);
      await chat.say("word0 offline");
      await chat.page.locator("twin-chat [part~=user]", { hasText: "You are offline." }).waitFor();
      await chat.page.context().setOffline(false);
      await chat.replies.getByText("word0 offline").waitFor();
      assert.deepEqual(await chat.stored(), ["word0 first", "word0 first", "word0 offline", "word0 offline"]);
    });

    test("words that were not sent when the page was left are in the box again", async () => {
      await using chat = await open();
      await chat.page.route("**/messages/stream", (route) => route.abort());
      await chat.say("words of mine");
      await chat.page.locator("twin-chat [part~=user]").waitFor();
      await chat.page.reload();
      await chat.page.locator("twin-chat [part~=greeting]").waitFor();
      await chat.page.waitForFunction(
        () =>
          document.querySelector("twin-chat")?.shadowRoot?.querySelector("textarea")?.value ===
          "words of mine",
      );
    });

    test("a reply is followed through a minute without network", async () => {
      await using chat = await open();
      await chat.say(lastingText);
      await chat.running.getByText("word3").waitFor();
      await chat.page.route("**/stream*", (route) => route.abort());
      await chat.page.evaluate(() => window.stop()); // ends the connections that are open
      await chat.page.waitForTimeout(1_500);
      await chat.page.unroute("**/stream*");
      await chat.page.evaluate(() => window.dispatchEvent(new Event("online")));
      await chat.replies.getByText("word119").waitFor();
      assert.deepEqual(await chat.stored(), [lastingText, lastingText]);
    });

    test("a token that cannot be had says what can be done", async () => {
      await using chat = await open();
      await chat.page.route(`${server.url}/token`, (route) => route.fulfill({ status: 401, body: "" }));
      await chat.page.reload();
      await chat.status.getByText("Please reload the page.").waitFor();
      await chat.input.fill("words of mine");
      await chat.input.press("Enter");
      await chat.page.waitForFunction(
        () =>
          document.querySelector("twin-chat")?.shadowRoot?.querySelector("textarea")?.value ===
          "words of mine",
      );
    });
  });
}
