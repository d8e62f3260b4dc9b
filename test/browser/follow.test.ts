/**
 * Windows of two browsers beside each other, on one conversation: they show the same, through a proxy that cuts.
 */

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { TwinClient } from "../../client/mod.ts";
import { type BreakingProxy, openBreakingProxy } from "../client/breaking-proxy.ts";
import { assertAccessible, openPage } from "./browsers.ts";
import { lastingText, openPlayground, type Playground, send } from "./playground.ts";
import { sharedBrowsers } from "./shared-browsers.ts";

const skip = sharedBrowsers.map((browser) => browser.skip).find(Boolean) ?? false;
/** Browsers report broken connections and refusals, as they should. */
const expected = /status of|NetworkError|ERR_|Failed to load|load failed/;

describe("the playground in three windows of two browsers", { skip }, () => {
  let server: Playground;
  let proxy: BreakingProxy;
  let client: TwinClient;

  before(async () => {
    server = await openPlayground();
    proxy = await openBreakingProxy(server.url, []);
    client = new TwinClient({ baseUrl: server.url, apiKey: await server.key() });
  });
  after(async () => {
    await proxy?.[Symbol.asyncDispose]();
    await server?.[Symbol.asyncDispose]();
  });

  async function window(at = 0, conversationId?: string) {
    const browser = await sharedBrowsers[at]?.start();
    assert.ok(browser);
    const page = await openPage(browser, {}, expected);
    await server.open(page, conversationId ? `${proxy.url}/#conversation=${conversationId}` : proxy.url);
    await page.locator(".message.twin", { hasText: "Say something." }).waitFor();
    return page;
  }

  test("shows the same words in each as they are written, branches, the title, and the end", async () => {
    await using one = await window();
    await send(one, "word0 first");
    await one.locator(".message.twin[aria-busy=false]", { hasText: "word0 first" }).waitFor();
    const id = new URL(one.url()).hash.slice("#conversation=".length);
    await using two = await window(0, id);
    await using three = await window(sharedBrowsers.length - 1, id);
    const windows = [one, two, three];
    for (const page of windows) await page.locator(".message.user", { hasText: "word0 first" }).waitFor();
    await three.fill("#content", "unfinished words");

    proxy.faults.push({ after: ["word20 "], how: "reset" }, { after: ["word50 "], how: "end" });
    await send(one, lastingText);
    for (const page of windows) {
      await page.locator(".message.twin[aria-busy=true]", { hasText: "word5 " }).waitFor();
    }
    for (const page of windows) {
      await page.locator(".message.twin[aria-busy=false]", { hasText: lastingText }).waitFor();
      assert.equal(await page.locator(".message.user").count(), 2);
      assert.equal(await page.locator(".message.twin").count(), 3);
    }
    assert.equal(proxy.faults.length, 0);
    for (const page of windows) await assertAccessible(page);

    await two.locator(".message.user button", { hasText: "Edit" }).first().click();
    await two.waitForFunction(
      () => document.querySelector<HTMLTextAreaElement>("#content")?.value === "word0 first",
    );
    await send(two, "word0 anew");
    for (const page of windows) {
      await page.locator(".message.twin[aria-busy=false]", { hasText: "word0 anew" }).waitFor();
      await page.locator(".message.user", { hasText: "2 / 2" }).waitFor();
      assert.equal(await page.locator(".message.user").count(), 1);
    }

    await one.locator("button", { hasText: "‹" }).click();
    for (const page of windows) {
      await page.locator(".message.twin[aria-busy=false]", { hasText: lastingText }).waitFor();
      assert.equal(await page.locator(".message.user").count(), 2);
    }

    await client.conversations.update(id, { title: "Renamed elsewhere" });
    for (const page of windows)
      await page.locator("#conversations", { hasText: "Renamed elsewhere" }).waitFor();
    assert.equal(await three.inputValue("#content"), "unfinished words");

    await client.conversations.delete(id);
    for (const page of windows) await page.locator("#problem", { hasText: "was deleted" }).waitFor();
    assert.equal(await three.inputValue("#content"), "unfinished words");
  });
});
