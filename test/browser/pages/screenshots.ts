/**
 * Pictures of the pages, to look at, and for the documents: `npm run screenshots -- <folder>`; by default in `docs/pictures/`.
 */

import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { signToken } from "../../../core/auth/jwt.ts";
import { startServer } from "../../server/process.ts";
import { browsers, openPage } from "../browsers.ts";

const [folder = "docs/pictures"] = process.argv.slice(2);
const secret = "a secret for pictures, 32 bytes long or more";
const wide = { width: 1280, height: 760 };
const narrow = { width: 360, height: 740 };

const [chromium] = browsers;
if (!chromium || chromium.skip) throw new Error(`Pictures need Chromium: ${chromium?.skip}.`);
await mkdir(folder, { recursive: true });
const server = await startServer(["--database", "memory:"], { JWT_SECRET: secret });
const browser = await chromium.start();
try {
  for (const colorScheme of ["light", "dark"] as const) {
    await using page = await openPage(browser, { colorScheme, viewport: wide });
    const save = (name: string) => page.screenshot({ path: join(folder, `${name}-${colorScheme}.png`) });
    const token = await signToken({ secret, sub: `owner-${colorScheme}`, expiresInSeconds: 600 });
    await page.goto(server.url);
    await page.fill("#credential", token);
    await page.click("#signin-form button");
    await talk(page);
    await save("playground");
    await page.setViewportSize(narrow);
    await save("playground-narrow");
    await desk(page);
    await save("playground-keys-narrow");
    await page.setViewportSize(wide);
    await save("playground-keys");
    await page.click("#tab-questions");
    await page.locator("#questions .entry").first().waitFor();
    await save("playground-questions");
    await page.setViewportSize(narrow);
    await page.goto(`${server.url}/docs`);
    await page.locator("article").first().waitFor();
    await save("reference-narrow");
    await page.setViewportSize(wide);
    await save("reference");
  }
} finally {
  await browser.close();
  await server.stop();
}

/** Has a reply cut in its middle and resumed. */
async function talk(page: Page): Promise<void> {
  await page.locator("#twins button", { hasText: "Guide" }).click();
  await page.fill("#content", "How do I resume a stream?");
  await page.click("#send");
  await page.locator("#wire .delta").nth(30).waitFor();
  await page.click("#cut");
  await page.locator("#wire .cut").waitFor();
  await page.click("#resume");
  await page.locator("#wire .complete").waitFor();
  await page.locator(".message.twin[aria-busy=false]").waitFor();
  await page.locator("#wire .cut").evaluate((line) => line.scrollIntoView({ block: "center" }));
}

/** Rates the reply, asks what no twin answers, and makes a key. */
async function desk(page: Page): Promise<void> {
  await page.getByRole("button", { name: "Good reply" }).click();
  await page.locator(".tool[aria-pressed=true]").waitFor();
  await page.fill("#content", "Who painted Guernica?");
  await page.click("#send");
  await page.locator(".message.twin:last-child[aria-busy=false]").waitFor();
  await page.click("#tab-keys");
  await page.locator(".new-key summary").click();
  await page.fill("#key-name", "website");
  await page.click(".new-key .primary");
  await page.locator(".key", { hasText: "website" }).waitFor();
  await page.locator(".chart rect").last().waitFor();
}
