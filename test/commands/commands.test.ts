import assert from "node:assert/strict";
import { access, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "node:test";
import { openSqlite } from "../../adapters/sqlite/mod.ts";
import { TwinClient } from "../../client/mod.ts";
import { begin, newConversation } from "../contracts/store-records.ts";
import { startModelServer } from "../openai-models/model-server.ts";
import { assertRefusal, call, createScratch } from "../server/fixture.ts";
import { runServer, startServer } from "../server/process.ts";

const makeFolder = await createScratch();

/** A new folder with two twins. */
const scratch = () =>
  makeFolder({
    "ada.md":
      "---\nname: Ada\ngreeting: Hello, I am Ada.\naccess: [alice]\n---\n## The engine\n\nIt weaves.\n",
  });

const otherSecret = { JWT_SECRET: "another secret, which has 32 bytes or more" };

/** Whether a key may read and create conversations, as statuses. */
async function uses(url: string, key: string): Promise<number[]> {
  const conversations = `${url}/api/v1/conversations`;
  const answers = [
    await call(conversations, "GET", key),
    await call(conversations, "POST", key, { twinId: "echo" }),
  ];
  return answers.map(({ status }) => status);
}

describe("token", () => {
  test("it makes no secret beside a database whose server has another, but says so", async () => {
    const { folder, flags } = await scratch();
    const server = await startServer(flags, otherSecret);
    const token = ["token", "--sub", "alice", ...flags];
    assertRefusal(await runServer(token), /the server of this database has another secret.+JWT_SECRET/);
    await assert.rejects(access(join(folder, "data", "jwt-secret")));
    assert.equal((await runServer(token, otherSecret)).code, 0);
    await server.stop();
  });

  test("it makes no secret while a server with another listens at its address, but says so", async () => {
    const server = await startServer((await scratch()).flags, otherSecret);
    const { folder, flags } = await scratch();
    const token = ["token", "--sub", "alice", "--new", ...flags, "--port", new URL(server.url).port];
    assertRefusal(await runServer(token), /the server at http:.+ has another secret.+JWT_SECRET/);
    await assert.rejects(access(join(folder, "data", "jwt-secret")));
    await server.stop();
  });

  test("it says that the server at its address refuses what it prints", async () => {
    const { flags } = await scratch();
    const first = await runServer(["token", "--sub", "alice", "--new", ...flags, "--port", "1"]);
    assert.deepEqual([first.code, first.stderr], [0, ""]);
    const server = await startServer(flags, otherSecret);
    const { port } = new URL(server.url);
    const { code, stdout, stderr } = await runServer(["token", "--sub", "alice", ...flags, "--port", port]);
    assert.match(stdout, /^[\w-]+\.[\w-]+\.[\w-]+\n$/);
    assert.match(stderr, /^The server at http:\/\/127\.0\.0\.1:\d+ has another secret.+JWT_SECRET[^\n]+\n$/);
    assert.equal(code, 0);
    await server.stop();
  });
});

describe("key", () => {
  test("it makes a key in the database, which the server then knows, and at a running server", async () => {
    const { flags } = await scratch();
    const made = await runServer(["key", "--sub", "alice", "--new", ...flags]);
    assert.equal(made.code, 0, made.stderr);
    assert.match(made.stdout, /^twin_[0-9A-Za-z]{49}\n$/);
    const server = await startServer(flags);
    assert.deepEqual(await uses(server.url, made.stdout.trim()), [200, 201]);
    assertRefusal(await runServer(["key", "--sub", "alice", ...flags]), /is in use already.+--url http/);

    const asked = ["key", "--sub", "bob", "--scope", "read_only", "--url", server.url, ...flags];
    const reader = (await runServer(asked)).stdout.trim();
    assert.deepEqual(await uses(server.url, reader), [200, 403]);
    assertRefusal(await runServer(asked, otherSecret), /the server at .+ has another secret/);
    await server.stop();
  });
});

test("a key with a limit of its own is made, and revoked without its owner's name", async () => {
  const { flags } = await scratch();
  const make = async (...more: string[]) =>
    (await runServer(["key", "--sub", "alice", "--new", ...more, ...flags])).stdout.trim();
  const [kept, limited, found] = [await make(), await make("--requests-per-hour", "5000"), await make()];
  const listed = (await runServer(["keys", "--sub", "alice", ...flags])).stdout;
  const id = /^(key_\S+).+ {2}5000 an hour {2}/m.exec(listed)?.[1] ?? "";
  for (const meant of [
    ["--id", id],
    ["--prefix", found],
  ])
    assert.match(
      (await runServer(["revoke", ...meant, ...flags])).stdout,
      /^revoked key_\S+ {2}twin_\S{7}\n$/,
    );
  assertRefusal(await runServer(["revoke", "--id", "key_none", ...flags]), /There is no such key/);
  const server = await startServer(flags);
  assert.deepEqual(await uses(server.url, kept), [200, 201]);
  for (const revoked of [limited, found]) assert.deepEqual(await uses(server.url, revoked), [401, 401]);
  assertRefusal(await runServer(["revoke", "--id", id, "--url", server.url, ...flags]), /needs --sub, too/);
  assertRefusal(await runServer(["revoke", ...flags]), /needs --id, --prefix or --sub/);
  assertRefusal(await runServer(["revoke", "--prefix", "twin_", ...flags]), /first 12 characters/);
  await server.stop();
});

test("a key that is made or revoked at the database leaves an audit line on stderr, without its secret", async () => {
  const { folder, flags } = await scratch();
  const cwd = folder; // a database in the checkout's data folder would be named, too
  const made = await runServer(["key", "--sub", "alice", "--new", ...flags], {}, { cwd });
  const [id = ""] = /key_\w+/.exec((await runServer(["keys", "--sub", "alice", ...flags])).stdout) ?? [];
  const revoked = await runServer(["revoke", "--id", id, ...flags]);
  for (const [{ stderr }, action] of [
    [made, "create_key"],
    [revoked, "revoke_key"],
  ] as const) {
    const { time: _, level, message, requestId: __, ...line } = JSON.parse(stderr);
    assert.deepEqual([level, message], ["info", "audit"]);
    assert.deepEqual(line, { action, object: id, result: "done", owner: "alice" });
    assert.ok(!stderr.includes(made.stdout.trim()));
  }
});

describe("a folder without a database", () => {
  for (const command of ["token", "key"]) {
    test(`${command} makes nothing there unless asked, and says so`, async () => {
      const { folder, flags } = await scratch();
      const args = [command, "--sub", "alice", ...flags, "--port", "1"];
      const there = join(folder, "data", "twins.db");
      const refused = await runServer(args);
      assertRefusal(refused, /There is no database at .+twins\.db .+DATABASE_URL \(--database\).+--new/);
      assert.ok(refused.stderr.includes(there), refused.stderr);
      await assert.rejects(access(join(folder, "data")));

      const made = await runServer([...args, "--new"]);
      assert.equal(made.code, 0, made.stderr);
      await access(join(folder, "data", "jwt-secret"));
    });
  }

  test("a key that was made with it is known to the server that starts there, as is a token", async () => {
    const { flags } = await scratch();
    const key = await runServer(["key", "--sub", "alice", "--new", ...flags]);
    const token = await runServer(["token", "--sub", "alice", ...flags, "--port", "1"]);
    const server = await startServer(flags);
    assert.deepEqual(await uses(server.url, key.stdout.trim()), [200, 201]);
    const keys = await call(`${server.url}/api/v1/auth/api-keys`, "GET", token.stdout.trim());
    assert.equal(keys.status, 200);
    await server.stop();
  });

  test("key makes no secret in the folder of a database whose server has another", async () => {
    const { folder, flags } = await scratch();
    await (await startServer(flags, otherSecret)).stop();
    assert.equal((await runServer(["key", "--sub", "alice", ...flags])).code, 0);
    await assert.rejects(access(join(folder, "data", "jwt-secret")));
  });
});

test("key and chat leave a reply whose server died to its next start, which goes on with it", async () => {
  const { folder, flags } = await scratch();
  const path = join(folder, "data", "twins.db");
  const before = await openSqlite(path);
  const { id } = await newConversation(before.store, "alice", { twinId: "echo" });
  const { reply } = await begin(before.store, "alice", id, { content: "Hello there" });
  await before.close();
  const key = (await runServer(["key", "--sub", "alice", ...flags])).stdout.trim();
  const chat = await runServer(["chat", "echo", "--sub", "alice", ...flags], {}, { input: "Good bye\n" });
  assert.equal(chat.code, 0, chat.stderr);
  const server = await startServer(flags);
  const stream = `${server.url}/api/v1/conversations/${id}/messages/${reply.id}/stream`;
  assert.match(
    await (await call(stream, "GET", key)).text(),
    /"type":"complete"[^\n]*"content":"Hello there"/,
  );
  await server.stop();
});

test("key makes none that no server would know", async () => {
  const made = runServer(["key", "--sub", "alice", "--database", "memory:"]);
  assertRefusal(await made, /memory:.+no server would know the key.+--url/);
});

test("tests makes golden questions of what was left unanswered and rated, which check then asks", async () => {
  const text =
    "You keep a lighthouse.\n\n## The lamp\n\nThe lamp burns paraffin oil.\n\n## Visits\n\nOn Sundays.\n";
  const { folder, flags } = await makeFolder({ "odd.md": `---\nname: Odd\nengine: knowledge\n---\n${text}` });
  const server = await startServer(flags);
  const key = (await runServer(["key", "--sub", "alice", "--url", server.url, ...flags])).stdout.trim();
  const client = new TwinClient({ baseUrl: server.url, apiKey: key });
  const { id } = await client.conversations.create({ twinId: "odd" });
  const { id: replyId } = await client.messages.send(id, { content: "What does the lamp burn?" });
  await client.feedback.give(id, replyId, { rating: "down", comment: "It is LED\nnow" });
  for (const content of ["Who won the cup final?", "who won the cup final"])
    await client.messages.send(id, { content });
  const { stdout, code } = await runServer(["tests", "--twin", "odd", "--url", server.url, ...flags]);
  assert.equal(code, 0);
  assert.equal(
    stdout,
    `tests:
  # asked 2 times, without an answer
  - ask: who won the cup final
  # thumb down: It is LED now
  - ask: What does the lamp burn?
    never: The lamp burns paraffin oil.
`,
  );
  await server.stop();
  const file = join(folder, "twins", "odd.md");
  await writeFile(file, `---\nname: Odd\nengine: knowledge\n${stdout}---\n${text}`);
  const checked = await runServer(["check", "--twins", join(folder, "twins")]);
  assert.equal(checked.code, 1);
  assert.match(checked.stdout, /"who won the cup final" was not answered\.\n/);
  assert.match(
    checked.stdout,
    /"What does the lamp burn\?" was answered from "The lamp", with "The lamp burns/,
  );
});

test("what a command names and is not there is said with what there is", async () => {
  const { folder, flags } = await scratch();
  const tests = ["tests", "--twin", "nobody", ...flags];
  for (const command of [tests, ["keys", "--sub", "bob", ...flags], ["revoke", "--sub", "bob", ...flags]])
    assertRefusal(await runServer(command), /There is no database at .+twins\.db that has .+--url/);
  await assert.rejects(access(join(folder, "data")));
  const server = await startServer(flags);
  for (const where of [["--url", server.url], []]) {
    if (where.length === 0) await server.stop();
    const cwd = folder; // the checkout's data folder may have another database
    const refused = await runServer([...tests, ...where], {}, { cwd });
    assertRefusal(refused, /There is no twin "nobody"; the twins are: ada, echo\./);
    const keys = await runServer(["keys", "--sub", "bob", ...flags, ...where], {}, { cwd });
    assert.deepEqual(
      [keys.code, keys.stdout, keys.stderr],
      [0, "", 'twin-service: there is no key of "bob".\n'],
    );
    const revoked = await runServer(["revoke", "--sub", "bob", ...flags, ...where], {}, { cwd });
    assertRefusal(revoked, /There is no such key that is not revoked yet: one of "bob"\./);
  }
});

describe("chat", () => {
  const input = "Hello there\n\nGood bye\n";

  test("it sends the lines of its input to a twin, and shows the replies", async () => {
    const { flags, folder } = await scratch();
    const options = { input, cwd: join(folder, "twins") }; // the checkout may have another database
    const { code, stdout, stderr } = await runServer(["chat", "echo", ...flags], {}, options);
    assert.equal(stdout, "Echo: Hello!\nEcho: Hello there\nEcho: Good bye\n", stderr);
    assert.equal(stderr, "");
    assert.equal(code, 0);
  });

  test("the owner's budget is that of the server", async (t) => {
    const model = await startModelServer();
    t.after(() => model.close());
    const { flags } = await makeFolder({ "ada.md": "---\nname: Ada\n---\n" });
    const variables = { MODEL_BASE_URL: model.baseUrl, MODEL_NAME: "m", OWNER_TOKENS_PER_DAY: "1" };
    const { stdout, stderr } = await runServer(["chat", "ada", ...flags], variables, { input });
    assert.match(stdout, /^Ada: Hello!\nAda: Hello!\nAda: \(All of the owner's 1 tokens .+\)\n$/, stderr);
  });

  test("what is said controls no terminal", async () => {
    const { flags, folder } = await makeFolder({ "odd.md": "---\nname: O\u202edd\nengine: echo\n---\n" });
    const options = { input: "a\u001b[2J\u202eb\u009bc\n", cwd: join(folder, "twins") };
    const { stdout } = await runServer(["chat", "odd", ...flags], {}, options);
    assert.equal(stdout, "O\\u202edd: Hello!\nO\\u202edd: a\\u001b[2J\\u202eb\\u009bc\n");
  });

  test("it holds a conversation at a running server, with a key that it revokes", async () => {
    const { flags } = await scratch();
    const server = await startServer(flags);
    const args = ["chat", "echo", "--url", server.url, ...flags];
    const { stdout, stderr } = await runServer(args, {}, { input });
    assert.equal(stdout, "Echo: Hello!\nEcho: Hello there\nEcho: Good bye\n", stderr);
    const { stdout: token } = await runServer(["token", "--sub", "alice", ...flags]);
    const keys = await (await call(`${server.url}/api/v1/auth/api-keys`, "GET", token.trim())).json();
    assert.deepEqual(
      keys.data.map((key: { name: string; revokedAt: string | null }) => [key.name, key.revokedAt !== null]),
      [["command line", true]],
    );
    await server.stop();
  });

  test("it greets as the twin does, and names the twins instead of one that there is not", async () => {
    const { flags } = await scratch();
    const greeted = await runServer(["chat", "ada", ...flags], {}, { input: "\n" });
    assert.equal(greeted.stdout, "Ada: Hello, I am Ada.\n");
    const refused = await runServer(["chat", "ada", "--sub", "bob", ...flags], {}, { input });
    assertRefusal(refused, /There is no twin "ada"; the twins are: echo\./);
  });
});

describe("a file .env in the working folder", () => {
  test("its variables are settings, and real ones win", async () => {
    const { folder } = await scratch();
    const text =
      "# settings\nDATABASE_URL=memory:\nPORT=80000\nJWT_SECRET='a secret of the file, of 32 bytes or more'\n";
    await writeFile(join(folder, ".env"), text);
    const args = ["token", "--sub", "alice"];
    assertRefusal(await runServer(args, {}, { cwd: folder }), /PORT.+not "80000"/);
    assert.equal((await runServer(args, { PORT: "1" }, { cwd: folder })).code, 0);
  });

  test("the server says that it was read, and warns of names that are like settings", async () => {
    const { folder, flags } = await scratch();
    const names = [
      "LOG_LEVEL=info",
      "HTTP_PROXY=",
      "MODEL_BASEURL=x",
      "KEY_MAX_DASY=1",
      "jwt_issuer=x",
      "MODEL_URL=x",
    ];
    await writeFile(join(folder, ".env"), `${names.join("\n")}\n`);
    const server = await startServer(flags, {}, { cwd: folder });
    const { stderr } = await server.stop();
    const [, file, others] =
      /"the file .env was read","file":"([^"]+)","others":(\[.*?\])/.exec(stderr) ?? [];
    assert.match(String(file), /\.env$/);
    assert.deepEqual(JSON.parse(String(others)), [
      "HTTP_PROXY",
      "KEY_MAX_DASY",
      "MODEL_BASEURL",
      "MODEL_URL",
      "jwt_issuer",
    ]);
    assert.deepEqual(stderr.match(/[^"]+ in \.env is not a setting; there is [^"]+/g), [
      "KEY_MAX_DASY in .env is not a setting; there is KEY_MAX_DAYS",
      "MODEL_BASEURL in .env is not a setting; there is MODEL_BASE_URL",
      "MODEL_URL in .env is not a setting; there is MODEL_BASE_URL, MODEL_API_KEY, MODEL_NAME, MODEL_CHOICES, MODEL_EMBEDDINGS",
      "jwt_issuer in .env is not a setting; there is JWT_ISSUER",
    ]);
  });

  test("it is read as editors and shells of all systems write it", async () => {
    const { folder } = await scratch();
    const utf16 = (text: string) => Buffer.from(`\ufeff${text}`, "utf16le");
    const texts: Record<string, string | Buffer> = {
      "a byte order mark and CRLF": "\ufeffPORT=80000\r\nLOG_LEVEL=warn\r\n",
      "UTF-16 of PowerShell": utf16("PORT=80000\r\n"),
      "UTF-16, the other way": utf16("PORT=80000\n").swap16(),
      "export, blanks, quotes, a comment": "export PORT = '80000' # the port\n",
      "a line that says nothing": '# settings\nnothing\n\nPORT="80000"\n',
    };
    for (const [what, text] of Object.entries(texts)) {
      await writeFile(join(folder, ".env"), text);
      const { stderr } = await runServer(["token", "--sub", "alice"], {}, { cwd: folder });
      assert.match(stderr, /PORT.+not "80000"/, what);
    }
  });
});
