/**
 * A folder of twins to a server, as twins of an owner's own, and from it.
 *
 * @module
 */

import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import process from "node:process";
import { codeOf } from "../../adapters/system.ts";
import { readTwinFolder, type WrittenTwin } from "../../adapters/twin-files/mod.ts";
import { isJsonObject, isString, type JsonObject } from "../../core/base/json.ts";
import { visibleLine } from "../../core/base/visible.ts";
import type { TestResults } from "../../core/twins/reader.ts";
import type { CommandConfig } from "../command-line.ts";
import { ConfigError } from "../settings.ts";
import { blameTwinsDir } from "../twins.ts";
import { type ConnectedClient, connectToTwins, whileOpen } from "./client.ts";
import { quote } from "./mod.ts";

/** A server, or a service in this process, as the bearer of an owner's JWT sees it. */
export interface ManagedTwins {
  /** Sends a request to a path below `/api/v1`. */
  send(path: string, init?: RequestInit): Promise<Response>;
  /** The ids of all twins that the owner may use, the operator's too. */
  list(): Promise<string[]>;
}

/** What was pushed. */
export interface Pushed {
  /** One for each thing that changed, or was refused. */
  readonly lines: readonly string[];
  /** Whether something was refused. */
  readonly refused: boolean;
}

/** How twins are pushed. */
export interface PushOptions {
  /** Whether what the folder lacks is deleted. */
  readonly prune: boolean;
  readonly tests: "run" | "require" | "skip";
}

/** Sends the twins of a folder, and has the process exit with 1 if something was refused. */
export async function push(config: CommandConfig<"push">, samples: string): Promise<void> {
  const { folder } = config;
  await whileOpen(connectToTwins(config, samples), async (connected) => {
    const pushing = pushTwins(folder, managedBy(connected), config);
    const { lines, refused } = await pushing.catch(blameTwinsDir(folder));
    print(lines);
    if (refused) process.exitCode = 1;
  });
}

/** Writes the twins that an owner made into a folder. */
export async function pull(config: CommandConfig<"pull">, samples: string): Promise<void> {
  await whileOpen(connectToTwins(config, samples), async (connected) =>
    print(await pullTwins(config.folder, managedBy(connected))),
  );
}

function print(lines: readonly string[]): void {
  process.stdout.write(lines.map((line) => `${visibleLine(line)}\n`).join(""));
}

function managedBy({ client, manage: send }: ConnectedClient): ManagedTwins {
  return {
    send,
    async list() {
      const ids: string[] = [];
      for await (const { id } of client.twins.list({ limit: 100 })) ids.push(id);
      return ids;
    },
  };
}

/** Sends what differs. A twin of which something is refused is as it was before. */
export async function pushTwins(folder: string, twins: ManagedTwins, options: PushOptions): Promise<Pushed> {
  const written = await readTwinFolder(folder);
  const lines: string[] = [];
  let refused = false;
  for (const twin of written) {
    const pushed = await pushTwin(folder, twin, twins, options);
    lines.push(...pushed.lines);
    refused ||= pushed.refused;
  }
  if (options.prune) {
    const kept = new Set(written.map(({ id }) => id));
    for (const id of await twins.list()) {
      if (kept.has(id) || !(await readOwn(twins, id))) continue;
      const answer = await twins.send(`/twins/${id}`, { method: "DELETE" });
      if (answer.ok) lines.push(`${id}: deleted`);
      else lines.push(...(await faultsOf(answer, id)));
      refused ||= !answer.ok;
    }
  }
  return { lines, refused };
}

async function pushTwin(
  folder: string,
  { id, file, bytes, documents }: WrittenTwin,
  twins: ManagedTwins,
  { prune, tests }: PushOptions,
): Promise<Pushed> {
  const path = `/twins/${encodeURIComponent(id)}`;
  const own = await readOwn(twins, id);
  const stored = own ? await listDocuments(twins, id) : new Map<string, number>();
  const putFile = (mode: PushOptions["tests"]) =>
    twins.send(`${path}/file?tests=${mode}`, put(bytes, "text/markdown"));
  const steps: { readonly line: string; readonly shown: string; send(): Promise<Response> }[] = [];
  const shown = join(folder, file);
  if (!own)
    steps.push({ line: `${id}: new`, shown, send: () => putFile(documents.length > 0 ? "skip" : tests) });
  for (const document of documents) {
    const at = documentPath(id, document.path);
    if (stored.get(document.path) === document.bytes.length) {
      const known = await granted(twins.send(at), `${id}: ${document.path}`);
      if (isEqual(new Uint8Array(await known.arrayBuffer()), document.bytes)) continue;
    }
    steps.push({
      line: `${id}: ${document.path} ${stored.has(document.path) ? "changed" : "added"}`,
      shown: join(folder, dirname(file), document.path),
      send: () => twins.send(`${at}?tests=skip`, put(document.bytes, "application/octet-stream")),
    });
  }
  const isKept = new Set(documents.map((document) => document.path));
  for (const name of prune ? stored.keys() : []) {
    if (isKept.has(name)) continue;
    const send = () => twins.send(`${documentPath(id, name)}?tests=skip`, { method: "DELETE" });
    steps.push({ line: `${id}: ${name} deleted`, shown, send });
  }
  const isFileNew = own !== undefined && !isEqual(own, bytes);
  if (steps.length === 0 && !isFileNew) return { lines: [], refused: false };
  // Last, so that its golden questions are asked of all.
  if (own || documents.length > 0)
    steps.push({ line: isFileNew ? `${id}: changed` : "", shown, send: () => putFile(tests) });

  const before = own && (await currentVersion(twins, path));
  const lines: string[] = [];
  for (const step of steps) {
    const answer = await step.send();
    if (!answer.ok) {
      const faults = await faultsOf(answer, step.shown);
      if (before !== undefined) await takeBack(twins, path, before);
      else if (lines.length > 0) await twins.send(path, { method: "DELETE" });
      return { lines: faults, refused: true };
    }
    if (step.line !== "") lines.push(step.line);
    lines.push(...(await failedOf(answer, step.shown)));
  }
  return { lines, refused: false };
}

/** Makes the version current again that was so before. */
async function takeBack(twins: ManagedTwins, path: string, version: number): Promise<void> {
  if ((await currentVersion(twins, path)) === version) return;
  await twins.send(`${path}/versions/${version}/restore?tests=skip`, { method: "POST" });
}

async function currentVersion(twins: ManagedTwins, path: string): Promise<number> {
  const answer = await granted(twins.send(`${path}/versions?limit=1`), path);
  const { data } = (await answer.json()) as { data: { version: number }[] };
  return data[0]?.version ?? 0;
}

/** Writes what differs, and returns a line for each file that it wrote. */
export async function pullTwins(folder: string, twins: ManagedTwins): Promise<string[]> {
  const lines: string[] = [];
  const known = await readTwinFolder(folder).catch((error: unknown) => {
    if (codeOf(error) === "ENOENT") return [];
    throw error;
  });
  const fileOf = new Map(known.map(({ id, file }) => [id, file]));
  async function write(file: string, bytes: Uint8Array): Promise<void> {
    const path = join(folder, file);
    const there = await readFile(path).catch(() => undefined); // it is written then
    if (there && isEqual(there, bytes)) return;
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, bytes);
    lines.push(`${file} ${there ? "changed" : "added"}`);
  }
  for (const id of await twins.list()) {
    const bytes = await readOwn(twins, id);
    if (!bytes) continue;
    const documents = [...(await listDocuments(twins, id)).keys()];
    const own = documents.length > 0 ? `${id}/twin.md` : `${id}.md`;
    const usual = fileOf.get(id);
    const file = usual === undefined || (documents.length > 0 && !usual.endsWith("/twin.md")) ? own : usual;
    if (usual !== undefined && usual !== file)
      throw new ConfigError(`The twin ${quote(id)} has documents: move ${usual} to ${file} first.`);
    await write(file, bytes);
    for (const path of documents) {
      if (path.split("/").some((name) => name === "" || name.startsWith(".") || name.includes("\\")))
        throw new ConfigError(`The server has a document whose path leads elsewhere: ${quote(path)}.`);
      const answer = await granted(twins.send(documentPath(id, path)), `${id}: ${path}`);
      await write(join(dirname(file), path), new Uint8Array(await answer.arrayBuffer()));
    }
  }
  return lines;
}

function put(bytes: Uint8Array, type: string): RequestInit {
  return { method: "PUT", headers: { "Content-Type": type }, body: bytes as Uint8Array<ArrayBuffer> };
}

function documentPath(id: string, path: string): string {
  return `/twins/${encodeURIComponent(id)}/documents/${encodeURIComponent(path)}`;
}

/** The file of a twin that the owner made. Undefined: there is none, or it is the operator's. */
async function readOwn(twins: ManagedTwins, id: string): Promise<Uint8Array | undefined> {
  const answer = await twins.send(`/twins/${encodeURIComponent(id)}/file`);
  if (answer.status === 404) {
    if ((await errorOf(answer)).code === "twin_not_found") return undefined;
    throw new ConfigError("The server has no twins that owners make: its MAX_TWINS is 0, or it is too old.");
  }
  return new Uint8Array(await (await granted(answer, id)).arrayBuffer());
}

/** The lengths of a twin's documents, by path. */
async function listDocuments(twins: ManagedTwins, id: string): Promise<Map<string, number>> {
  const found = new Map<string, number>();
  for (let page = 1; ; page++) {
    const path = `/twins/${encodeURIComponent(id)}/documents?limit=100&page=${page}`;
    const answer = await granted(twins.send(path), id);
    const { data, pagination } = (await answer.json()) as {
      data: { path: string; bytes: number }[];
      pagination: { hasMore: boolean };
    };
    for (const { path, bytes } of data) found.set(path, bytes);
    if (!pagination.hasMore) return found;
  }
}

/** An answer that has what was asked for. Rejects with why there is none. */
async function granted(answer: Response | Promise<Response>, what: string): Promise<Response> {
  const given = await answer;
  if (!given.ok) throw new ConfigError((await faultsOf(given, what)).join(" "));
  return given;
}

/** The error of an answer that refuses. That of a proxy has a page of its own. */
async function errorOf(answer: Response): Promise<JsonObject> {
  const body: unknown = await answer.json().catch(() => undefined);
  const error = isJsonObject(body) && isJsonObject(body.error) ? body.error : {};
  return { message: `the server's answer has the status ${answer.status}`, ...error };
}

/** Lines that say why something was refused, with the line of the file where there is one. */
async function faultsOf(answer: Response, file: string): Promise<string[]> {
  const error = await errorOf(answer);
  const details = isJsonObject(error.details) ? error.details : {};
  if (Array.isArray(details.failed)) return failuresOf(details.failed as TestResults["failed"], file);
  const fields: readonly unknown[] = Array.isArray(details.fields) ? details.fields : [];
  const faults = fields
    .filter(isJsonObject)
    .flatMap(({ line, message }) =>
      typeof line === "number" && isString(message) ? `${file}:${line}: ${message}` : [],
    );
  return faults.length > 0 ? faults : [`${file}: ${error.message}`];
}

/** The golden questions that are not answered as they should be, of a version that was stored. */
async function failedOf(answer: Response, file: string): Promise<string[]> {
  if (answer.status === 204) return [];
  const { data } = (await answer.json()) as { data: { tests: TestResults | null } };
  return failuresOf(data.tests?.failed ?? [], file);
}

function failuresOf(failed: TestResults["failed"], file: string): string[] {
  return failed.map(
    ({ question, expected, answer }) =>
      `${file}: ${JSON.stringify(question)} needs ${expected}, but the answer is ${JSON.stringify(answer)}.`,
  );
}

function isEqual(one: Uint8Array, other: Uint8Array): boolean {
  return Buffer.compare(one, other) === 0;
}
