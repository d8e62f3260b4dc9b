/**
 * The machine's browsers, each started once for all tests of this process. Apart from what starts them, since a hook makes a
 * test report of every program that imports it.
 */

import { after } from "node:test";
import type { Browser } from "playwright-core";
import { browsers, type TestBrowser } from "./browsers.ts";

const running = new Map<string, Promise<Browser>>();

after(async () => {
  for (const browser of running.values()) await (await browser).close();
});

/** Browsers that are closed after the last test. */
export const sharedBrowsers: readonly TestBrowser[] = browsers.map((browser) => ({
  ...browser,
  start() {
    const started = running.get(browser.name) ?? browser.start();
    running.set(browser.name, started);
    return started;
  },
}));

const first = sharedBrowsers.find(({ skip }) => skip === false);

/**
 * Those for pages that differ in nothing that other suites do not show of each browser (the widget, the client, other people's
 * pages: streams, storage, layout, keys): the first, and with `FULL=1` all.
 */
export const representativeBrowsers: readonly TestBrowser[] = sharedBrowsers.map((browser) => ({
  ...browser,
  skip: browser.skip || (process.env.FULL !== "1" && browser !== first && "FULL=1 runs it here, too"),
}));
