/**
 * Calls that wait for a person, as cards in the widget and the playground: allowed, denied, decided elsewhere.
 */

import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import type { Server } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, beforeEach, describe, test } from "node:test";
import type { Browser, Page } from "playwright-core";
import { type Message, TwinClient } from "../../client/mod.ts";
import { startToolServer, type ToolServer } from "../mcp-servers/tool-server.ts";
import { begin, call, createModelServer, delta, endMarker, finish } from "../openai-models/model-server.ts";
import { freePort, listen } from "../support/ports.ts";
import { type Script, startScript } from "../support/script-process.ts";
import { assertAccessible, openPage } from "./browsers.ts";
import { openPlayground, type Playground } from "./playground.ts";
import { representativeBrowsers } from "./shared-browsers.ts";

const twin = `---
name: Clerk
description: Finds orders.
greeting: Say something.
engine: openai
tools: [orders]
confirm: [orders/find]
handover: true
---
You find orders.
`;

/** What a call is made with: a text with a line of its own, an object, and one that is written from right to left. */
const given = { number: 7, note: "for Ada,\nby noon", more: { gift: true }, name: "עדה" };

/** A model that calls its tool once for each "find", and then says how many results it has. */
function createModel(): Server {
  return createModelServer("clerk", ({ question, results }, response) => {
    begin(response);
    const wanted = question.match(/find/g) ?? [];
    if (results === 0 && wanted.length > 0) {
      response.write(delta("May I?"));
      for (const [at] of wanted.entries())
        response.write(
          call(`call-${at}`, "orders_find", { ...given, number: 7 + at }).replace(
            '"index":0,"id"',
            `"index":${at},"id"`,
          ),
        );
      response.end(finish("tool_calls") + endMarker);
    } else response.end(delta(`${results} results.`) + finish("stop") + endMarker);
  });
}

for (const { name, skip, start } of representativeBrowsers) {
  describe(`calls that wait for a person, in ${name}`, { skip }, () => {
    let browser: Browser;
    let folder: string;
    let model: Server;
    let orders: ToolServer;
    let server: Playground;
    let app: Script;
    let origin: string;
    let owner: TwinClient;
    let called: number;

    before(async () => {
      const port = await freePort();
      origin = `http://127.0.0.1:${port}`;
      model = createModel();
      orders = await startToolServer();
      folder = await mkdtemp(join(tmpdir(), "twins-approvals-"));
      const file = join(folder, "mcp.json");
      await writeFile(file, JSON.stringify({ mcpServers: { orders: { url: orders.url } } }));
      const settings = {
        CORS_ORIGINS: origin,
        MODEL_BASE_URL: `http://127.0.0.1:${await listen(model)}/v1`,
        MCP_SERVERS: file,
      };
      server = await openPlayground(settings, { "clerk.md": twin });
      const key = await server.key();
      owner = new TwinClient({ baseUrl: server.url, apiKey: key });
      const variables = { PORT: String(port), TWINS_URL: server.url, TWINS_KEY: key, TWIN: "clerk" };
      app = startScript("examples/widget.ts", [], variables);
      await app.said(/^listening on/);
      browser = await start();
    });
    beforeEach(() => {
      called = orders.calls.length;
    });
    after(async () => {
      app?.signal("SIGKILL");
      await app?.ended;
      await server?.[Symbol.asyncDispose]();
      model?.closeAllConnections();
      model?.close();
      await orders?.close();
      await rm(folder, { recursive: true });
    });

    const calls = () => orders.calls.slice(called).map(({ arguments: input }) => input);

    /** The messages of the conversation that is the newest. */
    async function stored(): Promise<Message[]> {
      const [conversation] = (await owner.conversations.list({ limit: 1 })).data;
      assert.ok(conversation);
      return (await owner.messages.list(conversation.id)).data;
    }

    const card = (page: Page) => page.locator("[part=call]");
    const button = (page: Page, label: string) =>
      card(page).getByRole("button", { name: label, exact: true });
    const saidOn = (page: Page, words: string) =>
      page.locator("[part~=reply], .message.twin").filter({ hasText: words });

    /** A page with the widget, whose visitor has asked for what needs a yes. */
    async function askInWidget(words: string, options: Parameters<typeof openPage>[1] = {}) {
      const page = await openPage(browser, options, /Failed to load resource|net::ERR|NetworkError|CORS/);
      await page.goto(origin);
      await page.locator("twin-chat [part~=greeting]").waitFor();
      await page.locator("twin-chat textarea").fill(words);
      await page.locator("twin-chat textarea").press("Enter");
      await card(page).first().waitFor();
      return page;
    }

    async function askInPlayground(words: string) {
      const page = await openPage(browser);
      await server.open(page);
      await page.locator(".message.twin", { hasText: "Say something." }).waitFor();
      await page.fill("#content", words);
      await page.click("#send");
      await card(page).first().waitFor();
      return page;
    }

    for (const colorScheme of ["light", "dark"] as const) {
      test(`the widget shows the tool and its arguments, and runs it once that is allowed, ${colorScheme}`, async () => {
        await using page = await askInWidget("Please find it.", { colorScheme });
        await page.locator("twin-chat").evaluate((element) => element.setAttribute("theme", "auto"));
        assert.equal(
          await card(page).innerText(),
          'orders/find\nnumber\n7\nnote\nfor Ada,\nby noon\nmore\n{"gift":true}\nname\nעדה\nAllow Not now',
        );
        assert.equal(await card(page).getAttribute("role"), "group");
        assert.equal(await card(page).getAttribute("aria-label"), "orders/find");
        await assertAccessible(page);
        assert.deepEqual(calls(), []);
        await button(page, "Allow").click();
        await saidOn(page, "1 results.").waitFor();
        assert.equal(await card(page).count(), 0);
        assert.deepEqual(calls(), [given]);
        assert.equal(await page.locator("twin-chat [part~=user]").count(), 1, "the decision has no words");
        assert.equal(await page.locator("twin-chat textarea").inputValue(), "");
        const [, again] = await page.getByRole("button", { name: "Try again" }).all();
        assert.equal(again, undefined, "only what has words is asked again");
      });
    }

    test("in the widget it is denied by keyboard, in the page's language", async () => {
      await using page = await askInWidget("Please find it.");
      await page.locator("twin-chat").evaluate((element) => element.setAttribute("lang", "de"));
      await button(page, "Jetzt nicht").focus();
      await page.keyboard.press("Enter");
      await saidOn(page, "1 results.").waitFor();
      assert.deepEqual(calls(), []);
      const focused = await page.evaluate(
        "document.activeElement.shadowRoot.activeElement.getAttribute('part')",
      );
      assert.equal(focused, "messages");
      assert.deepEqual(
        (await stored()).map(({ content }) => content),
        ["Please find it.", "May I?", "", "1 results."],
      );
    });

    test("in the widget two calls are decided one by one, and sent together", async () => {
      await using page = await askInWidget("find, find");
      await button(page, "Allow").first().click();
      assert.equal(await button(page, "Allow").first().getAttribute("aria-pressed"), "true");
      await button(page, "Not now").first().click(); // a second thought
      assert.equal(await button(page, "Allow").first().getAttribute("aria-pressed"), "false");
      assert.deepEqual(calls(), []);
      await button(page, "Allow").last().click();
      await saidOn(page, "2 results.").waitFor();
      assert.deepEqual(calls(), [{ ...given, number: 8 }]);
    });

    test("in the widget a reload shows the cards again, and writing on denies", async () => {
      await using page = await askInWidget("Please find it.");
      await page.reload();
      await card(page).waitFor();
      await page.locator("twin-chat textarea").fill("No, thanks.");
      await page.locator("twin-chat textarea").press("Enter");
      await saidOn(page, "1 results.").waitFor();
      assert.deepEqual([await card(page).count(), calls()], [0, []]);
    });

    test("in the widget a yes that could not be sent is none: the card is there again", async () => {
      await using page = await askInWidget("Please find it.");
      await page.context().setOffline(true);
      await page.route("**/messages/stream", (route) => route.abort());
      await button(page, "Allow").click();
      await page.locator("twin-chat [part=status]", { hasText: "That did not work." }).waitFor();
      assert.deepEqual(calls(), []);
      assert.equal(await page.locator("twin-chat textarea").inputValue(), "");
      assert.equal(await page.locator("twin-chat [part~=user]").count(), 1);
      await page.context().setOffline(false);
      await page.unroute("**/messages/stream");
      await button(page, "Allow").click();
      await saidOn(page, "1 results.").waitFor();
      assert.deepEqual(calls(), [given]);
    });

    test("in the widget nothing is decided while a person answers", async () => {
      await using page = await askInWidget("Please find it.");
      await page.locator("twin-chat [part=ask]").click();
      await page.locator("twin-chat [part=person]", { hasText: "A person will answer here." }).waitFor();
      assert.equal(await card(page).count(), 0);
    });

    test("the playground has the same cards, and its windows and the desk see what was decided", async () => {
      await using page = await askInPlayground("Please find it.");
      await assertAccessible(page);
      await using other = await openPage(browser);
      await server.open(other, page.url());
      await card(other).waitFor();
      await button(page, "Allow").click();
      await saidOn(page, "1 results.").waitFor();
      await saidOn(other, "1 results.").waitFor();
      for (const each of [page, other]) {
        assert.equal(await card(each).count(), 0);
        assert.equal(await each.locator(".message.user").count(), 1);
      }
      assert.deepEqual(calls(), [given]);
      const focused = await page.evaluate("document.activeElement.id");
      assert.equal(focused, "messages");
      const [, reply] = await stored();
      await owner.conversations.update(String(reply?.conversationId), { answeredBy: "person" });
      await other.click("#tab-inbox");
      await other.locator("#inbox li button").first().click();
      await other.locator("#inbox-messages .message.twin", { hasText: "1 results." }).waitFor();
      assert.equal(await other.locator("#inbox-messages .message.user").count(), 1);
      assert.equal(await other.locator("#inbox-messages [part=call]").count(), 0);
    });
  });
}
