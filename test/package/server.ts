/**
 * The packed server as a process, started by any command, in any folder.
 */

import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { collectOutput, type Ended, surroundings } from "../support/child-process.ts";

type Command = readonly string[];

const secret = "a secret of this test, and of nothing else";
const variables = { ...surroundings, JWT_SECRET: secret, LOG_LEVEL: "warn", PORT: "0" };

/** What `--version` prints. */
export function versionOf([file = "", ...args]: Command, cwd: string): string {
  return execFileSync(file, [...args, "--version"], { cwd, env: variables, encoding: "utf8" }).trim();
}

/** The ids of the twins that the server serves. It must shut down cleanly when told to stop. */
export async function listTwins(command: Command, cwd: string, flags: Command): Promise<string[]> {
  const [file = "", ...args] = command;
  const token = execFileSync(file, [...args, "token", "--sub", "alice"], {
    cwd,
    env: variables,
    encoding: "utf8",
  });
  const server = start([...command, ...flags], cwd);
  try {
    const api = `${await Promise.race([server.listening, server.failed])}/api/v1`;
    const { key } = await ask<{ key: string }>(`${api}/auth/api-keys`, token.trim(), '{"name":"a"}');
    const twins = await ask<{ id: string }[]>(`${api}/twins`, key);
    return twins.map(({ id }) => id).sort();
  } finally {
    server.stop();
    assert.equal((await server.ended).code, 0);
  }
}

/** The status that a program answers with at a path, once it listens. */
export async function statusOf(command: Command, cwd: string, path: string): Promise<number> {
  const program = start(command, cwd);
  try {
    return (await fetch((await Promise.race([program.listening, program.failed])) + path)).status;
  } finally {
    program.stop();
    await program.ended;
  }
}

/** How a server that cannot start ends. */
export function endOf(command: Command, cwd: string): Promise<Ended> {
  return start(command, cwd).ended;
}

function start([file = "", ...args]: Command, cwd: string) {
  const child = spawn(file, args, { cwd, env: variables, stdio: ["ignore", "pipe", "pipe"] });
  const { output, ended } = collectOutput(child);
  const listening = new Promise<string>((resolve) => {
    child.stdout.on("data", () => {
      const [, url] = /^listening on (\S+?)\/?\n/.exec(output.stdout) ?? [];
      if (url !== undefined) resolve(url);
    });
  });
  const failed = ended.then(({ code, stderr }) => {
    throw new Error(`${file} ${args.join(" ")} ended with ${code}: ${stderr}`);
  });
  failed.catch(() => {}); // it also ends after it has been listening
  return { listening, failed, ended, stop: () => child.kill("SIGTERM") };
}

async function ask<Data>(url: string, credential: string, body?: string): Promise<Data> {
  const headers = { Authorization: `Bearer ${credential}`, "Content-Type": "application/json" };
  const response = await fetch(url, { headers, ...(body !== undefined && { method: "POST", body }) });
  assert.ok(response.ok, `${url}: ${response.status}`);
  return (await response.json()).data;
}
