/**
 * The service from end to end, over HTTP alone: a server with temporary data, a token, a key, a conversation, a
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
import { EventSourceParserStream } from "eventsource-parser/stream";
import { settings } from "./server/settings.ts";

const server = [...process.execArgv, fileURLToPath(new URL("./server.ts", import.meta.url))];

const help = `Usage: npm run demo

Starts a server with temporary data, goes through a whole conversation with one of its twins over HTTP, from a
token to the history, and removes everything again. It takes no arguments. The server reads the same environment
variables as npm start, such as MODEL_BASE_URL and MODEL_NAME; the demo sets its database, port and log level.
`;

/** What the demo reads of the service's answers. */
interface Twin {
  readonly id: string;
  readonly name: string;
  readonly description: string | null;
}
interface Message {
  readonly role: string;
  readonly content: string;
}
type StreamEvent =
  | { readonly type: "progress"; readonly progress: { readonly stage: string } }
  | { readonly type: "delta"; readonly content: string }
  | { readonly type: "complete"; readonly message: Message }
  | { readonly type: "error"; readonly error: { readonly message: string } };

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
  const basePath = settings.basePath.parse(environment.BASE_PATH ?? "");
  const api = `${await addressOf(child)}${basePath}/api/v1`;
  heading(`A server at ${api}`);

  const command = [...server, "token", "--sub", "alice"];
  const { stdout } = await promisify(execFile)(process.execPath, command, { env: environment });
  const token = stdout.trim();
  step("A token for alice", "server.ts token --sub alice");

  const name = "demo";
  const key = await post<{ key: string; prefix: string }>(`${api}/auth/api-keys`, token, {
    name,
    scope: "full_access",
  });
  step(`An API key, ${key.prefix}…`, "POST /auth/api-keys");

  const twins = await get<Twin[]>(`${api}/twins`, key.key);
  step(`${twins.length} twins to talk to`, "GET /twins");
  for (const { id, name, description } of twins) print(`  ${id.padEnd(10)} ${name}: ${description ?? ""}`);
  const twin = twins.find(({ id }) => id === "guide") ?? twins[0];
  if (!twin) throw new Error("There is no twin.");

  const conversation = await post<{ id: string }>(`${api}/conversations`, key.key, { twinId: twin.id });
  const messages = `${api}/conversations/${conversation.id}/messages`;
  step(`A conversation with ${twin.name}`, "POST /conversations");

  const question = "How do I resume a stream?";
  step(`> ${question}`, "POST /conversations/{id}/messages/stream");
  await stream(`${messages}/stream`, key.key, question);

  const another = "What are the limits?";
  step(`> ${another}`, "POST /conversations/{id}/messages");
  print((await post<Message>(messages, key.key, { content: another })).content);

  step("The history", "GET /conversations/{id}/messages");
  for (const { role, content } of await get<Message[]>(messages, key.key))
    print(`  ${role}: ${firstLine(content)}`);
}

/** Sends a message and prints the reply as it arrives. */
async function stream(url: string, key: string, content: string): Promise<void> {
  const response = await send("POST", url, key, { content });
  if (!response.body) throw new Error("The stream has no body.");
  const events = response.body
    .pipeThrough(new TextDecoderStream())
    .pipeThrough(new EventSourceParserStream());
  for await (const { data } of events) {
    const event: StreamEvent = JSON.parse(data);
    if (event.type === "delta") process.stdout.write(event.content);
    if (event.type === "error") throw new Error(event.error.message);
    if (event.type === "complete") print("");
  }
}

async function get<Data>(url: string, credential: string): Promise<Data> {
  return (await (await send("GET", url, credential)).json()).data;
}

async function post<Data>(url: string, credential: string, body: object): Promise<Data> {
  return (await (await send("POST", url, credential, body)).json()).data;
}

async function send(method: string, url: string, credential: string, body?: object): Promise<Response> {
  const response = await fetch(url, {
    method,
    headers: { Authorization: `Bearer ${credential}`, "Content-Type": "application/json" },
    ...(body && { body: JSON.stringify(body) }),
  });
  if (!response.ok) throw new Error(`${method} ${url}: ${response.status} ${await response.text()}`);
  return response;
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
