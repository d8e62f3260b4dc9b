/**
 * What a screen reader says by itself in scripted chats: each reply once, as a whole; nothing twice; errors at once.
 */

import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import type { Server } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { build } from "esbuild";
import type { Browser, Page, Route } from "playwright-core";
import { TwinClient } from "../../client/mod.ts";
import { startToolServer, type ToolServer } from "../mcp-servers/tool-server.ts";
import {
  begin,
  call,
  createModelServer,
  delta,
  endMarker,
  event,
  finish,
} from "../openai-models/model-server.ts";
import { listen } from "../support/ports.ts";
import { openPage } from "./browsers.ts";
import type {} from "./pages/screen-reader.ts";
import { lastingText, openPlayground, type Playground, readAlong, send } from "./playground.ts";
import { representativeBrowsers } from "./shared-browsers.ts";
import spoken from "./spoken.json" with { type: "json" };

type Chat = keyof typeof spoken;

const echo = `---
name: Echo
description: Says what you say.
greeting: Say something.
engine: echo
handover: true
---
`;

const clerk = `---
name: Clerk
description: Finds orders.
greeting: Say something.
engine: openai
tools: [orders]
confirm: [orders/find]
---
You find orders.
`;

const markdown = `# Hours

We are open **daily** from 9 to 17, and on [holidays](https://shop.test) from 10.

- Monday is quiet
- Saturday is not

\`\`\`
call 1234
\`\`\``;

/** A model that gives up where it is to "fail", and calls its tool where it is to "find". */
function createModel(): Server {
  return createModelServer("clerk", ({ question, results }, response) => {
    begin(response);
    const words = (text: string) => response.end(delta(text) + finish("stop") + endMarker);
    if (/fail/.test(question)) response.end(delta("Half a reply") + event({ error: { message: "No." } }));
    else if (results > 0 || !/find/.test(question)) words(`${results} results.`);
    else
      response.end(
        delta("May I?") + call("call-1", "orders_find", { number: 7 }) + finish("tool_calls") + endMarker,
      );
  });
}

const refuse = (route: Route) =>
  route.fulfill({
    status: 429,
    headers: { "Retry-After": "18" },
    json: { error: { code: "rate_limited", message: "Later.", requestId: "req_1" } },
  });

for (const { name, skip, start } of representativeBrowsers) {
  describe(`a screen reader in ${name}`, { skip }, () => {
    let browser: Browser;
    let reader: string;
    let folder: string;
    let model: Server;
    let orders: ToolServer;
    let server: Playground;
    let owner: TwinClient;

    before(async () => {
      const options = { entryPoints: ["test/browser/pages/screen-reader.ts"], bundle: true, write: false };
      reader = String((await build(options)).outputFiles?.[0]?.text);
      model = createModel();
      orders = await startToolServer();
      folder = await mkdtemp(join(tmpdir(), "twins-spoken-"));
      const file = join(folder, "mcp.json");
      await writeFile(file, JSON.stringify({ mcpServers: { orders: { url: orders.url } } }));
      const MODEL_BASE_URL = `http://127.0.0.1:${await listen(model)}/v1`;
      const twins = { "clerk.md": clerk, "echo.md": echo };
      server = await openPlayground({ MODEL_BASE_URL, MCP_SERVERS: file }, twins);
      owner = new TwinClient({ baseUrl: server.url, apiKey: await server.key() });
      browser = await start();
    });
    after(async () => {
      await server?.[Symbol.asyncDispose]();
      model?.closeAllConnections();
      model?.close();
      await orders?.close();
      await rm(folder, { recursive: true });
    });

    async function openReading() {
      const page = await openPage(browser, {}, /status of|NetworkError|ERR_|Failed to load/);
      await page.addInitScript(reader);
      await readAlong(page);
      return page;
    }

    const listenTo = (page: Page, container: string) =>
      page.locator(container).evaluate((element) => globalThis.startScreenReader(element));

    /** A page with the widget, which is listened to from before it has shown anything. */
    async function openWidget(twin: "clerk" | "echo") {
      const page = await openReading();
      const address = `${server.url}/shop`;
      const body = `<!doctype html><html lang="en"><title>A shop</title><link rel="icon" href="data:,">
        <script type="module" src="/widget.js"></script>
        <main><twin-chat twin="${twin}" token-url="/token"></twin-chat></main>`;
      await page.route(address, (route) => route.fulfill({ contentType: "text/html", body }));
      const endUser = `user-${Math.random()}`;
      await page.route(`${server.url}/token`, async (route) =>
        route.fulfill({ json: { token: (await owner.clientTokens.create({ endUser })).token } }),
      );
      await page.goto(address);
      await listenTo(page, "twin-chat section");
      return page;
    }

    /** What was spoken by itself must be what was written down for that chat. */
    async function hears(page: Page, chat: Chat): Promise<void> {
      const expected = spoken[chat];
      const isSpoken = async (count: number) => (await globalThis.spokenByItself()).length >= count;
      // Where it is never so much, what was spoken is told below.
      await page.waitForFunction(isSpoken, expected.length).catch(() => {});
      // Nothing more comes of what is shown.
      await page.evaluate(
        () => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))),
      );
      assert.deepEqual(await page.evaluate(() => globalThis.spokenByItself()), expected);
    }

    describe("in the widget", () => {
      const write = async (page: Page, content: string) => {
        await page.locator("twin-chat textarea").fill(content);
        await page.locator("twin-chat textarea").press("Enter");
      };
      const replied = (page: Page, text: string) =>
        page.locator("twin-chat [part~=reply]:not([aria-busy])", { hasText: text }).waitFor();

      test("speaks each reply once, when it is whole", async () => {
        await using page = await openWidget("echo");
        await write(page, markdown);
        await replied(page, "call 1234");
        await write(page, "And today?");
        await replied(page, "And today?");
        await hears(page, "replies in the widget");
      });

      test("speaks nothing that was said before, nor other branches", async () => {
        await using page = await openWidget("echo");
        await write(page, "One two three.");
        await replied(page, "One two three.");
        await write(page, lastingText);
        await page.locator("twin-chat [part~=reply][aria-busy]", { hasText: "word3 " }).waitFor();
        await page.reload();
        await listenTo(page, "twin-chat section");
        await replied(page, "word119");
        await page.getByRole("button", { name: "Edit" }).last().click();
        await write(page, "Four five six.");
        await replied(page, "Four five six.");
        await page.getByRole("button", { name: "1 / 2" }).click();
        await replied(page, "word119");
        await hears(page, "second thoughts in the widget");
      });

      test("speaks what a person says, and who answers", async () => {
        await using page = await openWidget("echo");
        await page.locator("twin-chat [part=ask]").click();
        await page.getByText("A person will answer here.").first().waitFor();
        const { id = "" } = (await owner.conversations.list({ limit: 1 })).data[0] ?? {};
        await owner.messages.say(id, { content: "I am **here**.", author: "Eva" });
        await replied(page, "I am here.");
        await write(page, "Thanks.");
        await page.locator("twin-chat [part~=user]:not([aria-busy])", { hasText: "Thanks." }).waitFor();
        await owner.messages.say(id, { content: "Bye.", author: "Eva", answeredBy: "twin" });
        await page.locator("twin-chat [part=ask]").waitFor();
        await write(page, "Still there?");
        await replied(page, "Still there?");
        await hears(page, "a person in the widget");
      });

      test("speaks errors at once, each once", async () => {
        await using page = await openWidget("clerk");
        await write(page, "Please fail.");
        await replied(page, "That did not work.");
        await page.route("**/messages/stream", refuse);
        await write(page, "And now?");
        await page.locator("twin-chat [part=status]", { hasText: "in 18 seconds" }).waitFor();
        await page.unroute("**/messages/stream");
        await page.context().setOffline(true);
        await page.locator("twin-chat textarea").press("Enter");
        await page.locator("twin-chat [part~=user]", { hasText: "You are offline." }).waitFor();
        await page.context().setOffline(false);
        await replied(page, "0 results.");
        await page.locator("twin-chat textarea").fill("x".repeat(32_001));
        await page.locator("twin-chat textarea").pressSequentially("xxx");
        await page.locator("twin-chat [part=status]", { hasText: "32,004" }).waitFor();
        await hears(page, "errors in the widget");
      });

      test("speaks calls that wait for a yes with the reply that ends with them", async () => {
        await using page = await openWidget("clerk");
        await write(page, "Please find it.");
        await page.getByRole("button", { name: "Allow" }).click();
        await replied(page, "1 results.");
        await hears(page, "calls in the widget");
      });
    });

    describe("in the playground", () => {
      /** The playground with a twin, listened to from before it has signed in. */
      async function openPlaygroundOf(twin: string) {
        const page = await openReading();
        await server.open(page);
        await listenTo(page, "body");
        await page.locator("#twins button", { hasText: twin }).click();
        await page.locator("#messages .message.twin", { hasText: "Say something." }).waitFor();
        return page;
      }
      const replied = (page: Page, text: string) =>
        page.locator("#messages .message.twin[aria-busy=false]", { hasText: text }).waitFor();

      test("speaks each reply once, when it is whole, and nothing that was said before", async () => {
        await using page = await openPlaygroundOf("Echo");
        await send(page, markdown);
        await replied(page, "call 1234");
        await send(page, lastingText);
        await replied(page, "word119");
        await page.click("#conversations button[aria-current=true]");
        await page.locator("#messages .message.twin", { hasText: "word119" }).waitFor();
        await hears(page, "replies in the playground");
      });

      test("speaks errors at once, each once", async () => {
        await using page = await openPlaygroundOf("Clerk");
        await send(page, "Please fail.");
        await replied(page, "Half a reply");
        await page.route("**/messages/stream", refuse);
        await send(page, "And now?");
        await page.locator("#problem button").waitFor();
        await page.unroute("**/messages/stream");
        await page.locator("#problem button").click();
        await replied(page, "0 results.");
        await hears(page, "errors in the playground");
      });

      test("speaks calls that wait for a yes with the reply that ends with them", async () => {
        await using page = await openPlaygroundOf("Clerk");
        await send(page, "Please find it.");
        await page.getByRole("button", { name: "Allow" }).click();
        await replied(page, "1 results.");
        await hears(page, "calls in the playground");
      });

      test("speaks what a person's visitor writes, and nothing that was said before", async () => {
        const { id } = await owner.conversations.create({ twinId: "echo", endUser: "ann" });
        await owner.conversations.update(id, { answeredBy: "person" });
        await owner.messages.send(id, { content: "Anybody?" });
        await using page = await openReading();
        await server.open(page);
        await listenTo(page, "body");
        await page.locator("#twins button").first().waitFor();
        await page.click("#tab-inbox");
        await page.locator("#inbox-list button", { hasText: "ann" }).click();
        await page.locator("#inbox-messages .message.user", { hasText: "Anybody?" }).waitFor();
        await owner.messages.send(id, { content: "Hello?" });
        await page.locator("#inbox-messages .message.user", { hasText: "Hello?" }).waitFor();
        await page.fill("#inbox-name", "Eva");
        await page.fill("#inbox-content", "I am here.");
        await page.press("#inbox-content", "Enter");
        await page.locator("#inbox-messages .message.twin", { hasText: "I am here." }).waitFor();
        await hears(page, "a person at the desk");
      });
    });
  });
}
