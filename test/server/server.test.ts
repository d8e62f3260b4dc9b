/**
 * The reference server as a process: what it serves, and what keeps it from starting.
 */

import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { readdir, readFile, stat } from "node:fs/promises";
import { get, type IncomingMessage, request } from "node:http";
import { isBuiltin } from "node:module";
import { join } from "node:path";
import { buffer, text } from "node:stream/consumers";
import { describe, test } from "node:test";
import { gunzipSync } from "node:zlib";
import { settings } from "../../server/settings.ts";
import { surroundings, withoutSignals } from "../support/child-process.ts";
import { dataOf } from "../support/harness.ts";
import { runtime } from "../support/runtime.ts";
import { assertRefusal, call, converse, createKey, createScratch, mint } from "./fixture.ts";
import { runInto, runServer, startServer, startServerInTerminal } from "./process.ts";

const scratch = await createScratch();

/** These members of a log line. */
function only(line: Record<string, unknown>, ...names: string[]): Record<string, unknown> {
  return Object.fromEntries(Object.entries(line).filter(([name]) => names.includes(name)));
}

/** What a client gets that sends any header fields, `Host` too. */
async function ask(url: string, headers: Record<string, string>) {
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    get(url, { headers }, resolve).on("error", reject);
  });
  return { status: answer.statusCode, body: await text(answer) };
}

describe("the server", () => {
  test("it says where it listens, answers, and exits with 0 on each signal to stop", {
    skip: withoutSignals,
  }, async () => {
    const { flags } = await scratch();
    for (const signal of ["SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT"] as const) {
      const server = await startServer(flags);
      assert.match(server.url, /^http:\/\/127\.0\.0\.1:[1-9]\d*$/);
      assert.equal((await fetch(`${server.url}/healthz`)).status, 200);
      assert.equal((await fetch(`${server.url}/readyz`)).status, 200);
      const { code, stdout } = await server.stop(signal);
      assert.equal(code, 0);
      assert.equal(stdout, `listening on ${server.url}\n`);
    }
  });

  test("it says where it made a new database, names its file, and warns if there are others near", async () => {
    const { folder, flags } = await scratch();
    const file = join(folder, "data", "twins.db");
    // Elsewhere than in the checkout, which has a database if a server was started there.
    const first = await startServer(flags, {}, { cwd: join(folder, "twins") });
    assert.deepEqual(only(await first.logged(`new database at ${file}`), "level", "near"), { level: "info" });
    assert.deepEqual(only(await first.logged("started"), "database", "file"), { database: "sqlite", file });
    await first.stop();

    const again = await startServer(flags);
    await again.logged("started");
    assert.ok(!(await again.stop()).stderr.includes("new database"));

    for (const place of [join(folder, "data", "twin.db"), join(folder, "twins.db")]) {
      const second = await startServer([...flags.slice(0, 2), "--database", `sqlite:${place}`]);
      const said = only(await second.logged(`new database at ${place}`), "level", "near");
      assert.deepEqual(said.level, "warn");
      assert.ok((said.near as string[]).includes(file), String(said.near));
      await second.stop();
    }
  });

  test("without a terminal, it says how to sign in", async () => {
    const { flags } = await scratch();
    const server = await startServer(flags);
    const { command } = await server.logged(
      "to sign in, run this command here (in a container: by its exec), and make a key with its token",
    );
    const words = String(command).replace("'<owner>'", "alice").split(" ");
    const token = spawnSync(words[0] ?? "", words.slice(1), { encoding: "utf8", env: surroundings });
    const keys = await call(`${server.url}/api/v1/auth/api-keys`, "GET", token.stdout.trim());
    await server.stop();
    assert.equal(keys.status, 200, `${command}: ${token.stderr}`);
  });

  test("where the playground is off, / tells browsers and others what this is", async () => {
    const { flags } = await scratch();
    const server = await startServer([...flags, "--playground", "off", "--base-path", "/chat"]);
    const page = await fetch(`${server.url}/chat/`, { headers: { Accept: "text/html,*/*;q=0.8" } });
    const shown = await page.text();
    const data = await (await fetch(`${server.url}/chat/`)).json();
    const { version } = JSON.parse(await readFile(new URL("../../package.json", import.meta.url), "utf8"));
    const openApi = "/chat/api/v1/openapi.json";
    assert.deepEqual(data, { data: { name: "twin-service", version, openApi } });
    assert.match(page.headers.get("content-type") ?? "", /^text\/html/);
    assert.equal(page.headers.get("vary"), "Accept");
    assert.match(shown, new RegExp(`twin-service ${version.replaceAll(".", "\\.")}`));
    for (const [, path] of shown.matchAll(/href="([^"]+)"/g)) {
      assert.equal((await fetch(`${server.url}${path}`)).status, 200, path);
    }
    assert.equal((await fetch(`${server.url}/chat/docs`)).status, 404);
    await server.stop();
  });

  test("its pages may be kept for a while, and neither they nor the OpenAPI document are sent again if they have not changed", async () => {
    const { flags } = await scratch();
    const server = await startServer(flags);
    for (const path of ["/", "/docs", "/widget.js", "/api/v1/openapi.json"]) {
      const first = await fetch(server.url + path);
      const isPage = !path.startsWith("/api");
      assert.equal(first.headers.get("cache-control"), isPage ? "public, max-age=300" : "no-cache", path);
      assert.equal(first.headers.get("x-content-type-options"), "nosniff");
      const etag = first.headers.get("etag") ?? "";
      assert.match(etag, /^"[0-9a-f]{16}(-gzip)?"$/);
      const again = await fetch(server.url + path, { headers: { "If-None-Match": etag } });
      assert.deepEqual([again.status, await again.text(), again.headers.get("etag")], [304, "", etag], path);
      const changed = await fetch(server.url + path, { headers: { "If-None-Match": '"other"' } });
      assert.equal(changed.status, 200);
    }
    await server.stop();
  });

  test("its pages are compressed for who takes that, and apart from the pages of others, which may load the widget alone", async () => {
    const { flags } = await scratch();
    const server = await startServer(flags);
    for (const path of ["/", "/docs", "/widget.js", "/api/v1/openapi.json"]) {
      const get = async (method: string, encoding: string) => {
        const asked = request(server.url + path, {
          method,
          headers: { Accept: "text/html", "Accept-Encoding": encoding },
        }).end();
        const [answer] = (await once(asked, "response")) as [IncomingMessage];
        return { answer, bytes: await buffer(answer) };
      };
      const plain = await get("GET", "identity");
      const { answer, bytes } = await get("GET", "gzip, deflate, br");
      assert.equal(answer.headers["content-encoding"], "gzip", path);
      assert.match(answer.headers.vary ?? "", /Accept-Encoding/);
      assert.ok(bytes.length < plain.bytes.length / 2, `${path}: ${bytes.length}`);
      assert.ok(gunzipSync(bytes).equals(plain.bytes), path);
      const head = await get("HEAD", "gzip");
      assert.deepEqual([head.answer.headers["content-length"], head.bytes.length], [String(bytes.length), 0]);
      const { "cross-origin-resource-policy": mayLoad, "cross-origin-opener-policy": opener } =
        answer.headers;
      if (path === "/widget.js") assert.equal(mayLoad, "cross-origin");
      else if (!path.startsWith("/api")) assert.deepEqual([mayLoad, opener], ["same-origin", "same-origin"]);
    }
    await server.stop();
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
    const early = await mint([...flags, "--new"]); // whatever runs first creates the secret
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

  test("a key's bucket survives a restart", async () => {
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

  test("a port in use is reported in one line, even another server's that the runtime could share", async () => {
    const [first, second] = [await scratch(), await scratch()];
    const server = await startServer(first.flags);
    const { port } = new URL(server.url);
    assertRefusal(
      await runServer(["--port", port, ...second.flags]),
      new RegExp(`port ${port} on 127.* in use; choose another, or 0 `),
    );
    await server.stop();
  });

  test("anything that cannot be used stops the start with one line", async () => {
    const { folder } = await scratch();
    const broken = await scratch({ "broken.md": "---\nname: X\nacess: [alice]\n---\n" });
    const memory = ["--database", "memory:", "--twins"];
    const cases: [string[], RegExp][] = [
      [["--port", "eighty"], /PORT \(--port\) must be a whole number/],
      [[...memory, join(folder, "nowhere")], /TWINS_DIR .*nowhere.*ENOENT.*a folder of/],
      ...["192.0.2.1", "999.1.1.1"].map((host): [string[], RegExp] => [
        [...memory, join(folder, "twins"), "--host", host],
        new RegExp(
          `HOST .*must be an address of this machine.* ${host}|${host} .*HOST must be an address of this`,
        ),
      ]),
      [broken.flags, /"broken\.md".*acess/],
    ];
    await Promise.all(cases.map(async ([args, pattern]) => assertRefusal(await runServer(args), pattern)));
  });

  test("a SQLite package that is installed but cannot be loaded is reported as that", {
    skip: isBuiltin("node:sqlite") && "this runtime needs no package",
  }, async () => {
    const { flags } = await scratch();
    assertRefusal(
      await runServer(flags, { NODE_OPTIONS: "--no-addons" }),
      /DATABASE_URL .*the package libsql, which cannot be loaded \(ERR_DLOPEN_DISABLED\): install it again\./m,
    );
  });

  test("a warning from the runtime or a package is a line of the log", {
    skip: runtime !== "node" && "needs Node's --import to run code before the server",
  }, async () => {
    const early = encodeURIComponent(`process.on("newListener", (event) => {
      if (event === "SIGINT") process.emitWarning("old", "DeprecationWarning");
    })`);
    const variables = { NODE_OPTIONS: `--import=data:text/javascript,${early}` };
    const flags = ["--twins", join((await scratch()).folder, "twins")];
    const nowhere = ["--database", "postgres://nobody@127.0.0.1:1/none"];
    const { stderr } = await runServer([...flags, ...nowhere], variables);
    const [warning = "", refusal, ...more] = stderr.split("\n");
    assert.equal(JSON.parse(warning).error.message, "old");
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
    const twins = ["--twins", join((await scratch()).folder, "twins")];
    const nowhere = ["--database", "postgres://nobody@127.0.0.1:1/none"];
    assertRefusal(await runServer([...twins, ...nowhere], variables), /ECONNREFUSED/);
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
    assertRefusal(await runServer(["token", "--sub", "alice", ...flags]), /A token needs JWT_SECRET/);
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

  test("in a terminal, it shows a link that signs in to the playground once, then the settings that differ", {
    skip: spawnSync("script", ["--version"]).status !== 0 && "needs script",
  }, async () => {
    const { folder } = await scratch();
    const args = ["--twins", join(folder, "twins"), "--database", "memory:", "--base-path", "/chat"];
    const server = await startServerInTerminal(args, /^http\S+#code=\S+\n[\s\S]*\bstarted .*settings=.*\n/m);
    const names = server.shown.match(/(?<=settings=.*")[A-Z_]+(?=":)/g);
    assert.deepEqual(names, ["PORT", "TWINS_DIR", "BASE_PATH"], "what differs from the defaults");
    const [, page = "", code = ""] = /^(http\S+)#code=(\S+)$/m.exec(server.shown) ?? [];
    assert.match(page, /\/chat\/$/);
    assert.match(await (await fetch(page)).text(), /^<!doctype html>/);
    const signIn = (code: string) => call(`${page}sign-in`, "POST", code);
    const wrong = await signIn(code.replace(/.$/, (last) => (last === "A" ? "B" : "A")));
    const { data } = (await (await signIn(code)).json()) as { data: { token: string } };
    const again = await signIn(code);
    const created = await call(`${page}api/v1/auth/api-keys`, "POST", data.token, { name: "mine" });
    assert.equal(await server.stop(), 0);
    assert.deepEqual([wrong.status, again.status, created.status], [401, 401, 201]);
  });

  test("its playground suggests a twin's tests that have an answer, else headings that its engine offers, to who may use it", async () => {
    const { flags: own } = await scratch({
      "tested.md":
        "---\nname: T\ntests:\n  - {ask: Open?, says: nine}\n  - {ask: Rain?, source: null}\n---\n# Hours\nNine.",
      "headed.md":
        "---\nname: H\n---\n# Prices\n<!-- asked as: cost; What is it?; x -->\nTwo.\n# Place\nHere.",
      "long.md": `---\nname: L\n---\n# Visits\n${"Come on Monday. ".repeat(2_000)}\n\n# Behind what is read\nGo.`,
      "silent.md": "---\nname: S\nengine: echo\n---\n# How to say no\nPolitely.",
      "private.md": "---\nname: P\naccess: [bob]\n---\n# Secret\nNone.",
    });
    const flags = [...own, "--base-path", "/chat"];
    const server = await startServer(flags);
    const key = await createKey({ ...server, url: `${server.url}/chat` }, await mint(flags));
    const starters = async (twinId: string, credential = key, headers = {}) => {
      const init = { headers: { Authorization: `Bearer ${credential}`, ...headers } };
      const answer = await fetch(`${server.url}/chat/starters/${twinId}`, init);
      return [answer.status, ((await answer.json()) as { data?: unknown }).data];
    };
    const found = [
      await starters("tested"),
      await starters("headed"),
      await starters("long"),
      await starters("silent"),
    ];
    const refused = [
      await starters("private"),
      await starters("tested", "twin_x"),
      await starters("tested", key, { Via: "1.1 proxy" }),
    ];
    assert.equal((await server.stop()).code, 0);
    assert.deepEqual(found, [
      [200, ["Open?"]],
      [200, ["What is it?", "Place"]],
      [200, ["Visits"]],
      [200, []],
    ]);
    assert.deepEqual(
      refused.map(([status]) => status),
      [404, 401, 404],
    );
  });

  test("its pages are for browsers on its machine, and not for who comes through a proxy, unless it says so", async () => {
    const { flags } = await scratch();
    const pages = async (url: string, headers: Record<string, string>) => {
      const asked = ["/", "/docs"].map((path) => ask(`${url}${path}`, { Accept: "text/html", ...headers }));
      return (await Promise.all(asked)).map(({ status, body }) => [
        status,
        body.includes("The playground is off"),
      ]);
    };
    const [shown, hidden] = [
      [
        [200, false],
        [200, false],
      ],
      [
        [200, true],
        [404, false],
      ],
    ];
    const foreign = [
      { Host: "twins.example.com" },
      { "X-Forwarded-For": "203.0.113.7" },
      { Forwarded: "for=203.0.113.7" },
      { Via: "1.1 proxy" },
    ];
    const server = await startServer(flags);
    const { port } = new URL(server.url);
    for (const Host of [`localhost:${port}`, `127.0.0.1:${port}`, `[::1]:${port}`, "localhost"])
      assert.deepEqual(await pages(server.url, { Host }), shown, Host);
    for (const headers of foreign)
      assert.deepEqual(await pages(server.url, headers), hidden, JSON.stringify(headers));
    await server.stop();
    const open = await startServer([...flags, "--playground", "on"]);
    for (const headers of foreign) assert.deepEqual(await pages(open.url, headers), shown);
    await open.stop();
  });

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
    assert.equal((await call(messages, "POST", key, {})).status, 400);
    assert.equal((await server.stop()).code, 0);
  });
});
