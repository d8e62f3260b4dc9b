/**
 * The playground and the reference, in real browsers, with the server as its users start it.
 */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { after, before, describe, test } from "node:test";
import type { Browser } from "playwright-core";
import { TwinClient } from "../../client/mod.ts";
import { signToken } from "../../core/auth/jwt.ts";
import { startServerInTerminal } from "../server/process.ts";
import { assertAccessible, assertFitsScreens, openPage, type WatchedPage } from "./browsers.ts";
import {
  lastingText,
  openPlayground,
  type Playground,
  playgroundSecret,
  replyOn,
  say,
  send,
  someText,
} from "./playground.ts";
import { representativeBrowsers, sharedBrowsers } from "./shared-browsers.ts";

for (const { name, skip, start } of representativeBrowsers) {
  describe(`the playground in ${name}`, { skip }, () => {
    let browser: Browser;
    let server: Playground;
    before(async () => {
      server = await openPlayground();
      browser = await start();
    });
    after(() => server[Symbol.asyncDispose]());

    /** A page with the playground, signed in. */
    async function open(): Promise<WatchedPage> {
      const page = await openPage(browser);
      await server.open(page);
      await page.locator("#twins button").waitFor();
      return page;
    }

    test("signs in by the server's link, which works once and survives a reload", {
      skip: spawnSync("script", ["--version"]).status !== 0 && "needs script",
    }, async () => {
      const flags = ["--database", "memory:", "--twins", "twins"];
      const terminal = await startServerInTerminal(flags, /^http\S+#code=\S+\n/m);
      const [link = ""] = /^http\S+#code=\S+$/m.exec(terminal.shown) ?? [];
      try {
        await using page = await openPage(browser);
        await page.goto(link);
        const signedIn = async () => {
          await page.locator("#twins button").first().waitFor();
          assert.match(
            await page.innerText("#account"),
            /^playground · twin_\S+… · \d+ of 500 requests left$/,
          );
        };
        await signedIn();
        assert.doesNotMatch(page.url(), /code|token/);
        await page.reload();
        await signedIn();
        await using other = await openPage(browser, {}, /status of 401/);
        await other.goto(link);
        await other.locator("#signin-reason", { hasText: "This link was used already" }).waitFor();
      } finally {
        await terminal.stop();
      }
    });

    test("signs nobody in by a credential in the address, as anyone could have made such a link", async () => {
      for (const credential of [await server.token(), await server.key()]) {
        await using page = await openPage(browser);
        await page.goto(`${server.url}/#token=${credential}`);
        await page.locator("#signin-form").waitFor();
        assert.equal(await page.locator("#twins button").count(), 0);
      }
    });

    test("holds a conversation without obstacles, and shows each event with its offset", async () => {
      await using page = await open();
      await send(page, someText);
      assert.equal(await replyOn(page), someText);
      const stored = await server.stored(page);
      assert.deepEqual(
        stored.map(({ content }) => content),
        [someText, someText],
      );
      const length = someText.length;
      await page.locator("#wire .event", { hasText: `1.${length + 1}` }).waitFor(); // the conversation is followed
      assert.equal(await page.innerText("#offset"), String(length));
      const lines = await page.locator("#wire .event").allInnerTexts();
      assert.match(lines[0] ?? "", /^0\s*progress/);
      assert.match(lines.at(-2) ?? "", new RegExp(`^${length}\\s*complete`));
      assert.match(lines.at(-1) ?? "", new RegExp(`^1\\.${length + 1}\\s*conversation`));
      await assertAccessible(page);
    });

    test("goes on where the connection was cut", async () => {
      await using page = await open();
      await say(page, lastingText);
      await page.click("#cut");
      const offset = /offset (\d+)/.exec(await page.innerText("#state"))?.[1];
      await page.click("#resume");
      assert.equal(await replyOn(page), lastingText);
      assert.equal((await server.stored(page)).length, 2);
      assert.ok(
        (await page.locator("#wire .request").allInnerTexts()).some((line) =>
          line.includes(`?after=${offset}`),
        ),
      );
    });

    test("leaves the focus on what can be done next: at a cut, at its resumption, at the end", async () => {
      await using page = await open();
      const focused = () => page.evaluate(() => document.activeElement?.id);
      await say(page, lastingText);
      await page.locator("#cut").press("Enter");
      assert.equal(await focused(), "resume");
      await page.keyboard.press("Enter");
      assert.equal(await focused(), "cut");
      await page.locator("#cancel").press("Enter");
      await page.locator(".notes", { hasText: "Cancelled" }).waitFor();
      const isPhone = await page.evaluate(() => !matchMedia("(hover: hover)").matches); // as Firefox without a window is
      assert.equal(await focused(), isPhone ? "messages" : "content");
    });

    test("keeps who is signed in over a reload, whichever credential it was, and says whose conversations are shown", async () => {
      await using page = await openPage(browser);
      await page.goto(server.url);
      const key = await server.key();
      for (const [credential, whose] of [
        [await server.token(), "alice"],
        [key, "this key's owner"],
      ] as const) {
        await page.fill("#credential", credential);
        await page.click("#signin-form button");
        for (let time = 0; time < 2; time++) {
          await page.locator("#twins button").waitFor();
          assert.equal(await page.innerText("#whose"), `Conversations of ${whose}`.toUpperCase());
          assert.match(await page.innerText("#account"), new RegExp(`^${whose} · twin_\\S+… · \\d+ of 500`));
          await page.reload();
        }
        await page.locator("#twins button").waitFor();
        await page.click("#sign-out");
        await page.locator("#signin-form").waitFor();
        await page.reload();
        await page.locator("#signin-form").waitFor();
      }
    });

    test("stays signed in with the key that it made when the token has expired", async () => {
      await using page = await openPage(browser, {}, /status of 401/);
      await page.goto(server.url);
      const owner = new TwinClient({ baseUrl: server.url, apiKey: await server.token() });
      const { key } = await owner.keys.create({ name: "playground", scope: "full_access" });
      const expired = await signToken({ secret: playgroundSecret, sub: "alice", expiresInSeconds: -600 });
      await page.evaluate(
        (text) => sessionStorage.setItem("playground", text),
        JSON.stringify({ credential: expired, key }),
      );
      await page.reload();
      await page.locator("#twins button").waitFor();
      assert.equal(await page.innerText("#whose"), "CONVERSATIONS OF ALICE");
    });

    test("keeps no credential where the page may be on another's machine", async () => {
      await using page = await openPage(browser, {}, /Cross-Origin-Opener-Policy/); // over plain HTTP
      await page.route("http://twins.example/**", async (route) => {
        const url = route.request().url().replace("http://twins.example", server.url);
        await route.fulfill({
          response: await route.fetch({
            url,
            headers: { ...route.request().headers(), host: new URL(server.url).host },
          }),
        });
      });
      await page.goto("http://twins.example/");
      await page.fill("#credential", await server.key());
      await page.click("#signin-form button");
      await page.locator("#twins button").waitFor();
      assert.equal(await page.evaluate(() => sessionStorage.length), 0);
    });

    test("shows a question beside its reply on wide screens, and the whole account on a phone", async () => {
      await using page = await open();
      await page.setViewportSize({ width: 1920, height: 1000 });
      await send(page, someText);
      await replyOn(page);
      const box = async (selector: string) =>
        (await page.locator(selector).last().boundingBox()) ?? { x: 0, width: 0 };
      const [question, reply] = [await box(".message.user"), await box(".message.twin")];
      assert.ok(question.x + question.width - reply.x < 800, "both are in one column");
      for (const width of [360, 390]) {
        await page.setViewportSize({ width, height: 844 });
        const isWhole = await page
          .locator("#account")
          .evaluate((account) => account.scrollWidth <= account.clientWidth);
        assert.ok(isWhole, `the account is cut at ${width} pixels`);
      }
      await assertFitsScreens(page);
    });

    test("goes on after a reload in the middle of a reply", async () => {
      await using page = await open();
      await say(page, lastingText);
      await page.reload();
      await page.locator(".message.twin[aria-busy=true]").waitFor();
      assert.equal(await replyOn(page), lastingText);
      assert.equal((await server.stored(page)).length, 2);
    });

    test("sends a message twice, and gets one reply", async () => {
      await using page = await open();
      await send(page, someText, "#twice");
      await page.locator(".notes", { hasText: "stored once" }).waitFor();
      assert.equal((await server.stored(page)).length, 2);
    });

    test("cancels a reply, which keeps its text so far", async () => {
      await using page = await open();
      await say(page, lastingText);
      await page.click("#cancel");
      await page.locator(".notes", { hasText: "Cancelled" }).waitFor();
      const [, reply] = await server.stored(page);
      assert.equal(reply?.status, "cancelled");
      assert.ok(reply.content.length > 0 && lastingText.startsWith(reply.content));
    });

    test("renders Markdown, and nothing that could run", async () => {
      await using page = await open();
      await send(
        page,
        "**bold** <img src=x onerror=alert(1)> <b onclick=alert(2)>b</b> [link](javascript:alert(3)) <style>*{}</style>",
      );
      await replyOn(page);
      const reply = page.locator(".message.twin .text").last();
      assert.equal(await reply.locator("strong").innerText(), "bold");
      assert.equal(await reply.locator("img, style, script, [onclick], [href^=javascript]").count(), 0);
    });

    test("is used with the keyboard alone", async () => {
      await using page = await open();
      await page.focus("#content");
      await page.keyboard.type("first line");
      await page.keyboard.press("Shift+Enter");
      await page.keyboard.type("second");
      await page.keyboard.press("Enter");
      assert.equal(await replyOn(page), "first line\nsecond");
    });

    test("begins one conversation, though its form is submitted twice", async () => {
      await using page = await open();
      const before = await page.locator("#conversations button").count();
      await page.fill("#content", someText);
      await page.locator("form:has(#content)").evaluate((form: HTMLFormElement) => {
        for (let time = 0; time < 2; time++) form.requestSubmit();
      });
      assert.equal(await replyOn(page), someText);
      assert.equal(await page.locator("#conversations button").count(), before + 1);
    });

    test("shows the end of a growing reply, but not to a reader who has scrolled up", async () => {
      await using page = await open();
      const messages = page.locator("#messages");
      const reply = page.locator(".message.twin:last-child");
      await say(page, "line\n".repeat(120));
      await reply.locator("br").nth(9).waitFor({ state: "attached" });
      // Waited for: the page scrolls once it has laid out what came.
      const endIsShown = () =>
        page.waitForFunction(() => {
          const list = document.querySelector("#messages");
          return list && list.scrollHeight - list.clientHeight - list.scrollTop < 50;
        });
      await endIsShown();
      await messages.evaluate((list) => {
        list.scrollTop = 0;
      });
      await reply.locator("br").nth(29).waitFor({ state: "attached" });
      assert.equal(await messages.evaluate((list) => list.scrollTop), 0);
      await page.click("#conversations button");
      await send(page, "line\n".repeat(12)); // too much only together with the reply
      await replyOn(page);
      await endIsShown(); // of another conversation
    });

    test("leaves the focus where it is while a reply arrives and ends", async () => {
      await using page = await open();
      await say(page, lastingText);
      await page.focus("#conversations button");
      await page.locator(".message.twin", { hasText: "word20" }).waitFor();
      await page.locator("#cancel").dispatchEvent("click"); // which leaves the focus alone
      await replyOn(page);
      assert.equal(await page.locator("#conversations button:focus").innerText(), "New conversation");
    });

    test("edits a question, asks for another reply, and turns between versions", async () => {
      await using page = await open();
      await send(page, "word0 one");
      await replyOn(page);
      await page.getByRole("button", { name: "Edit" }).click();
      await page.waitForFunction(
        () => document.querySelector<HTMLTextAreaElement>("#content")?.value === "word0 one",
      );
      await send(page, "word0 two");
      await page.locator(".message.user", { hasText: "2 / 2" }).waitFor();
      await page.getByRole("button", { name: "Try again" }).press("Enter");
      await page.locator(".message.user", { hasText: "3 / 3" }).waitFor();
      await assertAccessible(page);
      await page.getByRole("button", { name: "2 / 3" }).press("Enter");
      await page.getByRole("button", { name: "1 / 3" }).click();
      await page.locator(".message.twin .text", { hasText: "word0 one" }).waitFor();
      assert.deepEqual(
        (await server.stored(page)).map(({ content }) => content),
        ["word0 one", "word0 one"],
      );
    });

    test("asks for a credential if its link has expired", async () => {
      await using page = await openPage(browser);
      await page.goto(`${server.url}/`);
      await page.locator("#signin-form").waitFor();
      await assertAccessible(page);
      await page.fill("#credential", await server.token());
      await page.click("#signin-form button");
      await page.locator("#twins button").waitFor();
    });
  });
}

const [chromium] = sharedBrowsers;

describe("the pages", { skip: chromium?.skip ?? "there is no Chromium" }, () => {
  let browser: Browser;
  let server: Playground;
  before(async () => {
    server = await openPlayground();
    browser = (await chromium?.start()) as Browser;
  });
  after(() => server[Symbol.asyncDispose]());

  for (const colorScheme of ["light", "dark"] as const) {
    test(`have no obstacles in ${colorScheme} colors, and fit screens from 360 pixels on`, async () => {
      await using page = await openPage(browser, { colorScheme });
      await server.open(page);
      await page.locator("#twins button").waitFor();
      await send(page, `${someText} ${"x".repeat(300)}`);
      await replyOn(page);
      await assertFitsScreens(page);
      await assertAccessible(page);
      await page.goto(`${server.url}/docs`);
      await page.locator("article").first().waitFor();
      await assertFitsScreens(page);
      await assertAccessible(page, "main > section:nth-of-type(n + 2)"); // the same again, for half a minute
    });
  }

  test("of the reference begins with how to authenticate, and lets an endpoint be tried with a key", async () => {
    await using page = await openPage(browser);
    await page.goto(`${server.url}/docs`);
    await page.locator("#authentication").waitFor();
    await page.fill("#key", await server.key());
    const list = page.locator("#listTwins");
    await list.getByText("default 20").waitFor();
    await list.getByText("Try it").click();
    await list.getByRole("button", { name: "Send" }).click();
    await list.locator("pre", { hasText: '"name": "Echo"' }).waitFor();
    assert.match(await list.locator(".try pre").innerText(), /^200\n/);
    const codes = await page.locator("#errors td code").allInnerTexts();
    assert.ok(codes.includes("conversation_busy"));
    assert.equal(new Set(codes).size, codes.length, "each error is there once");
    await page.getByLabel("Search endpoints").fill("client token");
    assert.equal(await list.isVisible(), false);
    assert.equal(await page.locator("#contents h2", { hasText: /^twins$/i }).isVisible(), false);
    assert.equal(await page.locator("#createClientToken").isVisible(), true);
  });

  test("of the reference has each operation of the document", async () => {
    await using page = await openPage(browser);
    await page.goto(`${server.url}/docs`);
    await page.locator("article").first().waitFor();
    const shown = await page.locator("article").evaluateAll((articles) => articles.map(({ id }) => id));
    const document = await (await fetch(`${server.url}/api/v1/openapi.json`)).json();
    const ids = Object.values<Record<string, { operationId: string }>>(document.paths).flatMap((path) =>
      Object.values(path).map(({ operationId }) => operationId),
    );
    assert.ok(ids.length > 10);
    assert.deepEqual(
      ids.filter((id) => !shown.includes(id)),
      [],
    );
  });
});
