/**
 * The widget in the example's app, a page of another origin that loads it from the service.
 */

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { Browser, Page, Request, Response } from "playwright-core";
import { TwinClient } from "../../client/mod.ts";
import { freePort } from "../support/ports.ts";
import { type Script, startScript } from "../support/script-process.ts";
import { assertAccessible, openPage } from "./browsers.ts";
import { lastingText, openPlayground, type Playground, readAlong, someText } from "./playground.ts";
import { sharedBrowsers } from "./shared-browsers.ts";

/** Lets a page keep what its scripts fetch, as browsers do not keep streams. */
const keepFetched = `
  const { fetch } = globalThis;
  globalThis.fetched = [];
  globalThis.fetch = async (...given) => {
    const response = await fetch(...given);
    const index = fetched.push("") - 1;
    const keep = new TransformStream({
      transform(text, passed) {
        fetched[index] += text;
        passed.enqueue(text);
      },
    });
    const texts = response.body?.pipeThrough(new TextDecoderStream()).pipeThrough(keep);
    return new Response(texts?.pipeThrough(new TextEncoderStream()), response);
  };`;

/** Notes what a page sends and receives, to be read with header fields and bodies while the page is still open. */
async function listenIn(page: Page): Promise<() => Promise<string[]>> {
  const requests: Request[] = [];
  const responses: Response[] = [];
  page.on("request", (request) => requests.push(request));
  page.on("response", (response) => responses.push(response));
  await page.addInitScript(keepFetched);
  return async () => [
    ...(await Promise.all(requests.map(sentIn))),
    ...(await Promise.all(responses.map(receivedIn))),
    ...(await page.evaluate<string[]>("fetched")),
  ];
}

async function sentIn(request: Request): Promise<string> {
  const fields = JSON.stringify(await request.allHeaders());
  return `${request.method()} ${request.url()} ${fields} ${request.postData() ?? ""}`;
}

async function receivedIn(response: Response): Promise<string> {
  const fields = JSON.stringify(await response.allHeaders());
  const body = response.request().resourceType() === "fetch" ? "" : await response.text();
  return `${response.status()} ${response.url()} ${fields} ${body}`;
}

for (const { name, skip, start } of sharedBrowsers) {
  describe(`the widget in ${name}`, { skip }, () => {
    let browser: Browser;
    let server: Playground;
    let app: Script;
    let origin: string;
    let key: string;

    before(async () => {
      const port = await freePort();
      origin = `http://127.0.0.1:${port}`;
      server = await openPlayground({ CORS_ORIGINS: origin });
      key = await server.key();
      const variables = { PORT: String(port), TWINS_URL: server.url, TWINS_KEY: key, TWIN: "echo" };
      app = startScript("examples/widget.ts", [], variables);
      await app.said(/^listening on/);
      browser = await start();
    });
    after(async () => {
      app?.signal("SIGKILL");
      await app?.ended;
      await server?.[Symbol.asyncDispose]();
    });

    /** A page with the widget, into which something was written. */
    async function ask(content: string, opening = openPage(browser)) {
      const page = await opening;
      await readAlong(page);
      await page.goto(origin);
      await page.locator("twin-chat [part~=greeting]", { hasText: "Say something." }).waitFor();
      await page.locator("twin-chat textarea").fill(content);
      await page.locator("twin-chat textarea").press("Enter");
      await page.locator("twin-chat [part~=reply]", { hasText: "word0" }).waitFor();
      return page;
    }

    test("greets, and shows a reply", async () => {
      await using page = await ask(someText);
      await page.locator("twin-chat button", { hasText: "Send" }).waitFor();
      assert.equal(await page.locator("twin-chat [part~=reply]").last().innerText(), someText);
      await assertAccessible(page);
    });

    test("goes on with a reply after a reload in the middle of a word", async () => {
      await using page = await ask(lastingText);
      await page.reload();
      await page.locator("twin-chat button", { hasText: "Stop" }).waitFor();
      await page.locator("twin-chat button", { hasText: "Send" }).waitFor();
      assert.equal(await page.locator("twin-chat [part~=reply]").last().innerText(), lastingText);
      assert.equal(await page.locator("twin-chat [part~=user]").count(), 1);
    });

    test("stops a reply", async () => {
      await using page = await ask(lastingText);
      await page.locator("twin-chat button", { hasText: "Stop" }).click();
      await page.locator("twin-chat button", { hasText: "Send" }).waitFor();
      const backend = new TwinClient({ baseUrl: server.url, apiKey: key });
      const [conversation] = (await backend.conversations.list()).data;
      const [reply] = (await backend.messages.list(String(conversation?.id), { order: "desc" })).data;
      assert.equal(reply?.status, "cancelled");
    });

    test("shows the end of a growing reply, but not to a reader who has scrolled up", async () => {
      await using page = await ask(lastingText.replaceAll(" ", "\n"));
      const messages = page.locator("twin-chat [part~=messages]");
      const reply = page.locator("twin-chat [part~=reply]").last();
      await reply.getByText("word29").waitFor();
      const isAtEnd = (list: Element | null) =>
        list !== null && list.scrollHeight - list.clientHeight - list.scrollTop < 50;
      await page.waitForFunction(isAtEnd, await messages.elementHandle()); // a frame after its words
      await messages.evaluate((list) => {
        list.scrollTop = 0;
      });
      await reply.getByText("word59").waitFor();
      assert.equal(await messages.evaluate((list) => list.scrollTop), 0);
    });

    test("shows its conversation once after it was moved in the page", async () => {
      await using page = await ask("word0 one");
      await page.locator("twin-chat button", { hasText: "Send" }).waitFor();
      await page.locator("twin-chat").evaluate((element) => {
        for (let move = 0; move < 2; move++) document.body.append(element);
      });
      await page.locator("twin-chat textarea").fill("word0 two");
      await page.locator("twin-chat textarea").press("Enter");
      await page.locator("twin-chat [part~=reply]", { hasText: "word0 two" }).waitFor();
      const messages = await page.locator("twin-chat [part~=message]").allInnerTexts();
      assert.deepEqual(messages, ["Say something.", "word0 one", "word0 one", "word0 two", "word0 two"]);
    });

    test("sends a message once, though its form is submitted twice", async () => {
      await using page = await ask("word0");
      await page.reload();
      await page.locator("twin-chat textarea").fill("word0 twice");
      await page.locator("twin-chat form").evaluate((form: HTMLFormElement) => {
        for (let time = 0; time < 2; time++) form.requestSubmit();
      });
      await page.locator("twin-chat [part~=reply]", { hasText: "word0 twice" }).waitFor();
      assert.equal(await page.locator("twin-chat [part~=user]", { hasText: "twice" }).count(), 1);
    });

    test("the page talks through a client token of its visitor, and never has the key", async () => {
      await using page = await openPage(browser);
      const heard = await listenIn(page);
      await ask("word0", Promise.resolve(page));
      await page.locator("twin-chat button", { hasText: "Send" }).waitFor();
      const passed = await heard();
      const sends = passed.filter((text) => /^POST \S+\/messages\/stream /.test(text));
      assert.match(sends.join(), /"authorization":"Bearer twinct_\w{49}"/);
      for (const body of ["<twin-chat ", "customElements", '{"token":"twinct_', '"type":"complete"']) {
        assert.ok(
          passed.some((text) => text.includes(body)),
          body,
        );
      }
      for (const text of passed) assert.ok(!text.includes(key), text);
    });

    test("each visitor is an end user of their own", async () => {
      await using _one = await ask("word0");
      await using _two = await ask("word0");
      const backend = new TwinClient({ baseUrl: server.url, apiKey: key });
      const [one, two] = (await backend.conversations.list()).data;
      assert.ok(one?.endUser && two?.endUser && one.endUser !== two.endUser);
    });

    test("who has no session is given no token", async () => {
      assert.equal((await fetch(`${origin}/chat-token`, { method: "POST" })).status, 401);
    });
  });
}

for (const { name, skip, start } of sharedBrowsers) {
  describe(`the widget in a shop with sessions, in ${name}`, { skip }, () => {
    let browser: Browser;
    let shop: Script;
    let origin: string;

    before(async () => {
      const port = await freePort();
      origin = `http://127.0.0.1:${port}`;
      shop = startScript("examples/sessions.ts", [], { PORT: String(port) });
      await shop.said(/^listening on/);
      browser = await start();
    });
    after(async () => {
      shop?.signal("SIGKILL");
      await shop?.ended;
    });

    /** A visitor who has opened the conversation. */
    async function open(options = {}, locale = "en") {
      const page = await openPage(browser, options);
      await page.route(`${origin}/`, async (route) => {
        const response = await route.fetch();
        const body = (await response.text()).replace('lang="en"', `lang="${locale}"`);
        await route.fulfill({ response, body });
      });
      await page.goto(origin);
      await page.locator("twin-chat [part=launcher]").click();
      await page.locator("twin-chat [part~=greeting]").waitFor();
      return page;
    }

    test("opens from its corner, answers a starter by the shop's cookie, and names its sources", async () => {
      await using page = await open();
      await page.locator("twin-chat [part=starter]", { hasText: "When are you open?" }).click();
      const reply = page.locator("twin-chat [part~=reply]:not([part~=greeting]):not([aria-busy])");
      await reply.locator("strong", { hasText: "daily from 9 to 17" }).waitFor();
      await reply.locator("[part=source]", { hasText: "Opening hours" }).waitFor();
      assert.equal(await page.locator("twin-chat [part=starter]").count(), 0);
      await assertAccessible(page);
    });

    test("is used by keyboard: opened, written to, enlarged, closed", async () => {
      await using page = await openPage(browser);
      await page.goto(origin);
      await page.locator("twin-chat [part=launcher]").focus();
      await page.keyboard.press("Enter");
      await page.locator("twin-chat [part~=greeting]").waitFor();
      await page.keyboard.type("Do you deliver?");
      await page.keyboard.press("Enter");
      await page.locator("twin-chat [part~=reply]", { hasText: "same day" }).waitFor();
      await page.locator("twin-chat [part~=expand]").press("Enter");
      assert.equal(await page.locator("twin-chat").getAttribute("expanded"), "");
      await page.keyboard.press("Escape");
      assert.equal(await page.locator("twin-chat").getAttribute("expanded"), null);
      await page.keyboard.press("Escape");
      assert.equal(await page.locator("twin-chat [part=panel]").isVisible(), false);
      const focused = await page.evaluate(() =>
        document.activeElement?.shadowRoot?.activeElement?.getAttribute("part"),
      );
      assert.equal(focused, "launcher");
    });

    test("begins a new conversation, and keeps it apart from the last one", async () => {
      await using page = await open();
      const ask = async (content: string, says: string) => {
        await page.locator("twin-chat textarea").fill(content);
        await page.locator("twin-chat textarea").press("Enter");
        await page.locator("twin-chat [part~=reply]", { hasText: says }).waitFor();
      };
      await ask("Do you deliver?", "same day");
      await page.locator("twin-chat [part~=fresh]").click();
      await page.locator("twin-chat [part=starter]").first().waitFor();
      assert.equal(await page.locator("twin-chat [part~=user]").count(), 0);
      await ask("When are you open?", "daily");
      await page.reload();
      await page.locator("twin-chat [part~=reply]", { hasText: "daily" }).waitFor();
      assert.deepEqual(await page.locator("twin-chat [part~=user]").allInnerTexts(), ["When are you open?"]);
    });

    test("edits a question, asks for another reply, turns between versions, and takes a thumb", async () => {
      await using page = await open();
      const questions = page.locator("twin-chat [part~=user]");
      const replies = page.locator("twin-chat [part~=reply]:not([part~=greeting]):not([aria-busy])");
      await page.locator("twin-chat textarea").fill("Do you deliver?");
      await page.locator("twin-chat textarea").press("Enter");
      await replies.getByText("same day").waitFor();
      await page.getByRole("button", { name: "👍" }).click();
      await page.getByRole("button", { name: "👍", pressed: true }).waitFor();
      await page.getByRole("button", { name: "Edit" }).press("Enter");
      await page.locator("twin-chat [part~=user][inert]").waitFor();
      await page.keyboard.press("Escape");
      assert.equal(await page.locator("twin-chat textarea").inputValue(), "");
      await page.getByRole("button", { name: "Edit" }).click();
      await page.waitForFunction(
        () =>
          document.querySelector("twin-chat")?.shadowRoot?.querySelector("textarea")?.value ===
          "Do you deliver?",
      );
      await page.locator("twin-chat textarea").fill("When are you open?");
      await page.locator("twin-chat textarea").press("Enter");
      await page.locator("twin-chat [part~=mine]", { hasText: "2 / 2" }).waitFor();
      assert.deepEqual(await questions.allInnerTexts(), ["When are you open?"]);
      await page.getByRole("button", { name: "Try again" }).click();
      await page.locator("twin-chat [part~=mine]", { hasText: "3 / 3" }).waitFor();
      await assertAccessible(page);
      await page.getByRole("button", { name: "2 / 3" }).press("Enter");
      await page.getByRole("button", { name: "1 / 3" }).click();
      await replies.getByText("same day").waitFor();
      await page.reload();
      await replies.getByText("same day").waitFor();
      assert.deepEqual(await questions.allInnerTexts(), ["Do you deliver?"]);
      await page.getByRole("button", { name: "👍", pressed: true }).waitFor();
    });

    for (const [locale, says, direction] of [
      ["de-AT", "Senden", "ltr"],
      ["ar", "إرسال", "rtl"],
      ["ja", "送信", "ltr"],
      ["tlh", "Send", "ltr"],
    ] as const) {
      test(`speaks the page's language: ${locale}`, async () => {
        await using page = await open({}, locale);
        assert.equal(await page.locator("twin-chat [part~=send]").innerText(), says);
        assert.equal(await page.locator("twin-chat section").getAttribute("dir"), direction);
        await page.locator("twin-chat").evaluate((element) => {
          element.setAttribute("text-send", "Go");
          element.toggleAttribute("expanded");
        });
        assert.equal(await page.locator("twin-chat [part~=send]").innerText(), "Go");
      });
    }

    test("is as light or dark as the page, or as it is told, whatever the system prefers", async () => {
      const surface = (page: Page) =>
        page.locator("twin-chat [part=panel]").evaluate((panel) => getComputedStyle(panel).backgroundColor);
      await using page = await open({ colorScheme: "dark" });
      const light = await surface(page);
      assert.equal(light, "rgb(255, 255, 255)");
      await page.evaluate(() => document.documentElement.style.setProperty("color-scheme", "dark"));
      const dark = await surface(page);
      assert.notEqual(dark, light);
      await page.locator("twin-chat").evaluate((element) => element.setAttribute("theme", "light"));
      assert.equal(await surface(page), light);
      await page.evaluate(() => document.documentElement.style.removeProperty("color-scheme"));
      await page.locator("twin-chat").evaluate((element) => element.setAttribute("theme", "auto"));
      const prefersDark = await page.evaluate(() => matchMedia("(prefers-color-scheme: dark)").matches);
      assert.equal(await surface(page), prefersDark ? dark : light); // the machine's own Firefox cannot be told
      await assertAccessible(page);
    });

    test("is loaded once for ever by its digest", async () => {
      const html = await (await fetch(origin)).text();
      const [, path = ""] = /src="(\/assistant\/widget-[0-9a-f]{16}\.js)"/.exec(html) ?? [];
      const script = await fetch(origin + path);
      assert.match(script.headers.get("cache-control") ?? "", /immutable/);
      const plain = await fetch(`${origin}/assistant/widget.js`);
      assert.equal(await plain.text(), await script.text());
      const headers = { "If-None-Match": plain.headers.get("etag") ?? "" };
      assert.equal((await fetch(`${origin}/assistant/widget.js`, { headers })).status, 304);
    });
  });
}
