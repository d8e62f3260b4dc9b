/**
 * What one request may cost the others: the largest inputs that are allowed, with each credential, worst first. It fails
 * if one takes more than the limits.
 *
 * @module
 */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { Agent, request as httpRequest, type IncomingMessage } from "node:http";
import { cpus } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import { openPostgres } from "../adapters/postgres/mod.ts";
import { openSqliteDatabase } from "../adapters/sqlite/file.ts";
import { signToken } from "../core/auth/jwt.ts";
import { createParts, type Parts } from "../server/lifecycle.ts";
import { connect, createDatabase, skipWithoutPostgres } from "../test/postgres/database.ts";
import { serverCommand } from "../test/server/program.ts";
import { surroundings } from "../test/support/child-process.ts";
import { messageOf } from "./command-line/errors.ts";
import { fill, owner, people, receiver, writeTwins } from "./costs/data.ts";
import { type Credential, inParts, type Line, lines, ownTwin } from "./costs/requests.ts";
import { newFolder } from "./harness/servers.ts";
import { collectGarbage, memoryOf } from "./harness/usage.ts";

/** What a request may take: CPU time of the server's thread, time without a turn for others, memory; and a hundred at once. */
const most = { cpuMs: 50, heldMs: 50, memoryMb: 64, hundredMb: 256 } as const;

const help = `Usage: node --import tsx bench/costs.ts [sqlite | postgres [words]]

Sends the largest inputs that are allowed, with each credential, to a server that has 256 MB for JavaScript, and prints
what they take, worst first. Ends with 1 if a request takes more than ${most.cpuMs} ms of CPU time (or what its line says), holds
the thread for more than ${most.heldMs} ms, or takes more than ${most.memoryMb} MB; or if ${people} at once, whose answers nobody reads,
take more than ${most.hundredMb} MB: of ${people} end users of the owner, or of one key. Needs Linux, and some minutes for each database.

  words              only the lines that have these words
  TEST_DATABASE_URL  address of the PostgreSQL server, as for bench/cluster.ts
`;

/** What requests took that were sent at once. */
interface Cost {
  readonly statuses: readonly number[];
  readonly cpuMs: number;
  readonly heldMs: number;
  /** The most that the process occupied, beyond what it did as it had started. */
  readonly memoryMb: number;
}

/** A request, and its credential. */
type Asked = Pick<Line, "method" | "path" | "endless"> & {
  readonly credential: string;
  readonly body?: Buffer;
  /** The media type of the body. Default: JSON. */
  readonly type?: string | undefined;
};

interface MeasuredServer {
  send(asked: Asked): Promise<IncomingMessage>;
  /** Sends requests at once. If they are several, their answers are left unread. */
  measure(requests: readonly Asked[]): Promise<Cost>;
  stop(): Promise<void>;
}

const secret = "the secret of the server whose costs are measured";

async function startServer(databaseUrl: string, twins: string): Promise<MeasuredServer> {
  const [program = "", ...flags] = serverCommand;
  const loaded = ["harness/collect.mjs", "costs/probe.mjs"].map((file) => new URL(file, import.meta.url));
  const settings = {
    DATABASE_URL: databaseUrl,
    TWINS_DIR: twins,
    JWT_SECRET: secret,
    WEBHOOK_HOSTS: new URL(receiver).host,
    LOG_LEVEL: "error",
    PORT: "0",
  };
  const limits = { FULL_ACCESS_PER_HOUR: "1000000", READ_ONLY_PER_HOUR: "1000000" };
  const NODE_OPTIONS = `--max-old-space-size=256 ${loaded.map((file) => `--import ${file}`).join(" ")}`;
  const env = { ...surroundings, ...settings, ...limits, NODE_OPTIONS };
  const child = spawn(program, flags, { env, stdio: ["ignore", "pipe", "inherit", "ipc"] });
  const url = await addressOf(child);
  const pid = child.pid ?? 0;
  const agent = new Agent({ keepAlive: true });

  /** The CPU time of the server's thread, in milliseconds. */
  const cpu = () => Number(readFileSync(`/proc/${pid}/task/${pid}/schedstat`, "utf8").split(" ")[0]) / 1e6;

  /** Waits until the server does nothing, or 20 seconds. Returns the CPU time at which it began to rest. */
  async function rest(): Promise<number> {
    let began = cpu();
    for (let before = began, idle = 0, looks = 0; idle < 3 && looks < 800; looks++) {
      await sleep(25);
      const now = cpu();
      idle = now - before < 1.5 ? idle + 1 : 0; // the probe takes some of that
      if (idle === 0) began = now;
      before = now;
    }
    return began;
  }

  /** For how long the thread was held at most since this was last asked, in milliseconds. */
  async function held(): Promise<number> {
    const answered = once(child, "message");
    child.send({});
    return (await answered)[0];
  }

  async function send({
    method,
    path,
    body,
    type = "application/json",
    credential,
  }: Asked): Promise<IncomingMessage> {
    const headers = {
      authorization: `Bearer ${credential}`,
      accept: "application/json, text/event-stream",
      ...(body && { "content-type": type }),
      ...(path === "/mcp" && { "mcp-protocol-version": "2025-11-25" }),
    };
    const sent = httpRequest(`${url}${path}`, { method, agent, headers });
    sent.on("error", () => {}); // after the answer: the server closes where it does not read all of a body
    sent.end(body);
    return (await once(sent, "response"))[0];
  }

  await rest();
  const memoryAtStart = memoryOf(pid);
  return {
    send,
    async measure(requests) {
      collectGarbage(pid);
      await rest();
      await held();
      writeFileSync(`/proc/${pid}/clear_refs`, "5"); // the peak begins anew
      const cpuBefore = cpu();
      const sent = requests.map(send);
      for (const sending of sent) sending.catch(() => {}); // if the server ends, the next look at it says so
      const isRead = sent.length === 1;
      if (!isRead) await rest();
      const statuses = await Promise.all(
        sent.map(async (sending, index) => {
          const response = await sending;
          if (isRead && !requests[index]?.endless)
            for await (const _ of response); // and not kept
          else if (isRead) {
            response.resume();
            await rest();
          }
          response.destroy();
          return response.statusCode ?? 0;
        }),
      );
      const cpuMs = (await rest()) - cpuBefore;
      const [, peak] = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
      const memoryMb = Math.max(0, Number(peak) * 1024 - memoryAtStart) / 2 ** 20;
      return { statuses, cpuMs, heldMs: await held(), memoryMb };
    },
    async stop() {
      agent.destroy();
      child.kill("SIGKILL");
      if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
    },
  };
}

async function addressOf(child: ChildProcess): Promise<string> {
  let output = "";
  for await (const chunk of child.stdout?.iterator({ destroyOnReturn: false }) ?? []) {
    output += String(chunk);
    const [, url] = /^listening on (\S+)\n/.exec(output) ?? [];
    if (url !== undefined) return url;
  }
  throw new Error(`The server ended before it listened: ${output}`);
}

const bytesOf = (body: object | string) =>
  Buffer.from(typeof body === "string" ? body : JSON.stringify(body));

/** Sends a POST, and returns what it made. */
async function make(server: MeasuredServer, path: string, body: object, credential: string) {
  const asked = { method: "POST", path: `/api/v1${path}`, body: bytesOf(body), credential };
  const response = await server.send(asked);
  let text = "";
  for await (const chunk of response.setEncoding("utf8")) text += chunk;
  if (response.statusCode !== 201) throw new Error(`${path}: ${text}`);
  return JSON.parse(text).data;
}

/** The twin that lines about an owner's own one are about, with a document. */
async function makeOwnTwin(server: MeasuredServer, credential: string): Promise<void> {
  for (const part of ["file", "documents/long.md"]) {
    const asked = { method: "PUT", path: `/api/v1/twins/own/${part}?tests=skip`, body: bytesOf(ownTwin) };
    const response = await server.send({ ...asked, type: "text/markdown", credential });
    response.resume();
    await once(response, "end");
    const { statusCode = 0 } = response; // it may be there already
    if (statusCode >= 300) throw new Error(`${asked.path}: ${statusCode}`);
  }
}

const names: Record<Credential, string> = { t: "client token", r: "read-only key", f: "full key", j: "JWT" };

/** The credentials by the number of the end user: client tokens are each person's own. */
type Credentials = Record<Credential, (person: number) => string>;

async function makeKeys(server: MeasuredServer): Promise<Omit<Credentials, "t">> {
  const j = await signToken({ secret, sub: owner, expiresInSeconds: 86_400 });
  const { key: r } = await make(server, "/auth/api-keys", { name: "reads", scope: "read_only" }, j);
  const { key: f } = await make(server, "/auth/api-keys", { name: "writes", scope: "full_access" }, j);
  return { r: () => r, f: () => f, j: () => j };
}

/** Makes them for each line anew: they are valid for an hour at most. */
async function makeClientTokens(server: MeasuredServer, key: string): Promise<Credentials["t"]> {
  const tokens: string[] = [];
  for (let n = 0; n < people; n++) {
    const body = { endUser: `ann_${n}`, requestsPerHour: 1_000_000, expiresInSeconds: 3600 };
    tokens.push((await make(server, "/client-tokens", body, key)).token);
  }
  return (person) => tokens[person] ?? "";
}

/** A line of the table. */
interface Row {
  readonly text: string;
  /** What it took of the limits: the largest share. */
  readonly share: number;
  readonly fault: string | undefined;
}

/** Measures a line with each of its credentials on a server of its own, as memory is not given back. */
async function measureLine(server: MeasuredServer, line: Line, credentials: Credentials): Promise<Row[]> {
  const { method, twin: twinId, endless } = line;
  const body = line.body && bytesOf(line.body);
  const asked = async (who: Credential, person: number, run = 0): Promise<Asked> => {
    const credential = credentials[who](person);
    const { id } = twinId === undefined ? {} : await make(server, "/conversations", { twinId }, credential);
    const path = line.path.replace("{id}", id).replaceAll("{p}", String(person)).replace("{n}", String(run));
    const type = typeof line.body === "string" ? "text/markdown" : undefined;
    return { method, path, credential, type, ...(body && { body }), ...(endless && { endless }) };
  };
  if (line.path.includes("/twins/own")) await makeOwnTwin(server, credentials.j(0));
  const measured: { who: Credential; runs: Cost[]; hundred?: Cost }[] = [];
  for (const who of line.who as Iterable<Credential>) {
    const runs: Cost[] = [];
    for (let run = 0; run < 3; run++) runs.push(await server.measure([await asked(who, 0, run)]));
    measured.push({ who, runs });
  }
  // Changes of an owner's twin are made one after another, each in seconds.
  const isSlow = method !== "GET" && line.path.includes("/twins/own");
  for (const each of isSlow || line.path.includes("{n}") ? [] : measured) {
    const hundred = await Promise.all(Array.from({ length: people }, (_, person) => asked(each.who, person)));
    each.hundred = await server.measure(hundred);
  }

  const { mayTake = most.cpuMs } = line;
  return measured.map(({ who, runs, hundred }) => {
    // The least of three: the first compiles what it needs, and other processes may disturb.
    const cpuMs = Math.min(...runs.map((run) => run.cpuMs));
    const heldMs = Math.min(...runs.map((run) => run.heldMs));
    const memoryMb = Math.max(...runs.map((run) => run.memoryMb));
    const shares = {
      "CPU time": cpuMs / mayTake,
      "thread held": heldMs / most.heldMs,
      memory: memoryMb / most.memoryMb,
      "a hundred at once": (hundred?.memoryMb ?? 0) / most.hundredMb,
    };
    const statuses = [...new Set([...runs, ...(hundred ? [hundred] : [])].flatMap((cost) => cost.statuses))];
    const above = [
      ...Object.entries(shares).flatMap(([name, share]) => (share > 1 ? name : [])),
      // What is refused costs nothing.
      ...(line.what.endsWith("refused") || statuses.some((status) => status < 300) ? [] : ["not answered"]),
    ];
    const [cpu, ...others] = [cpuMs, heldMs, memoryMb, hundred?.memoryMb].map(
      (figure) => figure?.toFixed(0) ?? "–",
    );
    const cells = [cpu, mayTake === inParts ? "in parts" : mayTake, ...others, statuses.join(", ")];
    return {
      text: `| ${line.what} | ${names[who]} | ${cells.join(" | ")} |`,
      share: Math.max(...Object.values(shares)),
      fault: above.length > 0 ? `${line.what}, ${names[who]}: ${above.join(", ")}` : undefined,
    };
  });
}

/** Makes a database with the data. Returns its address. */
async function openDatabase(parts: Parts, kind: "SQLite" | "PostgreSQL"): Promise<string> {
  if (kind === "SQLite") {
    const path = join(newFolder(), "costs.db");
    const file = await openSqliteDatabase(path);
    await fill((sql) => file.batch([{ sql, params: [] }]));
    await file.close();
    return `sqlite:${path}`;
  }
  const { url } = await parts.open("database", createDatabase(), ({ drop }) => drop());
  await (await openPostgres(url)).close(); // makes the tables
  await using client = await connect(url);
  await fill((sql) => client.query(sql));
  await client.query("VACUUM ANALYZE");
  return url;
}

async function measureAll(parts: Parts, kind: "SQLite" | "PostgreSQL", words: string): Promise<Row[]> {
  const databaseUrl = await openDatabase(parts, kind);
  const twins = writeTwins(join(newFolder(), "twins"));
  const open = () => parts.open("server", startServer(databaseUrl, twins), ({ stop }) => stop());
  let server = await open();
  const keys = await makeKeys(server);
  const rows: Row[] = [];
  for (const line of lines.filter(({ what }) => what.includes(words))) {
    await server.stop();
    server = await open();
    const measure = async () => {
      const t = line.who.includes("t") ? await makeClientTokens(server, keys.f(0)) : () => "";
      return measureLine(server, line, { ...keys, t });
    };
    const measured = await measure().catch((error: unknown) => {
      const fault = `${line.what}: the server ended, or did not answer (${messageOf(error)})`;
      return [{ text: `| ${fault} |`, share: Number.POSITIVE_INFINITY, fault }];
    });
    rows.push(...measured);
    // As it comes: a run takes long, and may be cut off.
    for (const { fault, text } of measured)
      process.stderr.write(`${fault === undefined ? "" : "above: "}${text}\n`);
  }
  return rows.toSorted((one, other) => other.share - one.share);
}

async function main(): Promise<void> {
  const [which = "", ...words] = process.argv.slice(2);
  if (!["", "sqlite", "postgres"].includes(which)) return console.log(help);
  const missing = await skipWithoutPostgres();
  const date = new Date().toISOString().slice(0, 10);
  console.log(`${date}, Node ${process.version}, ${cpus().length} × ${cpus()[0]?.model}`);
  for (const kind of ["SQLite", "PostgreSQL"] as const) {
    if (!kind.toLowerCase().startsWith(which)) continue;
    if (kind === "PostgreSQL" && missing) {
      console.log(`\nPostgreSQL is left out: there is ${missing}.`);
      continue;
    }
    const parts = createParts((_, message, fields) => console.error(message, fields));
    const rows = await measureAll(parts, kind, words.join(" ")).finally(parts.close);
    console.log(`\n| ${kind} | credential | CPU ms | may | held ms | MB | a hundred, MB | status |`);
    console.log(`|---|---|--:|--:|--:|--:|--:|---|\n${rows.map(({ text }) => text).join("\n")}`);
    const faults = rows.flatMap(({ fault }) => fault ?? []);
    if (faults.length === 0) continue;
    process.exitCode = 1;
    console.log(`\nAbove the limits on ${kind}:\n\n- ${faults.join("\n- ")}`);
  }
}

try {
  await main();
  process.exit();
} catch (error) {
  console.error(messageOf(error));
  process.exit(1);
}
