/**
 * The chat in React that docs/client.md shows, in pages.
 */

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import type { Browser } from "playwright-core";
import { TwinClient } from "../../client/mod.ts";
import { openPage } from "./browsers.ts";
import { lastingText, openPlayground, type Playground, readAlong } from "./playground.ts";
import { representativeBrowsers } from "./shared-browsers.ts";

const pathOf = (name: string) => fileURLToPath(new URL(name, import.meta.url));
const mostLines = 36;

test("the document shows the chat as it is tested, in few lines", async () => {
  const code = await readFile(pathOf("react/chat.tsx"), "utf8");
  const document = await readFile(pathOf("../../docs/client.md"), "utf8");
  assert.ok(document.includes(`\`\`\`tsx\n${code}\`\`\``), "docs/client.md has other code");
  assert.ok(code.split("\n").length <= mostLines);
});

async function buildPage(): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [pathOf("react/page.tsx")],
    bundle: true,
    write: false,
    format: "esm",
    target: "es2022",
    jsx: "automatic",
    define: { "process.env.NODE_ENV": '"development"' }, // for strict mode
  });
  const script = outputFiles[0]?.text.replaceAll("</script", "<\\/script");
  return `<!doctype html><meta charset="utf-8"><title>Chat</title><link rel="icon" href="data:,"><body><script type="module">${script}</script>`;
}

for (const { name, skip, start } of representativeBrowsers) {
  describe(`a chat in React, in ${name}`, { skip }, () => {
    let browser: Browser;
    let server: Playground;
    let html: string;
    let key: string;
    before(async () => {
      [server, html, browser] = await Promise.all([openPlayground(), buildPage(), start()]);
      key = await server.key();
    });
    after(() => server?.[Symbol.asyncDispose]());

    test("shows in two windows what is asked in one, as it is written, also after a reload", async () => {
      const client = new TwinClient({ baseUrl: server.url, apiKey: key });
      const { id } = await client.conversations.create({ twinId: "echo" });
      const address = `${server.url}/app?conversation=${id}&key=${key}`;
      const open = async () => {
        const page = await openPage(browser, {}, /React DevTools/);
        await readAlong(page);
        await page.route(address, (route) => route.fulfill({ contentType: "text/html", body: html }));
        await page.goto(address);
        await page.getByLabel("Message").waitFor();
        return page;
      };
      await using one = await open();
      await using two = await open();
      await one.getByLabel("Message").fill(lastingText);
      await one.getByRole("button", { name: "Send" }).click();
      for (const page of [one, two]) {
        await page.getByRole("button", { name: "Stop" }).waitFor();
        await page.locator(".assistant", { hasText: "word9 " }).waitFor();
      }
      await two.reload();
      for (const page of [one, two]) {
        await page.locator(".assistant", { hasText: "word119" }).waitFor();
        const shown = await page.locator("p").allInnerTexts();
        assert.deepEqual(shown, [lastingText, lastingText]);
      }
    });
  });
}
