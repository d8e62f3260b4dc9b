/**
 * The client in the machine's browsers, over connections that break.
 */

import { after, before, describe, test } from "node:test";
import { build } from "esbuild";
import type { BrowserContext, Page } from "playwright-core";
import type { Fault } from "../client/breaking-proxy.ts";
import {
  assertWhole,
  type Connection,
  converse,
  everywhere,
  positions,
  type Reading,
  ways,
} from "../client/broken-connections.ts";
import { patienceMs } from "./browsers.ts";
import type {} from "./pages/client.ts";
import { sharedBrowsers } from "./shared-browsers.ts";

/** What runs in the page, with the client, as a script. */
async function bundleScript(): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: ["test/browser/pages/client.ts"],
    bundle: true,
    write: false,
  });
  return String(outputFiles[0]?.text);
}

/** Reads a reply in a page, which has the origin of the service, so that no request is asked for before. */
async function readIn(page: Page, script: string, to: Connection): Promise<Reading> {
  const address = `${to.baseUrl}/page`;
  await page.route(address, (route) => route.fulfill({ contentType: "text/html", body: "<!doctype html>" }));
  await page.goto(address);
  await page.addScriptTag({ content: script });
  await page.evaluate((to) => globalThis.sendMessage(to), to);
  return {
    async reach(length) {
      await page.waitForFunction((length) => globalThis.receivedLength() >= length, length, { polling: 50 });
    },
    end: () => page.evaluate(() => globalThis.whatCame()),
  };
}

for (const { name, skip, start } of sharedBrowsers) {
  describe(`a reply over a connection that breaks, in ${name}`, { skip }, () => {
    let context: BrowserContext;
    let script: string;
    before(async () => {
      script = await bundleScript();
      context = await (await start()).newContext();
      context.setDefaultTimeout(patienceMs);
    });
    after(() => context?.close());

    /** A conversation in a page of its own. */
    async function converseInPage(faults: readonly Fault[]) {
      const page = await context.newPage();
      try {
        return await converse(faults, (to) => readIn(page, script, to));
      } finally {
        await page.close();
      }
    }

    // Each place in one of the ways, for the sake of time: on Node, the same tests do each in all of them.
    for (const [index, how] of ways.entries()) {
      const own = positions.filter((_, place) => place % ways.length === index);
      test(`by ${how} ${own.map(({ name }) => name).join(", ")}, is whole, stored once and asked for once`, async () => {
        const conversations = own.map((position) => converseInPage([{ ...position, how }]));
        for (const conversation of await Promise.all(conversations)) assertWhole(conversation);
      });
    }

    test("again and again, is whole", async () => {
      assertWhole(await converseInPage(everywhere));
    });
  });
}
