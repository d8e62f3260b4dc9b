/**
 * The machine's browsers, driven by Playwright, on pages that must not complain.
 */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { AxeResults } from "axe-core";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";

/** A browser that can be started here, or the reason why it cannot. */
export interface TestBrowser {
  readonly name: string;
  readonly skip: string | false;
  start(): Promise<Browser>;
}

const sandbox = process.getuid?.() === 0 ? ["--no-sandbox"] : []; // it needs another user than root

/** Whether the packages of these tests are installed. They are imported late, so that tests without them can say why. */
const hasPackages = existsSync(fileURLToPath(new URL("node_modules", import.meta.url)));

/** The names of their programs, by which machines have them. Without a window's own pages, Chromium takes half the time. */
const programs: Readonly<Record<string, readonly string[]>> = {
  Chromium: ["chromium-headless-shell", "chromium", "google-chrome"],
  Firefox: ["firefox-esr", "firefox"],
};

export const browsers: readonly TestBrowser[] = Object.entries(programs).map(([name, candidates]) => {
  const program = candidates.find((each) => spawnSync(each, ["--version"]).status === 0);
  return {
    name,
    skip:
      (!program && `there is no ${name} on this machine`) ||
      (!hasPackages && "needs npm ci --prefix test/browser"),
    start: () => start(name, pathOf(program ?? "")),
  };
});

/** The file of a program, for which Playwright does not look itself. */
function pathOf(program: string): string {
  const folders = (process.env.PATH ?? "").split(delimiter);
  return folders.map((folder) => join(folder, program)).find((path) => existsSync(path)) ?? program;
}

async function start(name: string, executablePath: string): Promise<Browser> {
  const { chromium, firefox } = await import("playwright-core");
  if (name === "Chromium") return chromium.launch({ executablePath, args: sandbox });
  return firefox.launch({ executablePath, channel: "moz-firefox" }); // the machine's own, over WebDriver BiDi
}

/** A page that remembers its complaints. */
export type WatchedPage = Page & AsyncDisposable;

/** How long a page may take for anything, in milliseconds: more than on the slowest machine, beside all other tests. */
export const patienceMs = 60_000;

/**
 * Opens a page. When it is disposed of, it must not have written an error, or broken its own policy. `except`: what browsers
 * report by themselves where a test has requests fail.
 */
export async function openPage(
  browser: Browser,
  options: BrowserContextOptions = {},
  except?: RegExp,
): Promise<WatchedPage> {
  const unset = { colorScheme: null, reducedMotion: null, forcedColors: null, contrast: null };
  const context = await browser.newContext({ ...unset, ...options });
  const page = await context.newPage();
  const complaints: string[] = [];
  const hear = (complaint: string) => {
    if (!except?.test(complaint)) complaints.push(complaint);
  };
  page.on("pageerror", (error) => hear(String(error))); // Firefox tells refused requests here, too
  page.on("console", (message) => {
    if (message.type() === "error") hear(message.text());
  });
  page.setDefaultTimeout(patienceMs);
  return Object.assign(page, {
    async [Symbol.asyncDispose]() {
      await context.close();
      assert.deepEqual(complaints, []);
    },
  });
}

/** Fails if a page has an obstacle for people who cannot see it or use a mouse. `except`: a part that is left out. */
export async function assertAccessible(page: Page, except?: string): Promise<void> {
  const { default: axe } = await import("axe-core");
  await page.evaluate(axe.source);
  const context = { include: ["html"], ...(except !== undefined && { exclude: [except] }) };
  const { violations } = await page.evaluate<AxeResults>(`axe.run(${JSON.stringify(context)})`);
  const found = violations.map(
    ({ id, impact, nodes }) => `${impact} ${id}: ${nodes.map(({ html }) => html).join(" ")}`,
  );
  assert.deepEqual(found, []);
}

/** Fails if a page is wider than a window of a phone, a tablet or a desk. */
export async function assertFitsScreens(page: Page): Promise<void> {
  for (const width of [360, 768, 1280, 1920]) {
    await page.setViewportSize({ width, height: 800 });
    const content = await page.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(content <= width, `${content} pixels of content in ${width}`);
  }
}
