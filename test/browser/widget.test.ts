/**
 * The widget, on a page of another origin that loads it from the server.
 */

import assert from "node:assert/strict";
import { createServer, type Server } from "node:http";
import { after, before, describe, test } from "node:test";
import type { Browser } from "playwright-core";
import { TwinClient } from "../../client/mod.ts";
import { listen } from "../support/ports.ts";
import { assertAccessible, browsers, openPage } from "./browsers.ts";
import { longText, openPlayground, type Playground } from "./playground.ts";

const policy = (service: string) =>
  `default-src 'none'; script-src ${service}; style-src 'none'; connect-src 'self' ${service}; img-src data:`;

for (const { name, skip, start } of browsers) {
  describe(`the widget in ${name}`, { skip }, () => {
    let browser: Browser;
    let server: Playground;
    let app: Server;
    let origin: string;
    let backend: TwinClient;
    let tokens = 0;

    before(async () => {
      app = createServer(async (request, response) => {
        if (request.method === "POST") {
          tokens++;
          const made = await backend.clientTokens.create({ endUser: "user-1", twinIds: ["echo"] });
          response.setHeader("Content-Type", "application/json").end(JSON.stringify(made));
          return;
        }
        response
          .setHeader("Content-Type", "text/html")
          .setHeader("Content-Security-Policy", policy(server.url));
        response.end(`<!doctype html><html lang="en"><meta charset="utf-8"><title>An app</title>
          <link rel="icon" href="data:,"><script type="module" src="${server.url}/widget.js"></script>
          <main><h1>An app</h1><twin-chat src="${server.url}" twin="echo" token-url="/token"></twin-chat></main>`);
      });
      origin = `http://127.0.0.1:${await listen(app)}`;
      server = await openPlayground({ CORS_ORIGINS: origin });
      backend = new TwinClient({ baseUrl: server.url, apiKey: await server.key() });
      browser = await start();
    });
    after(async () => {
      await browser?.close();
      app.closeAllConnections();
      app.close();
      await server[Symbol.asyncDispose]();
    });

    /** A page with the widget, into which something was written. */
    async function ask(content: string) {
      const opened = await openPage(browser);
      const { page } = opened;
      await page.goto(origin);
      await page.locator("twin-chat [part~=reply]", { hasText: "Say something." }).waitFor();
      await page.locator("twin-chat textarea").fill(content);
      await page.locator("twin-chat textarea").press("Enter");
      await page.locator("twin-chat [part~=reply]", { hasText: "word0" }).waitFor();
      return opened;
    }

    test("greets, and shows a reply", async () => {
      await using opened = await ask(longText);
      const { page } = opened;
      await page.locator("twin-chat button", { hasText: "Send" }).waitFor();
      assert.equal(await page.locator("twin-chat [part~=reply]").last().innerText(), longText);
      assert.ok(tokens > 0);
      await assertAccessible(page);
    });

    test("goes on with a reply after a reload in the middle of a word", async () => {
      await using opened = await ask(longText);
      const { page } = opened;
      await page.reload();
      await page.locator("twin-chat button", { hasText: "Stop" }).waitFor();
      await page.locator("twin-chat button", { hasText: "Send" }).waitFor();
      assert.equal(await page.locator("twin-chat [part~=reply]").last().innerText(), longText);
      assert.equal(await page.locator("twin-chat [part~=user]").count(), 1);
    });

    test("stops a reply", async () => {
      await using opened = await ask(longText);
      const { page } = opened;
      await page.locator("twin-chat button", { hasText: "Stop" }).click();
      await page.locator("twin-chat button", { hasText: "Send" }).waitFor();
      const [conversation] = (await backend.conversations.list({ endUser: "user-1" })).data;
      const [reply] = (await backend.messages.list(String(conversation?.id), { order: "desc" })).data;
      assert.equal(reply?.status, "cancelled");
    });
  });
}
