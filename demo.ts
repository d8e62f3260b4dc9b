/**
 * The service from end to end, through its client: a server with temporary data, a token, a key, a conversation, a
 * streamed reply, another one in one piece, the history.
 *
 * @module
 */

import { type ChildProcess, execFile, spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { parseArgs, promisify } from "node:util";
import { TwinClient } from "./client/mod.ts";
import { settings } from "./server/settings.ts";

const server = [...process.execArgv, fileURLToPath(new URL("./server.ts", import.meta.url))];

const help = `Usage: npm run demo

Starts a server with temporary data, goes through a whole conversation with one of its twins over HTTP, from a
token to the history, and removes everything again. It takes no arguments. The server reads the same environment
variables as npm start, such as MODEL_BASE_URL and MODEL_NAME; the demo sets its database, port and log level.
`;

async function main(): Promise<void> {
  if (isHelpWanted()) print(help.trimEnd());
  else await runServer();
}

function isHelpWanted(): boolean {
  try {
    return parseArgs({ options: { help: { type: "boolean", default: false } } }).values.help;
  } catch (error) {
    const [complaint] = messageOf(error).split(/\.\s/); // what it adds to that is of no use here
    throw new Error(`${complaint?.replace(/\.$/, "")}.\n\n${help}`);
  }
}

/** Starts a server with temporary data, demonstrates it, and removes both. */
async function runServer(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "twin-service-demo-"));
  const environment = { ...process.env, DATABASE_URL: `sqlite:${join(folder, "twins.db")}`, PORT: "0" };
  const child = spawn(process.execPath, server, {
    env: { ...environment, LOG_LEVEL: "warn" },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const stopping = killOnSignals(child);
  try {
    await converse(child, environment);
  } catch (error) {
    throw stopping.aborted ? new Error("Stopped.") : error;
  } finally {
    await stop(child);
    await rm(folder, { recursive: true, force: true });
  }
}

/**
 * Kills the server when the demo is stopped by a signal, so that all waiting for the server fails. A Ctrl-C also reaches
 * the server itself, but there it allows running replies to finish.
 */
function killOnSignals(child: ChildProcess): AbortSignal {
  const stop = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    process.once(signal, () => {
      stop.abort();
      child.kill("SIGKILL");
    });
  }
  return stop.signal;
}

/** Waits for the line that says where the server listens. */
async function addressOf({ stdout }: ChildProcess): Promise<string> {
  if (!stdout) throw new Error("The server's output is not piped.");
  for await (const line of createInterface({ input: stdout })) {
    const [, address] = /^listening on (\S+)$/.exec(line) ?? [];
    if (address) return address;
  }
  throw new Error("The server did not start; the reason is above.");
}

function stop(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    if (child.exitCode !== null || child.signalCode !== null) return resolve();
    child.once("exit", () => resolve());
    child.kill("SIGTERM");
  });
}

async function converse(child: ChildProcess, environment: NodeJS.ProcessEnv): Promise<void> {
  const basePath = settings.basePath.parse(environment.BASE_PATH ?? "") ?? "";
  const baseUrl = `${await addressOf(child)}${basePath}`;
  heading(`A server at ${baseUrl}/api/v1`);

  const command = [...server, "token", "--sub", "alice"];
  const { stdout } = await promisify(execFile)(process.execPath, command, { env: environment });
  step("A token for alice", "server.ts token --sub alice");

  const owner = new TwinClient({ baseUrl, apiKey: stdout.trim() });
  const { key, prefix } = await owner.keys.create({ name: "demo", scope: "full_access" });
  step(`An API key, ${prefix}…`, "POST /auth/api-keys");

  const client = new TwinClient({ baseUrl, apiKey: key });
  const { data: twins } = await client.twins.list();
  step(`${twins.length} twins to talk to`, "GET /twins");
  for (const { id, name, description } of twins) print(`  ${id.padEnd(10)} ${name}: ${description ?? ""}`);
  const twin = twins.find(({ id }) => id === "guide") ?? twins[0];
  if (!twin) throw new Error("There is no twin.");

  const { id } = await client.conversations.create({ twinId: twin.id });
  step(`A conversation with ${twin.name}`, "POST /conversations");

  const question = "How do I resume a stream?";
  step(`> ${question}`, "POST /conversations/{id}/messages/stream");
  for await (const text of client.messages.stream(id, { content: question }).text) process.stdout.write(text);
  print("");

  const another = "What are the limits?";
  step(`> ${another}`, "POST /conversations/{id}/messages");
  print((await client.messages.send(id, { content: another })).content);

  step("The history", "GET /conversations/{id}/messages");
  for await (const { role, content } of client.messages.list(id)) print(`  ${role}: ${firstLine(content)}`);
}

function heading(text: string): void {
  print(`${text}\n${"=".repeat(text.length)}`);
}

function step(text: string, request: string): void {
  print(`\n${text}    [${request}]`);
}

function firstLine(text: string): string {
  const [line = ""] = text.split("\n");
  return line.length > 90 ? `${line.slice(0, 90)}…` : line;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

main().catch((error: unknown) => {
  process.stderr.write(`${messageOf(error)}\n`);
  process.exitCode = 1;
});
