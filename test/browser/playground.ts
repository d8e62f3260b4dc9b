/**
 * A server whose playground tests open.
 */

import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { type Message, TwinClient } from "../../client/mod.ts";
import { signToken } from "../../core/auth/jwt.ts";
import { startServer } from "../server/process.ts";
import type { Variables } from "../support/child-process.ts";

/** What its JWTs are signed with. */
export const playgroundSecret = "a secret for tests, 32 bytes long or more";

const echo = `---
name: Echo
description: Says what you say.
greeting: Say something.
engine: echo
---
`;

/** What is said to the twin that repeats it. */
export const someText = words(12);

/** The same for what must be done before the reply ends, even on a slow machine: it takes four seconds to repeat. */
export const lastingText = words(120);

/** Has a page that is not the playground get replies at a reader's pace, too. */
export async function readAlong(page: Page): Promise<void> {
  await page.route("**/messages/stream", (route) =>
    route.continue({ headers: { ...route.request().headers(), Prefer: "reading-pace" } }),
  );
}

function words(length: number): string {
  return Array.from({ length }, (_, index) => `word${index}`).join(" ");
}

/** A server with a twin that repeats what it is told. */
export interface Playground extends AsyncDisposable {
  readonly url: string;
  /** Opens the playground, signed in as after a reload: the tab has kept the token. `address`: where a proxy is. */
  open(page: Page, address?: string): Promise<void>;
  /** A JWT of the same owner. */
  token(): Promise<string>;
  /** The secret of a new key, of the same owner. */
  key(): Promise<string>;
  /** All messages of the conversation that a page shows. */
  stored(page: Page): Promise<Message[]>;
}

export async function openPlayground(
  variables: Variables = {},
  files: Readonly<Record<string, string>> = { "echo.md": echo },
): Promise<Playground> {
  const twins = await mkdtemp(join(tmpdir(), "twins-playground-"));
  for (const [file, text] of Object.entries(files)) await writeFile(join(twins, file), text);
  const flags = ["--database", "memory:", "--twins", twins];
  const server = await startServer(flags, { JWT_SECRET: playgroundSecret, ...variables });
  const token = () => signToken({ secret: playgroundSecret, sub: "alice", expiresInSeconds: 600 });
  async function key(): Promise<string> {
    const owner = new TwinClient({ baseUrl: server.url, apiKey: await token() });
    return (await owner.keys.create({ name: "test", scope: "full_access" })).key;
  }
  return {
    url: server.url,
    key,
    token,
    async open(page, address = server.url) {
      await page.goto(address);
      await page.evaluate(
        (credential) => sessionStorage.setItem("playground", JSON.stringify({ credential })),
        await token(),
      );
      await page.reload();
    },
    async stored(page) {
      const client = new TwinClient({ baseUrl: server.url, apiKey: await key() });
      const [, id = ""] = /#conversation=(\w+)/.exec(page.url()) ?? [];
      return (await client.messages.list(id)).data;
    },
    async [Symbol.asyncDispose]() {
      await server.stop();
      await rm(twins, { recursive: true });
    },
  };
}

/** Sends a message. */
export async function send(page: Page, content: string, button = "#send"): Promise<void> {
  await page.fill("#content", content);
  await page.click(button);
}

/** Sends a message, and resolves while the reply arrives: only for one that lasts, like that to `lastingText`. */
export async function say(page: Page, content: string, button?: string): Promise<void> {
  await send(page, content, button);
  await page.locator(".message.twin[aria-busy=true] .text p").waitFor();
}

/** The text of the newest reply, once it has ended. */
export async function replyOn(page: Page): Promise<string> {
  await page.locator(".message.twin:last-child[aria-busy=false]").waitFor();
  return page.locator(".message.twin .text").last().innerText();
}
