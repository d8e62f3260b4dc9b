import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { generateKeyPairSync } from "node:crypto";
import { existsSync } from "node:fs";
import fileSystem, {
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  symlink,
  truncate,
  writeFile,
} from "node:fs/promises";
import { createServer } from "node:http";
import { isBuiltin, syncBuiltinESMExports } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { text } from "node:stream/consumers";
import { after, describe, test } from "node:test";
import { decodeJwt, SignJWT } from "jose";
import { readOrCreateSecret } from "../../server/secret-file.ts";
import { settings } from "../../server/settings.ts";
import { reread } from "../auth/key-pair.ts";
import { delta, hang, hangAfter, refuse, type Script, startModelServer } from "../openai/model-server.ts";
import { type Ended, surroundings, withoutSignals } from "../support/child-process.ts";
import { dataOf } from "../support/harness.ts";
import { listen } from "../support/ports.ts";
import { runtime } from "../support/runtime.ts";
import { until } from "../support/until.ts";
import {
  fullAt,
  launchServer,
  runInto,
  runServer,
  type ServerProcess,
  startServer,
  startServerInTerminal,
  startServerLoggingTo,
} from "./process.ts";

const root = await mkdtemp(join(tmpdir(), "twin-service-server-"));
after(() => rm(root, { recursive: true, force: true }));
let folders = 0;

/** A new folder with one twin that echoes. */
async function scratch(twins: Readonly<Record<string, string>> = {}) {
  const folder = join(root, String(folders++));
  await mkdir(join(folder, "twins"), { recursive: true });
  for (const [file, text] of Object.entries({
    "echo.md": "---\nname: Echo\nengine: echo\n---\n",
    ...twins,
  })) {
    await writeFile(join(folder, "twins", file), text);
  }
  const database = `sqlite:${join(folder, "data", "twins.db")}`;
  return { folder, database, flags: ["--twins", join(folder, "twins"), "--database", database] };
}

/** Fails unless the process ended with a one-line error, without a stack, and exit code 1. */
function assertRefusal({ code, stdout, stderr }: Ended, pattern: RegExp): void {
  assert.match(stderr, /^twin-service: [^\n]+\n$/);
  assert.match(stderr, pattern);
  assert.equal(stdout, "");
  assert.equal(code, 1);
}

async function call(url: string, method: string, credential: string, body?: object): Promise<Response> {
  return fetch(url, {
    method,
    headers: { Authorization: `Bearer ${credential}`, "Content-Type": "application/json" },
    ...(body && { body: JSON.stringify(body) }),
  });
}

async function createKey({ url }: ServerProcess, token: string): Promise<string> {
  const body = { name: "test", scope: "full_access" };
  const made = await call(`${url}/api/v1/auth/api-keys`, "POST", token, body);
  return (await dataOf<{ key: string }>(made)).key;
}

async function converse({ url }: ServerProcess, key: string, twinId: string): Promise<string> {
  const made = await call(`${url}/api/v1/conversations`, "POST", key, { twinId });
  return `${url}/api/v1/conversations/${(await dataOf<{ id: string }>(made)).id}/messages`;
}

async function mint(flags: readonly string[], variables: Record<string, string> = {}): Promise<string> {
  const { code, stdout, stderr } = await runServer(["token", "--sub", "alice", ...flags], variables);
  assert.equal(code, 0, stderr);
  assert.match(stdout, /^[\w-]+\.[\w-]+\.[\w-]+\n$/);
  return stdout.trim();
}

describe("the server", () => {
  test("it says where it listens, answers, and exits with 0 on SIGTERM and SIGINT", {
    skip: withoutSignals,
  }, async () => {
    const { flags } = await scratch();
    for (const signal of ["SIGTERM", "SIGINT"] as const) {
      const server = await startServer(flags);
      assert.match(server.url, /^http:\/\/127\.0\.0\.1:[1-9]\d*$/);
      assert.equal((await fetch(`${server.url}/healthz`)).status, 200);
      assert.equal((await fetch(`${server.url}/readyz`)).status, 200);
      const { code, stdout } = await server.stop(signal);
      assert.equal(code, 0);
      assert.equal(stdout, `listening on ${server.url}\n`);
    }
  });

  test("it exits with 0 even if its database file was moved: the write-ahead log keeps the data", {
    skip: withoutSignals,
  }, async () => {
    const { flags, folder } = await scratch();
    const server = await startServer(flags);
    const messages = await converse(server, await createKey(server, await mint(flags)), "echo");
    const file = join(folder, "data", "twins.db");
    await rename(file, `${file}.moved`);
    assert.equal((await fetch(`${server.url}/readyz`)).status, 503);
    const { code, stderr } = await server.stop();
    assert.equal(code, 0, stderr);
    await rename(`${file}.moved`, file);
    const again = await startServer(flags);
    const key = await createKey(again, await mint(flags));
    assert.equal((await call(messages.replace(server.url, again.url), "GET", key)).status, 200);
    await again.stop();
  });

  test("an IPv6 address is written in brackets", async () => {
    const { flags } = await scratch();
    const server = await startServer([...flags, "--host", "::1"]);
    assert.match(server.url, /^http:\/\/\[::1\]:\d+$/);
    assert.equal((await fetch(`${server.url}/healthz`)).status, 200);
    await server.stop();
  });

  test("tokens of its stored secret create keys, before and after a restart, and only its user can read that file", async () => {
    const { flags, folder } = await scratch();
    const early = await mint(flags); // whatever runs first creates the secret
    const first = await startServer(flags);
    const key = await createKey(first, early);
    const messages = await converse(first, key, "echo");
    const sent = await call(messages, "POST", key, { content: "Hello there" });
    const reply = await dataOf<{ content: string }>(sent);
    assert.equal(reply.content, "Hello there");
    await first.stop();

    const second = await startServer(flags);
    await createKey(second, early);
    const history = await call(messages.replace(first.url, second.url), "GET", key);
    assert.equal((await history.json()).data.length, 2);
    await second.stop();

    const file = join(folder, "data", "jwt-secret");
    assert.match(await readFile(file, "utf8"), /^[\w-]{43}\n$/);
    if (process.platform !== "win32") assert.equal((await stat(file)).mode & 0o777, 0o600);
    assert.deepEqual(
      (await readdir(join(folder, "data"))).filter((name) => name.startsWith("jwt-secret")),
      ["jwt-secret"],
    );
  });

  test("a token is valid for as long as --expires-in says", async () => {
    const { flags } = await scratch();
    const { iat = 0, exp } = decodeJwt(await mint([...flags, "--expires-in", "2h"]));
    assert.equal(exp, iat + 7200);
  });

  test("a key's budget survives a restart", async () => {
    const { flags } = await scratch();
    const first = await startServer(flags);
    const key = await createKey(first, await mint(flags));
    const spend = Array.from({ length: 50 }, () => call(`${first.url}/api/v1/twins`, "GET", key));
    assert.ok((await Promise.all(spend)).every(({ ok }) => ok));
    await first.stop();

    const second = await startServer(flags);
    const { headers } = await call(`${second.url}/api/v1/twins`, "GET", key);
    await second.stop();
    const remaining = Number(headers.get("X-RateLimit-Remaining"));
    assert.ok(remaining >= 449 && remaining < 490, `${remaining} of 500`); // one comes back every 7.2 seconds
  });

  test("a second process on the same SQLite file is refused, and pointed to PostgreSQL", async () => {
    const { flags } = await scratch();
    const server = await startServer(flags);
    assertRefusal(await runServer(["--port", "0", ...flags]), /twins\.db is in use .*PostgreSQL/);
    assert.equal((await fetch(`${server.url}/readyz`)).status, 200);
    await server.stop();
  });

  test("a port in use is reported in one line", async () => {
    const { flags } = await scratch();
    const taken = createServer();
    const port = await listen(taken);
    assertRefusal(
      await runServer(["--port", String(port), ...flags]),
      new RegExp(`port ${port} on 127.* in use; choose another, or 0 `),
    );
    taken.close();
  });

  test("another server's port is in use, too, even if the runtime could share it", async () => {
    const [first, second] = [await scratch(), await scratch()];
    const server = await startServer(first.flags);
    const { port } = new URL(server.url);
    assertRefusal(
      await runServer(["--port", port, ...second.flags]),
      new RegExp(`port ${port} on .* in use`),
    );
    await server.stop();
  });

  test("anything that cannot be used stops the start with one line", async () => {
    const { folder } = await scratch();
    const broken = await scratch({ "broken.md": "---\nname: X\nacess: [alice]\n---\n" });
    await writeFile(
      join(folder, "no-database"),
      "not a database, but a text that is long enough to be one".repeat(9),
    );
    const twins = ["--twins", join(folder, "twins"), "--database"];
    const cases: [string[], Record<string, string>, RegExp][] = [
      [["--port", "eighty"], {}, /PORT \(--port\) must be a whole number/],
      [
        [...twins, "memory:"],
        { JWT_PUBLIC_KEY: "{}" },
        /JWT_PUBLIC_KEY .* cannot be used: the key must be RSA/,
      ],
      [
        ["--twins", join(folder, "nowhere"), "--database", "memory:"],
        {},
        /TWINS_DIR .*nowhere.*ENOENT.*a folder of/,
      ],
      [
        [...twins, "memory:", "--host", "192.0.2.1"],
        {},
        /cannot listen on .*; HOST must be an address of this/,
      ],
      [broken.flags, {}, /"broken\.md".*acess/],
      [[...twins, `sqlite:${join(folder, "no-database")}`], {}, /no-database/],
      [[...twins, "postgres://nobody@127.0.0.1:1/none"], {}, /DATABASE_URL .*PostgreSQL.*ECONNREFUSED/],
    ];
    await Promise.all(
      cases.map(async ([args, variables, pattern]) =>
        assertRefusal(await runServer(args, variables), pattern),
      ),
    );
  });

  test("a SQLite package that is installed but cannot be loaded is reported as that", {
    skip: isBuiltin("node:sqlite") && "this runtime needs no package",
  }, async () => {
    const { flags } = await scratch();
    assertRefusal(
      await runServer(flags, { NODE_OPTIONS: "--no-addons" }),
      /DATABASE_URL .*, or repair the package libsql, which cannot be loaded \(ERR_DLOPEN_DISABLED\)\.$/m,
    );
  });

  test("a warning from the runtime or a package is a line of the log", async () => {
    const flags = ["--twins", (await scratch()).folder, "--database"]; // pg warns about the sslmode below
    const { stderr } = await runServer([...flags, "postgres://nobody@127.0.0.1:1/none?sslmode=require"]);
    const [warning = "", refusal, ...more] = stderr.split("\n");
    assert.match(JSON.parse(warning).error.message, /sslmode=verify-full/);
    assert.match(String(refusal), /^twin-service: DATABASE_URL .*ECONNREFUSED/);
    assert.deepEqual(more, [""]);
  });

  test("an experimental feature of the runtime, such as SQLite on Node 22, causes no warning in the log", {
    skip: runtime !== "node" && "needs Node's --import to run code before the server",
  }, async () => {
    const warn = "process.emitWarning('new', 'ExperimentalWarning')";
    const early = encodeURIComponent(`process.on("newListener", (event) => {
      if (event === "SIGINT") ${warn}; // the server already listens for warnings
    })`);
    const variables = { NODE_OPTIONS: `--import=data:text/javascript,${early}` };
    const nowhere = ["--twins", (await scratch()).folder, "--database", "postgres://nobody@127.0.0.1:1/none"];
    assertRefusal(await runServer(nowhere, variables), /ECONNREFUSED/);
  });

  test("--help and --version print to stdout", async () => {
    const help = await runServer(["--help"], { PORT: "nonsense" });
    assert.equal(help.code, 0);
    for (const { variable } of Object.values(settings)) assert.ok(help.stdout.includes(variable), variable);
    const { version } = JSON.parse(await readFile(new URL("../../package.json", import.meta.url), "utf8"));
    assert.deepEqual(await runServer(["--version"]), { code: 0, stdout: `${version}\n`, stderr: "" });
  });

  test("output that cannot be written is reported as a failure", {
    skip: !existsSync("/dev/full") || runtime === "bun" ? "needs /dev/full; Bun does not report it" : false,
  }, () => {
    const { code, stderr } = runInto("/dev/full", ["--version"]);
    assert.equal(code, 1);
    assert.match(stderr, /ENOSPC|No space left/);
  });

  test("with a database in memory, it writes nothing, and token says what it needs", async () => {
    const { folder } = await scratch();
    const flags = ["--twins", join(folder, "twins"), "--database", "memory:"];
    const server = await startServer(flags);
    await server.stop();
    assert.deepEqual(await readdir(folder), ["twins"]);
    assertRefusal(await runServer(["token", "--sub", "alice", ...flags]), /needs JWT_SECRET/);
  });

  for (const [where, database] of [
    ["in a file", (folder: string) => `sqlite:${join(folder, "my data", "twins.db")}`],
    ["in memory", () => "memory:"],
  ] as const) {
    test(`in a terminal, without a playground, with its records ${where}, it shows shell commands that talk to a twin`, {
      skip:
        spawnSync("sh", ["-c", "script --version && curl --version"]).status !== 0 && "needs script and curl",
      timeout: 60_000,
    }, async () => {
      const { folder } = await scratch();
      const flags = ["--database", database(folder), "--base-path", "/chat", "--playground", "off"];
      const args = ["--twins", join(folder, "twins"), ...flags];
      const server = await startServerInTerminal(args, /^curl -sN .*\n/m);
      const [lines = ""] = /^TOKEN=.*\nKEY=.*\ncurl .*$/m.exec(server.shown) ?? [];
      const shell = spawn("sh", ["-c", lines], { env: surroundings, stdio: ["ignore", "pipe", "inherit"] });
      const answer = await text(shell.stdout);
      assert.equal(await server.stop(), 0);
      assert.match(answer, /"type":"complete".*"content":"Hello!"/, lines);
    });
  }

  test("in a terminal, it shows a link that opens the playground, signed in", {
    skip: spawnSync("script", ["--version"]).status !== 0 && "needs script",
  }, async () => {
    const { folder } = await scratch();
    const args = ["--twins", join(folder, "twins"), "--database", "memory:", "--base-path", "/chat"];
    const server = await startServerInTerminal(args, /^http\S+#token=\S+\n/m);
    const [, page = "", token = ""] = /^(http\S+)#token=(\S+)$/m.exec(server.shown) ?? [];
    assert.match(page, /\/chat\/$/);
    assert.match(await (await fetch(page)).text(), /^<!doctype html>/);
    const created = await call(`${page}api/v1/auth/api-keys`, "POST", token, { name: "mine" });
    assert.equal(await server.stop(), 0);
    assert.equal(created.status, 201);
  });

  for (const [why, args, status] of [
    ["on this machine alone", [], 200],
    ["if they are switched off", ["--playground", "off"], 404],
    ["on all addresses", ["--host", "0.0.0.0"], 404],
    ["on all addresses, if they are switched on", ["--host", "0.0.0.0", "--playground", "on"], 200],
  ] as const) {
    test(`its pages ${status === 200 ? "are" : "are not"} there ${why}`, async () => {
      const server = await startServer(["--database", "memory:", ...args]);
      const { port } = new URL(server.url);
      const statuses = await Promise.all(
        ["/", "/docs"].map(async (path) => (await fetch(`http://127.0.0.1:${port}${path}`)).status),
      );
      await server.stop();
      assert.deepEqual(statuses, [status, status]);
    });
  }

  test("issuer and audience go into tokens and are required of them", async () => {
    const { folder } = await scratch();
    const flags = ["--twins", join(folder, "twins"), "--database", "memory:"];
    const secret = { JWT_SECRET: "a secret of at least 32 bytes, for a test" };
    const claims = { JWT_ISSUER: "https://id.example", JWT_AUDIENCE: "twins" };
    const server = await startServer(flags, { ...secret, ...claims });
    await createKey(server, await mint(flags, { ...secret, ...claims }));
    const keys = `${server.url}/api/v1/auth/api-keys`;
    assert.equal((await call(keys, "GET", await mint(flags, secret))).status, 401);
    await server.stop();
  });

  for (const setting of ["JWT_PUBLIC_KEY", "JWT_JWKS_URL"]) {
    test(`${setting} replaces the secret`, async (t) => {
      const { flags, folder } = await scratch();
      const { publicKey, privateKey } = reread(generateKeyPairSync("ec", { namedCurve: "P-256" }));
      const pem = publicKey.export({ type: "spki", format: "pem" }).toString();
      const keys = [publicKey.export({ format: "jwk" })];
      const provider = createServer((_, response) => response.end(JSON.stringify({ keys })));
      const url = `http://127.0.0.1:${await listen(provider)}`;
      t.after(() => provider.close());
      const variables = { [setting]: setting === "JWT_PUBLIC_KEY" ? pem : url };
      const server = await startServer(flags, variables);
      const token = new SignJWT({ sub: "alice" })
        .setProtectedHeader({ alg: "ES256" })
        .setExpirationTime("1h");
      await createKey(server, await token.sign(privateKey));
      await server.stop();
      assertRefusal(await runServer(["token", "--sub", "alice", ...flags], variables), /private key/);
      assert.ok(!(await readdir(join(folder, "data"))).includes("jwt-secret"));
    });
  }

  test("it runs where generating code from strings is forbidden", {
    skip: (runtime === "bun" && "Bun has no such flag") || withoutSignals,
  }, async () => {
    const { flags } = await scratch();
    const forbidden = "--disallow-code-generation-from-strings";
    const variables = { NODE_OPTIONS: forbidden, DENO_V8_FLAGS: forbidden };
    const server = await startServer(flags, variables);
    const key = await createKey(server, await mint(flags, variables));
    const messages = await converse(server, key, "echo");
    const stream = await call(`${messages}/stream`, "POST", key, { content: "Hello there" });
    assert.match(await stream.text(), /"type":"complete"[^\n]*"content":"Hello there"/);
    assert.equal((await server.stop()).code, 0);
  });

  test("a base path moves everything", async () => {
    const { flags } = await scratch();
    const server = await startServer([...flags, "--base-path", "/assistant"]);
    assert.equal((await fetch(`${server.url}/assistant/healthz`)).status, 200);
    assert.equal((await fetch(`${server.url}/healthz`)).status, 404);
    await server.stop();
  });
});

describe("what the server logs", () => {
  test("each request is one line of JSON, without secrets or message text", {
    skip: withoutSignals,
  }, async () => {
    const { flags } = await scratch();
    const token = await mint(flags);
    const server = await startServer([...flags, "--log-level", "debug"]);
    const key = await createKey(server, token);
    const messages = await converse(server, key, "echo");
    await dataOf(await call(messages, "POST", key, { content: "my confidential question" }));
    await call(`${server.url}/api/v1/twins?key=${key}`, "GET", `${key}x`);
    const { stderr } = await server.stop();
    const entries = stderr
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    const requests = entries.filter(({ message }) => message === "request");
    assert.deepEqual(
      requests.map(({ method, status }) => `${method} ${status}`),
      ["POST 201", "POST 201", "POST 200", "GET 401"],
    );
    for (const { time, level, requestId } of requests) {
      assert.match(time, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
      assert.equal(level, "info");
      assert.match(requestId, /^req_/);
    }
    for (const secret of [key, key.slice(12), token, "confidential"])
      assert.ok(!stderr.includes(secret), secret);
  });

  test("its start is a line with the resulting settings, without secrets", async () => {
    const { flags } = await scratch();
    const server = await startServer(flags, {
      MODEL_BASE_URL: "http://127.0.0.1:9",
      MODEL_API_KEY: "secret-key",
    });
    const { time, version, settings, ...rest } = await server.logged("started");
    const kinds = { runtime, database: "sqlite", limits: "sqlite", model: true, tokens: "secret" };
    assert.deepEqual(rest, { level: "info", message: "started", twins: flags[1], ...kinds });
    const { ON_DISCONNECT, CORS_ORIGINS, MODEL_NAME, JWT_SECRET } = settings as Record<string, unknown>;
    assert.deepEqual([ON_DISCONNECT, CORS_ORIGINS], ["continue", []]);
    assert.deepEqual([MODEL_NAME, JWT_SECRET], [null, undefined]);
    assert.match(`${time} ${version}`, /^\S+Z \d+\.\d+\.\d+$/);
    await server.logged("MODEL_BASE_URL has no path; most servers need it to end in /v1");
    const { stderr } = await server.stop();
    assert.ok(!stderr.includes("secret-key"));
  });

  test("the server survives if the reader of its standard output goes away", {
    skip: withoutSignals,
  }, async () => {
    const { flags } = await scratch();
    const server = launchServer(flags);
    server.hangUp("stdout");
    await server.logged("started");
    const { code, stderr } = await server.stop();
    assert.equal(code, 0, stderr);
    assert.match(stderr, /"message":"stopped"/);
  });

  test("the server survives if the reader of its log goes away", {
    skip: withoutSignals,
  }, async () => {
    const { flags } = await scratch();
    const server = await startServer(flags);
    await server.logged("started");
    server.hangUp("stderr");
    for (let asked = 0; asked < 3; asked++) {
      assert.equal((await fetch(`${server.url}/healthz`)).status, 200);
    }
    assert.equal((await server.stop()).code, 0);
  });

  test("an uncaught error is logged, and the process exits with 1", {
    skip: (runtime !== "node" && "needs Node's --import to run code before the server") || withoutSignals,
  }, async () => {
    const { flags } = await scratch();
    for (const [mistake, message] of [
      ["throw new Error('stray')", "an exception was not caught"],
      ["Promise.reject(new Error('stray'))", "a rejection was not handled"],
    ] as const) {
      const early = encodeURIComponent(`process.once("SIGUSR2", () => { ${mistake} })`);
      const server = await startServer(flags, { NODE_OPTIONS: `--import=data:text/javascript,${early}` });
      const { code, stderr } = await server.stop("SIGUSR2");
      assert.equal(code, 1);
      const last = JSON.parse(stderr.trim().split("\n").at(-1) ?? "");
      assert.deepEqual([last.level, last.message], ["error", message]);
      assert.match(JSON.stringify(last.error), /stray/);
    }
  });

  test("it warns that JWTs for other services are accepted, too", async () => {
    const { flags } = await scratch();
    const server = await startServer(flags, { JWT_JWKS_URL: "http://127.0.0.1:9/jwks" });
    const { level } = await server.logged(
      "JWTs issued for other services are accepted, too, because JWT_AUDIENCE is not set",
    );
    assert.equal(level, "warn");
    await server.stop();
  });

  test("a disk that is full for a while costs the log lines of that time, not the last ones", {
    skip:
      (process.platform === "win32" && "limits a file's size with a shell") ||
      (runtime === "deno" && "Deno writes larger files of its own"),
  }, async () => {
    const { folder } = await scratch();
    const file = join(folder, "log");
    const server = await startServerLoggingTo(file, [
      "--twins",
      join(folder, "twins"),
      "--database",
      "memory:",
    ]);
    for (let lines = 0; lines < 40; lines++) await fetch(`${server.url}/api/v1/nowhere`);
    const { size } = await stat(file);
    await truncate(file);
    assert.equal(await server.stop(), 0);
    assert.equal(size, fullAt);
    assert.match(await readFile(file, "utf8"), /"message":"stopped"/);
  });

  test("a disk that is full from the start costs the log, not the server", {
    skip: process.platform !== "linux" && "only Linux has a device that is always full",
  }, async () => {
    const { flags } = await scratch();
    const server = await startServerLoggingTo("/dev/full", flags, "true");
    for (let asked = 0; asked < 3; asked++) {
      assert.equal((await fetch(`${server.url}/healthz`)).status, 200);
    }
    assert.equal(await server.stop(), 0);
  });

  test("it warns of incomplete model settings", async () => {
    const { flags } = await scratch();
    const server = await startServer(flags, { MODEL_NAME: "llama3.2" });
    const { level } = await server.logged("MODEL_API_KEY and MODEL_NAME do nothing without MODEL_BASE_URL");
    assert.equal(level, "warn");
    await server.stop();
  });

  test("LOG_LEVEL leaves out entries of lower levels", async () => {
    const { flags } = await scratch();
    const server = await startServer(flags, { LOG_LEVEL: "error" });
    await fetch(`${server.url}/healthz`);
    assert.equal((await server.stop()).stderr, "");
  });

  test("it warns of a twin whose model is missing, and the twin's replies fail with model_error", async () => {
    const twin = "---\nname: Talker\nengine: openai\naccess: [alice]\n---\nYou talk.\n";
    const { flags } = await scratch({ "talker.md": twin });
    const server = await startServer(flags);
    const warning = await server.logged("a twin's engine is not set up, so its replies will fail");
    assert.equal(warning.level, "warn");
    assert.equal(warning.twin, "talker");
    const key = await createKey(server, await mint(flags));
    const response = await call(await converse(server, key, "talker"), "POST", key, { content: "Hello" });
    assert.equal(response.status, 502);
    assert.equal((await response.json()).error.code, "model_error");
    await server.stop();
  });
});

/** A server with a twin whose model follows these scripts, and a conversation with it. */
async function openTalker(variables: Readonly<Record<string, string>>, ...scripts: readonly Script[]) {
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

test("a model that does not begin within MAX_REPLY_MS is a model_timeout, logged with its address and name", async () => {
  const { model, server, send, close } = await openTalker({ MAX_REPLY_MS: "200", MODEL_NAME: "small" }, hang);
  const response = await send();
  assert.equal(response.status, 504);
  assert.equal((await response.json()).error.code, "model_timeout");
  const entry = await server.logged("a reply failed");
  assert.equal(entry.address, model.baseUrl);
  assert.equal(entry.model, "small");
  await close();
});

test("a reply that the model's server refuses is logged with address, model and status", async () => {
  const { model, server, send, close } = await openTalker({ MODEL_NAME: "small" }, refuse(404));
  assert.equal((await send()).status, 502);
  const entry = await server.logged("a reply failed");
  assert.equal(entry.address, model.baseUrl);
  assert.equal(entry.model, "small");
  assert.match(JSON.stringify(entry.error), /status 404/);
  await close();
});

test("MODEL_NAME and MODEL_API_KEY go along with what the model is asked", async () => {
  const { model, send, close } = await openTalker({ MODEL_NAME: "small", MODEL_API_KEY: "sk-0123456789" });
  await dataOf(await send());
  const { headers, body } = await model.received(0);
  assert.equal(headers.authorization, "Bearer sk-0123456789");
  assert.equal((body as { model: string }).model, "small");
  await close();
});

test("a reply ends after MAX_REPLY_MS, and its silence is filled every HEARTBEAT_MS until then", async () => {
  const limits = { MAX_REPLY_MS: "1000", HEARTBEAT_MS: "100" };
  const { stream, close } = await openTalker(limits, hangAfter(delta("Well")));
  const text = await (await stream()).text();
  assert.match(text, /\n: keep-alive\n\n[\s\S]*"type":"error","error":\{"code":"model_timeout"/);
  await close();
});

test("with ON_DISCONNECT=cancel, a reply is cancelled when its reader leaves", async () => {
  const { stream, lastStatus, close } = await openTalker(
    { ON_DISCONNECT: "cancel" },
    hangAfter(delta("Well")),
  );
  await (await stream()).body?.cancel();
  await until("the reply is cancelled", 10_000, async () => (await lastStatus()) === "cancelled");
  await close();
});

test("pages from CORS_ORIGINS may read the answers", async () => {
  const { flags } = await scratch();
  const server = await startServer(flags, { CORS_ORIGINS: "https://app.example.com" });
  const { headers } = await fetch(`${server.url}/healthz`, {
    headers: { Origin: "https://app.example.com" },
  });
  assert.equal(headers.get("access-control-allow-origin"), "https://app.example.com");
  await server.stop();
});

describe("a server that is told to stop while a reply runs", () => {
  async function streaming(variables: Record<string, string>) {
    const { server, model, stream } = await openTalker(variables, hangAfter(delta("Well")));
    const { body } = await stream();
    assert.ok(body);
    const reader = body.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    const readUntil = async (part: string): Promise<string> => {
      while (!text.includes(part)) {
        const { done, value } = await reader.read();
        if (done) break;
        text += value;
      }
      return text;
    };
    await readUntil('"content":"Well"');
    return { server, model, readUntil };
  }

  test("after the grace period the reply ends as interrupted, the stream ends properly, and the process exits with 0", {
    skip: withoutSignals,
  }, async () => {
    const { server, model, readUntil } = await streaming({ SHUTDOWN_GRACE_MS: "50" });
    const ended = server.stop();
    const text = await readUntil("no such text: to its end");
    assert.match(text, /"type":"error","error":\{"code":"interrupted"[^\n]*\n\n$/);
    assert.equal((await ended).code, 0);
    await model.close();
  });

  test("a second signal ends the process at once, with 1", { skip: withoutSignals }, async () => {
    const { server, model } = await streaming({ SHUTDOWN_GRACE_MS: "60000" });
    server.signal("SIGTERM");
    await server.logged("stopping");
    const { code } = await server.stop();
    await model.close();
    assert.equal(code, 1);
  });

  test("a signal that arrives twice, as when npm signals a whole group, counts as one", {
    skip: withoutSignals,
  }, async () => {
    const startedByNpm = { npm_lifecycle_event: "start" };
    const { server, model, readUntil } = await streaming({ SHUTDOWN_GRACE_MS: "50", ...startedByNpm });
    server.signal("SIGTERM");
    const { code } = await server.stop("SIGINT"); // two of one kind could be merged on their way
    await model.close();
    assert.equal(code, 0);
    const text = await readUntil("no such text: to its end");
    assert.match(text, /"type":"error","error":\{"code":"interrupted"/);
  });
});

describe("the secret's file", () => {
  test("processes that create it at once get the same secret", async () => {
    const file = join(root, "race", "deep", "jwt-secret");
    const secrets = await Promise.all(Array.from({ length: 20 }, () => readOrCreateSecret(file)));
    assert.equal(new Set(secrets).size, 1);
    assert.deepEqual(await readdir(join(root, "race", "deep")), ["jwt-secret"]);
  });

  test("it is created where the file system has no hard links, too", {
    skip: process.platform === "win32" && "Windows has no modes",
  }, async () => {
    const file = join(root, "without-links", "jwt-secret");
    const { link } = fileSystem;
    const replaceLink = (by: typeof link) => {
      fileSystem.link = by;
      syncBuiltinESMExports();
    };
    replaceLink(() => Promise.reject(Object.assign(new Error("no links here"), { code: "EPERM" })));
    const secrets = [await readOrCreateSecret(file), await readOrCreateSecret(file)];
    replaceLink(link);
    assert.equal(secrets[1], secrets[0]);
    assert.equal((await stat(file)).mode & 0o777, 0o600);
    assert.deepEqual(await readdir(dirname(file)), ["jwt-secret"]);
  });

  test("a file without a secret is refused, and not overwritten", async () => {
    const file = join(root, "empty-secret");
    await writeFile(file, "\n");
    await assert.rejects(readOrCreateSecret(file), /does not hold a secret of at least 32 characters/);
    assert.equal(await readFile(file, "utf8"), "\n");
  });

  test("a dangling link in place of its folder is reported in one line", {
    skip: process.platform === "win32" && "Windows requires a privilege to create links",
  }, async () => {
    const folder = join(root, "a-link");
    await symlink(join(root, "nowhere"), folder);
    await assert.rejects(
      readOrCreateSecret(join(folder, "jwt-secret")),
      /^Error: The secret's file [^\n]* cannot be created \(EEXIST\): let this process write there/,
    );
  });

  test("a file that cannot be read is reported with what to do instead", async () => {
    const folder = join(root, "a-folder");
    await mkdir(folder);
    await assert.rejects(
      readOrCreateSecret(folder),
      /^Error: The secret's file [^\n]* cannot be read \(EISDIR\): let this process read it, or set JWT_SECRET\.$/,
    );
  });

  test("a path that cannot be used is reported in one line", async () => {
    const file = join(root, "a-file");
    await writeFile(file, "");
    const code = process.platform === "win32" ? "EEXIST" : "ENOTDIR";
    await assert.rejects(
      readOrCreateSecret(join(file, "jwt-secret")),
      new RegExp(`^Error: The secret's file [^\\n]*${code}`),
    );
  });
});
