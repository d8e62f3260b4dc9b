/**
 * `useChat` of the AI SDK in a page, with the client as its transport.
 */

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import type { Browser } from "playwright-core";
import { type Message, TwinClient } from "../../client/mod.ts";
import { openPage } from "./browsers.ts";
import { lastingText, openPlayground, type Playground, readAlong, someText } from "./playground.ts";
import { sharedBrowsers } from "./shared-browsers.ts";

const [chromium] = sharedBrowsers;

async function buildPage(): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [fileURLToPath(new URL("use-chat/page.tsx", import.meta.url))],
    bundle: true,
    write: false,
    format: "esm",
    target: "es2022",
    jsx: "automatic",
    define: { "process.env.NODE_ENV": '"production"' },
  });
  const script = outputFiles[0]?.text.replaceAll("</script", "<\\/script");
  return `<!doctype html><meta charset="utf-8"><title>Chat</title><link rel="icon" href="data:,"><body><script type="module">${script}</script>`;
}

describe("useChat", { skip: chromium?.skip ?? "there is no Chromium" }, () => {
  let browser: Browser;
  let server: Playground;
  let html: string;
  let key: string;
  let client: TwinClient;

  before(async () => {
    server = await openPlayground();
    key = await server.key();
    client = new TwinClient({ baseUrl: server.url, apiKey: key });
    html = await buildPage();
    browser = (await chromium?.start()) as Browser;
  });
  after(() => server?.[Symbol.asyncDispose]());

  /** A page with a conversation, in the origin of the service. */
  async function open(id: string) {
    const page = await openPage(browser);
    await readAlong(page);
    const address = `${server.url}/app?conversation=${id}&key=${key}`;
    await page.route(address, (route) => route.fulfill({ contentType: "text/html", body: html }));
    await page.goto(address);
    return page;
  }

  /** A page with a new conversation, that has been asked something. */
  async function ask(content: string) {
    const { id } = await client.conversations.create({ twinId: "echo" });
    const page = await open(id);
    await page.fill("#text", content);
    await page.click("#send");
    await page.locator(".assistant").waitFor();
    const stored = async (): Promise<Message[]> => (await client.messages.list(id)).data;
    return { page, stored, [Symbol.asyncDispose]: () => page[Symbol.asyncDispose]() };
  }

  test("shows a reply, which is stored once", async () => {
    await using chat = await ask(someText);
    await chat.page.locator("#status", { hasText: "ready" }).waitFor();
    assert.equal(await chat.page.innerText(".assistant"), someText);
    assert.deepEqual(
      (await chat.stored()).map(({ content }) => content),
      [someText, someText],
    );
  });

  test("shows what a person says meanwhile, and goes on from that", async () => {
    await using chat = await ask(someText);
    await chat.page.locator("#status", { hasText: "ready" }).waitFor();
    const [{ conversationId = "" } = {}] = await chat.stored();
    await client.messages.say(conversationId, { content: "I am here.", author: "Eva" });
    await chat.page.locator(".assistant", { hasText: "I am here." }).waitFor();
    await chat.page.fill("#text", "Good.");
    await chat.page.click("#send");
    await chat.page.locator(".assistant", { hasText: "Good." }).waitFor();
    await chat.page.locator("#status", { hasText: "ready" }).waitFor();
    const told = [someText, someText, "I am here.", "Good.", "Good."];
    assert.deepEqual(
      (await chat.stored()).map(({ content }) => content),
      told,
    );
    assert.deepEqual(await chat.page.locator("form > p[class]").allInnerTexts(), told);
  });

  test("goes on with a reply after a reload in the middle of it", async () => {
    await using chat = await ask(lastingText);
    assert.equal(await chat.page.innerText("#status"), "streaming");
    await chat.page.reload();
    await chat.page.locator(".assistant").waitFor();
    await chat.page.locator("#status", { hasText: "ready" }).waitFor();
    assert.deepEqual(await chat.page.locator(".assistant").allInnerTexts(), [lastingText]);
    assert.equal((await chat.stored()).length, 2);
  });

  test("takes back words that another process writes anew", async () => {
    const { id } = await client.conversations.create({ twinId: "echo" });
    await client.messages.send(id, { content: "Hello all" });
    const [, message] = (await client.messages.list(id)).data;
    await using page = await open(id);
    const progress = (stage: object) => ({ type: "progress", progress: stage });
    const events = [
      [0, progress({ stage: "accepted", messageId: "msg_2" })],
      [9, { type: "delta", content: "Hello you" }],
      [6, progress({ stage: "continued", from: 6, attempt: 2 })],
      [9, { type: "delta", content: "all" }],
      [9, { type: "complete", message: { ...message, id: "msg_2" } }],
    ] as const;
    const body = events.map(([at, data]) => `id: ${at}\ndata: ${JSON.stringify(data)}\n\n`).join("");
    const contentType = "text/event-stream; charset=utf-8";
    await page.route("**/messages/stream", (route) => route.fulfill({ contentType, body }));
    await page.fill("#text", "Hello?");
    await page.click("#send");
    await page.locator(".assistant").nth(1).waitFor();
    await page.locator("#status", { hasText: "ready" }).waitFor();
    assert.equal(await page.locator(".assistant").last().innerText(), "Hello all");
  });

  test("begins with the end of a long conversation", async () => {
    const { id } = await client.conversations.create({ twinId: "echo" });
    for (let turn = 1; turn <= 11; turn++) await client.messages.send(id, { content: `turn${turn}` });
    await using page = await open(id);
    await page.locator(".assistant").first().waitFor();
    assert.equal(await page.locator(".assistant").last().innerText(), "turn11");
  });

  test("stops a reply that goes on after a reload", async () => {
    await using chat = await ask(`${lastingText} ${lastingText}`);
    await chat.page.reload();
    await chat.page.locator(".assistant").waitFor();
    await chat.page.click("#stop");
    await chat.page.locator("#status", { hasText: "ready" }).waitFor();
    const [, reply] = await chat.stored();
    assert.ok(reply);
    assert.equal((await client.messages.resume(reply.conversationId, reply.id).final()).status, "cancelled");
  });

  test("stops a reply, which keeps its text so far", async () => {
    await using chat = await ask(lastingText);
    await chat.page.click("#stop");
    await chat.page.locator("#status", { hasText: "ready" }).waitFor();
    const [, reply] = await chat.stored();
    assert.ok(reply?.status === "cancelled" || reply?.status === "in_progress");
    assert.equal((await client.messages.resume(reply.conversationId, reply.id).final()).status, "cancelled");
  });
});
