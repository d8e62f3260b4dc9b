/**
 * What the tests of the reference server share: folders, keys, conversations, a server with a model.
 */

import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type Script, startModelServer } from "../openai-models/model-server.ts";
import type { Ended } from "../support/child-process.ts";
import { makeScratch } from "../support/folder.ts";
import { dataOf, jsonRequest } from "../support/harness.ts";
import { runServer, type ServerProcess, startServer } from "./process.ts";

/** Makes new folders, each with one twin that echoes and those that are given. They go with this process. */
export async function createScratch() {
  const root = await makeScratch("twin-service-server");
  let folders = 0;
  return async (twins: Readonly<Record<string, string>> = {}) => {
    const folder = join(root, String(folders++));
    await mkdir(join(folder, "twins"), { recursive: true });
    const files = { "echo.md": "---\nname: Echo\nengine: echo\n---\n", ...twins };
    for (const [file, text] of Object.entries(files)) await writeFile(join(folder, "twins", file), text);
    const database = `sqlite:${join(folder, "data", "twins.db")}`;
    return { folder, database, flags: ["--twins", join(folder, "twins"), "--database", database] };
  };
}

export type Scratch = Awaited<ReturnType<typeof createScratch>>;

/** Fails unless the process ended with a one-line error, without a stack, and exit code 1. */
export function assertRefusal({ code, stdout, stderr }: Ended, pattern: RegExp): void {
  assert.match(stderr, /^twin-service: [^\n]+\n$/);
  assert.match(stderr, pattern);
  assert.equal(stdout, "");
  assert.equal(code, 1);
}

export async function call(
  url: string,
  method: string,
  credential: string,
  body?: object,
): Promise<Response> {
  return fetch(url, { method, ...jsonRequest(credential, body) });
}

export async function createKey({ url }: ServerProcess, token: string): Promise<string> {
  const body = { name: "test", scope: "full_access" };
  const made = await call(`${url}/api/v1/auth/api-keys`, "POST", token, body);
  return (await dataOf<{ key: string }>(made)).key;
}

export async function converse({ url }: ServerProcess, key: string, twinId: string): Promise<string> {
  const made = await call(`${url}/api/v1/conversations`, "POST", key, { twinId });
  return `${url}/api/v1/conversations/${(await dataOf<{ id: string }>(made)).id}/messages`;
}

/** Has the server's command make a token. It asks no server that happens to listen at the default port. */
export async function mint(
  flags: readonly string[],
  variables: Record<string, string> = {},
): Promise<string> {
  const { code, stdout, stderr } = await runServer(
    ["token", "--sub", "alice", "--port", "1", ...flags],
    variables,
  );
  assert.equal(code, 0, stderr);
  assert.match(stdout, /^[\w-]+\.[\w-]+\.[\w-]+\n$/);
  return stdout.trim();
}

/** A server with a twin whose model follows these scripts, and a conversation with it. */
export async function openTalker(
  scratch: Scratch,
  variables: Readonly<Record<string, string>>,
  ...scripts: readonly Script[]
) {
  const model = await startModelServer();
  if (scripts.length > 0) model.script(...scripts);
  const { flags } = await scratch({ "talker.md": "---\nname: Talker\n---\nYou talk.\n" });
  const server = await startServer(flags, { MODEL_BASE_URL: model.baseUrl, ...variables });
  const key = await createKey(server, await mint(flags));
  const messages = await converse(server, key, "talker");
  return {
    model,
    server,
    send: () => call(messages, "POST", key, { content: "Hello" }),
    stream: () => call(`${messages}/stream`, "POST", key, { content: "Hello" }),
    lastStatus: async () => (await (await call(`${messages}?order=desc`, "GET", key)).json()).data[0].status,
    async close() {
      await server.stop();
      await model.close();
    },
  };
}
