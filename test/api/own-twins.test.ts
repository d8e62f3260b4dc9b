import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { createOpenAIApi } from "../../adapters/openai-clients/mod.ts";
import { createTwinReader as createFolderReader } from "../../adapters/twin-files/mod.ts";
import { createTwinReader } from "../../adapters/twin-text/mod.ts";
import { sha256 } from "../../core/base/ids.ts";
import type { Log, LogLevel } from "../../core/base/log.ts";
import { createEchoEngine, createTwinList, type TwinEngine } from "../../core/mod.ts";
import { createMemoryStore } from "../../core/store/mod.ts";
import type { MessageResource, TwinResource } from "../../core/wire/schemas.ts";
import { createKnowledgeEngine } from "../../knowledge/mod.ts";
import { docx, paragraph } from "../documents/fixture.ts";
import { createRandom } from "../simulation/world.ts";
import { countCalls, withOutages } from "../support/chat.ts";
import { settle } from "../support/clock.ts";
import { collectGarbage, skipOffV8 } from "../support/garbage.ts";
import { createGate } from "../support/gate.ts";
import {
  assertErrorAnswer,
  closingInTime,
  dataOf,
  errorOf,
  inProcess,
  listIds,
  openFixture,
  transports,
} from "../support/harness.ts";
import { createScriptedEngine } from "../support/scripted-engine.ts";

const file = `---
name: Odd
greeting: Hello.
tests:
  - ask: When do you open?
    source: Opening hours
---

You keep the lighthouse.

## Opening hours

We open at nine.
`;

type Fields = Readonly<Record<string, unknown>>;

interface Version {
  readonly twinId: string;
  readonly version: number;
  readonly revision: string;
  readonly note: string | null;
  readonly tests: { readonly passed: number; readonly failed: readonly unknown[] } | null;
}

interface Fault {
  readonly path: string;
  readonly line: number;
  readonly message: string;
}

type Options = NonNullable<Parameters<typeof openFixture>[1]>;

/** A service whose owners make twins, with the engine that answers from their texts. */
async function open({ ownTwins, ...options }: Options = {}, transport = inProcess) {
  const fixture = await openFixture(transport, {
    ownTwins: { reader: createTwinReader(), ...ownTwins },
    engines: { knowledge: createKnowledgeEngine() },
    ...options,
  });
  const jwt = await fixture.token();
  const put = (path: string, body: string | Uint8Array, headers: Record<string, string> = {}, as = jwt) =>
    fixture.send(`/api/v1/twins/${path}`, {
      method: "PUT",
      headers: { authorization: `Bearer ${as}`, "content-type": "text/markdown", ...headers },
      body: body as BodyInit,
    });
  const get = (path: string, headers: Record<string, string> = {}) =>
    fixture.call("GET", `/twins/${path}`, jwt, undefined, headers);
  return {
    ...fixture,
    jwt,
    put,
    get,
    made: async (path: string, body: string, headers?: Record<string, string>) =>
      dataOf<Version>(await put(path, body, headers)),
    ask: async (question: string, twinId = "odd") => {
      const key = await fixture.key();
      const id = await fixture.conversation(key, twinId);
      return fixture.call("POST", `/conversations/${id}/messages`, key, { content: question });
    },
    [Symbol.asyncDispose]: () => fixture[Symbol.asyncDispose](),
  };
}

const contentOf = async (response: Response) => (await dataOf<{ content: string }>(response)).content;

for (const transport of transports) {
  describe(`twins that their owners make, ${transport.name}`, () => {
    test("a twin is made of a file, listed, and answers from it with its revision", async () => {
      await using service = await open({}, transport);
      const response = await service.put("odd/file?note=The%20first", file);
      assert.equal(response.status, 201);
      const made = await dataOf<Version>(response);
      assert.deepEqual(made.tests, { passed: 1, failed: [] });
      assert.deepEqual([made.twinId, made.version, made.note], ["odd", 1, "The first"]);
      assert.match(made.revision, /^[0-9a-f]{16}$/);
      assert.equal(response.headers.get("etag"), `"${made.revision}"`);
      const key = await service.key();
      assert.deepEqual(await listIds(service, key, "/twins"), ["echo", "odd", "private"]);
      const twin = await dataOf<TwinResource>(await service.call("GET", "/twins/odd", key));
      assert.deepEqual([twin.name, twin.greeting], ["Odd", "Hello."]);
      const { content, twinRevision } = await dataOf<{ content: string; twinRevision: string }>(
        await service.ask("When do you open?"),
      );
      assert.match(content, /We open at nine\./);
      assert.equal(twinRevision, made.revision);
    });

    test("a file comes back as it was written, byte for byte", async () => {
      await using service = await open({}, transport);
      const written =
        "\ufeff---\r\nname: Odd # the odd one\r\n---\r\n\r\n## Hours\n\nWe open at nine.\r\n\r\n";
      const { revision } = await service.made("odd/file", written);
      const response = await service.get("odd/file");
      assert.equal(response.headers.get("content-type"), "text/markdown; charset=utf-8");
      assert.equal(response.headers.get("etag"), `"${revision}"`);
      assert.deepEqual(
        Buffer.from(await response.arrayBuffer()),
        Buffer.from(new TextEncoder().encode(written)),
      );
      const known = await service.get("odd/file", { "if-none-match": `"${revision}"` });
      assert.equal(known.status, 304);
    });
  });
}

describe("twins that their owners make", () => {
  test("the same bytes make no new version, and others one that answers at once", async () => {
    await using service = await open();
    await service.made("odd/file", file);
    const again = await service.put("odd/file", file);
    assert.deepEqual([again.status, (await dataOf<Version>(again)).version], [200, 1]);
    assert.match(await contentOf(await service.ask("When do you open?")), /nine/);
    const changed = await service.put("odd/file", file.replace("nine", "ten"));
    assert.deepEqual([changed.status, (await dataOf<Version>(changed)).version], [200, 2]);
    assert.match(await contentOf(await service.ask("When do you open?")), /ten/);
  });

  test("another process answers with a new version within two seconds", async () => {
    const store = createMemoryStore();
    await using one = await open({ store });
    await using other = await open({ store });
    await one.made("odd/file", file);
    assert.match(await contentOf(await other.ask("When do you open?")), /nine/);
    await one.made("odd/file", file.replace("nine", "ten"));
    await other.clock.advance(2_000);
    assert.match(await contentOf(await other.ask("When do you open?")), /ten/);
  });

  test("all faults of the front matter are told at once, each at its line", async () => {
    await using service = await open();
    const faulty =
      "---\nid: other\nage: 7\ntemperature: hot\naccess: [bob]\nmodel: big\ntools: [orders]\n---\n";
    const { details } = await assertErrorAnswer(
      await service.put("odd/file", faulty),
      400,
      "validation_error",
    );
    const { fields } = details as { fields: { path: string; line: number; message: string }[] };
    assert.deepEqual(
      fields.map(({ path, line }) => [path, line]),
      [
        ["age", 3],
        ["temperature", 4],
        ["tools", 7],
        ["id", 2],
        ["access", 5],
        ["model", 6],
        ["name", 1],
      ],
    );
    assert.ok(fields.every(({ message }) => message.endsWith(".")));
  });

  for (const [what, text, path, line] of [
    ["no front matter", "Hello", "body", 1],
    ["invalid YAML", "---\nname: a: b\n---\n", "body", 2],
    ["thousands of keys and values", `---\nname: Odd\n${"tags: [a]\n".repeat(4_000)}---\n`, "body", 1_780],
    ["a list of thousands", `---\nname: Odd\ntags: [${"a,".repeat(8_000)}]\n---\n`, "body", 3],
    ["a code block that is not closed", "---\nname: Odd\n---\n\n# A\n\n```\nb\n", "body", 7],
    ["no name", "---\nid: odd\n---\n", "name", 1],
    ["no UTF-8", Uint8Array.of(0x2d, 0xff), "body", 1],
    ["an empty body", "", "body", 1],
  ] as const) {
    test(`a file with ${what} is refused at its line, and nothing is stored`, async () => {
      await using service = await open();
      const { details } = await assertErrorAnswer(
        await service.put("odd/file", text),
        400,
        "validation_error",
      );
      const [field] = (details as { fields: { path: string; line: number }[] }).fields;
      assert.deepEqual([field?.path, field?.line], [path, line]);
      await assertErrorAnswer(await service.get("odd/file"), 404, "twin_not_found");
    });
  }

  test("an id that no path may have is a fault at id", async () => {
    await using service = await open();
    for (const id of ["-odd", "a%20b", "x".repeat(65), "check"]) {
      const { details } = await assertErrorAnswer(
        await service.put(`${id}/file`, file),
        400,
        "validation_error",
      );
      assert.equal((details as { fields: { path: string }[] }).fields[0]?.path, "id", id);
    }
  });

  test("a file of more than 1 MiB is 413, one of other media 415", async () => {
    await using service = await open();
    const long = `${file}${"x".repeat(1024 * 1024)}`;
    await assertErrorAnswer(await service.put("odd/file", long), 413, "payload_too_large");
    const json = { "content-type": "application/json" };
    await assertErrorAnswer(await service.put("odd/file", file, json), 415, "unsupported_media_type");
    assert.equal(
      (await service.put("odd/file", file, { "content-type": "text/plain; charset=utf-8" })).status,
      201,
    );
  });

  test("a golden question that fails is told, refuses the file if it is required, or is not asked", async () => {
    await using service = await open();
    const failing = file.replace("source: Opening hours", 'says: "ten"');
    const { details, code } = await errorOf(await service.put("odd/file?tests=require", failing));
    assert.equal(code, "tests_failed");
    const failed = { question: "When do you open?", expected: 'an answer with "ten"' };
    const told = details as { passed: number; failed: { answer: string }[] };
    assert.deepEqual([told.passed, told.failed.length], [0, 1]);
    const [{ answer, ...rest } = { answer: "" }] = told.failed;
    assert.deepEqual(rest, failed);
    assert.match(answer, /nine/);
    await assertErrorAnswer(await service.get("odd/file"), 404, "twin_not_found");
    assert.equal((await service.made("odd/file?tests=skip", failing)).tests, null);
    assert.equal((await service.made("odd/file", failing)).tests?.failed.length, 1);
  });

  test("of thousands of faults the first are told, and how many are not", async () => {
    await using service = await open();
    const keys = Array.from({ length: 1_500 }, (_, index) => `k${index}:`);
    const text = `---\nname: Odd\n${"long".repeat(200)}: 1\n${keys.join("\n")}\n---\n\nHello.\n`;
    const answer = await service.send("/api/v1/twins/check", {
      method: "POST",
      headers: { authorization: `Bearer ${service.jwt}`, "content-type": "text/markdown" },
      body: text,
    });
    const { faults } = await dataOf<{ faults: readonly Fault[] }>(answer);
    const last = faults.at(-1);
    assert.match(last?.message ?? "", /^\d+ more faults, of which this line has one, are not told\.$/);
    assert.equal(Number.parseInt(last?.message ?? "", 10) + faults.length - 1, 1_501, "each is counted");
    assert.equal(last?.line, faults.length + 2, "the line of the first that is not told");
    const refused = await service.put("odd/file", text);
    const { details } = await assertErrorAnswer(refused.clone(), 400, "validation_error");
    assert.deepEqual(details?.fields, faults);
    assert.ok((await refused.text()).length < 40_000);
  });

  test("If-Match and If-None-Match refuse a change of another revision", async () => {
    await using service = await open();
    const first = await service.made("odd/file", file, { "if-none-match": "*" });
    const changed = file.replace("nine", "ten");
    await assertErrorAnswer(
      await service.put("odd/file", changed, { "if-none-match": "*" }),
      412,
      "revision_mismatch",
    );
    await assertErrorAnswer(
      await service.put("odd/file", changed, { "if-match": '"0123456789abcdef"' }),
      412,
      "revision_mismatch",
    );
    const second = await service.made("odd/file", changed, { "if-match": `"${first.revision}"` });
    assert.equal(second.version, 2);
    await assertErrorAnswer(
      await service.put("new/file", file, { "if-match": `"${first.revision}"` }),
      412,
      "revision_mismatch",
    );
    await assertErrorAnswer(
      await service.put("odd/file", file, { "if-match": "" }),
      412,
      "revision_mismatch",
    );
    assert.equal((await service.get("odd/file", { "if-none-match": "*" })).status, 304);
    const stale = { "if-match": `"${first.revision}"` };
    await assertErrorAnswer(
      await service.put("odd/file", "---\nnom: x\n---\n", stale),
      400,
      "validation_error",
    );
    const restore = (path: string) =>
      service.call("POST", `/twins/${path}/restore`, service.jwt, undefined, stale);
    await assertErrorAnswer(await restore("odd/versions/9"), 404, "version_not_found");
    await assertErrorAnswer(await restore("new/versions/1"), 404, "twin_not_found");
    await assertErrorAnswer(await service.put("new/documents/a.md", "A.", stale), 404, "twin_not_found");
    await assertErrorAnswer(await restore("odd/versions/1"), 412, "revision_mismatch");
    const remove = (revision: string) =>
      service.call("DELETE", "/twins/odd", service.jwt, undefined, { "if-match": `"${revision}"` });
    await assertErrorAnswer(await remove(first.revision), 412, "revision_mismatch");
    assert.equal((await service.get("odd/file")).status, 200);
    for (const _ of ["first", "again"]) assert.equal((await remove(second.revision)).status, 204);
  });

  test("of changes at once of one twin, each text is judged once", async () => {
    const reader = createTwinReader();
    let judged = 0;
    const counting: typeof reader = {
      ...reader,
      faultsOf: (read) => {
        judged++;
        return reader.faultsOf(read);
      },
    };
    await using service = await open({ ownTwins: { reader: counting } });
    const texts = Array.from({ length: 10 }, (_, index) => file.replace("nine", `${index}`));
    const versions = await Promise.all(texts.map((text) => service.made("odd/file?tests=skip", text)));
    assert.deepEqual(
      versions.map(({ version }) => version).sort((one, other) => one - other),
      texts.map((_, index) => index + 1),
    );
    assert.equal(judged, texts.length);
  });

  test("of editors at once who name what they have read, no line is lost", async () => {
    await using service = await open();
    await service.made("odd/file?tests=skip", file);
    const edit = async (line: string) => {
      for (;;) {
        const read = await service.get("odd/file");
        const text = `${await read.text()}\n${line}\n`;
        const answer = await service.put("odd/file?tests=skip", text, {
          "if-match": read.headers.get("etag") ?? "",
        });
        if (answer.status === 200) return;
        assert.equal(answer.status, 412);
      }
    };
    const lines = Array.from({ length: 24 }, (_, index) => `line ${index}`);
    await Promise.all(
      [0, 1, 2].map(async (editor) => {
        for (const [index, line] of lines.entries()) if (index % 3 === editor) await edit(line);
      }),
    );
    const text = await (await service.get("odd/file")).text();
    assert.deepEqual(
      text
        .split("\n")
        .filter((line) => line.startsWith("line "))
        .sort(),
      [...lines].sort(),
    );
  });

  test("versions are listed newest first, read, and restored byte for byte", async () => {
    await using service = await open();
    const first = await service.made("odd/file?note=one", file);
    await service.made("odd/file", file.replace("nine", "ten"));
    const listed = await dataOf<{ version: number; current: boolean; note: string | null }[]>(
      await service.get("odd/versions"),
    );
    assert.deepEqual(
      listed.map(({ version, current, note }) => [version, current, note]),
      [
        [2, true, null],
        [1, false, "one"],
      ],
    );
    assert.equal(await (await service.get("odd/file?version=1")).text(), file);
    await assertErrorAnswer(await service.get("odd/file?version=9"), 404, "version_not_found");
    const restored = await service.call("POST", "/twins/odd/versions/1/restore", service.jwt);
    assert.equal(restored.status, 201);
    const { version, revision } = await dataOf<Version>(restored);
    assert.deepEqual([version, revision], [3, first.revision]);
    assert.equal(await (await service.get("odd/file")).text(), file);
    await assertErrorAnswer(
      await service.call("POST", "/twins/odd/versions/9/restore", service.jwt),
      404,
      "version_not_found",
    );
  });

  test("a deleted twin answers no more, its conversations stay, and its numbers go on", async () => {
    await using service = await open();
    await service.made("odd/file", file);
    const key = await service.key();
    const id = await service.conversation(key, "odd");
    const send = () => service.call("POST", `/conversations/${id}/messages`, key, { content: "When?" });
    assert.equal((await send()).status, 200);
    for (let time = 0; time < 2; time++)
      assert.equal((await service.call("DELETE", "/twins/odd", service.jwt)).status, 204);
    await assertErrorAnswer(await send(), 404, "twin_not_found");
    assert.equal((await service.call("GET", `/conversations/${id}/messages`, key)).status, 200);
    await assertErrorAnswer(await service.get("odd/versions"), 404, "twin_not_found");
    assert.equal((await service.made("odd/file", file)).version, 2);
  });

  test("a twin is its owner's alone", async () => {
    await using service = await open();
    await service.made("odd/file", file);
    const bob = await service.key("full_access", "bob");
    await assertErrorAnswer(await service.call("GET", "/twins/odd", bob), 404, "twin_not_found");
    assert.deepEqual(await listIds(service, bob, "/twins"), ["echo"]);
    const read = await service.call("GET", "/twins/odd/file", await service.token("bob"));
    await assertErrorAnswer(read, 404, "twin_not_found");
    assert.equal((await service.put("odd/file", file, {}, await service.token("bob"))).status, 201);
  });

  test("an operator's twin wins: writes are 409, reads 404, and one that comes later hides the owner's", async () => {
    const store = createMemoryStore();
    const lines: [LogLevel, string, Fields | undefined][] = [];
    await using service = await open({
      store,
      log: (level, message, fields) => void lines.push([level, message, fields]),
    });
    await assertErrorAnswer(await service.put("echo/file", file), 409, "twin_exists");
    await assertErrorAnswer(await service.call("DELETE", "/twins/echo", service.jwt), 409, "twin_exists");
    await assertErrorAnswer(await service.get("echo/file"), 404, "twin_not_found");
    await assertErrorAnswer(await service.get("echo/versions"), 404, "twin_not_found");
    await store.addTwinContent("alice", sha256("x"), 0, new TextEncoder().encode("x"), 0);
    const part = {
      path: "",
      digest: sha256("x"),
      bytes: 1,
      textDigest: sha256("x"),
      textBytes: 1,
      updatedAt: 0,
    };
    const own = {
      owner: "alice",
      id: "echo",
      name: "Mine",
      description: null,
      avatarUrl: null,
      greeting: null,
    };
    await store.putTwinVersion({
      twin: { ...own, tags: [], handover: false, version: 1, revision: "0", createdAt: 0, updatedAt: 0 },
      replaces: null,
      note: null,
      changes: new Map([["", part]]),
      textBytes: 1,
      maxTwins: 9,
      maxTextBytes: 9,
    });
    const key = await service.key();
    const twin = await dataOf<TwinResource>(await service.call("GET", "/twins/echo", key));
    assert.equal(twin.name, "Echo");
    assert.deepEqual(await listIds(service, key, "/twins"), ["echo", "private"]);
    assert.equal(
      lines.filter(([, message]) => message === "a twin of the operator hides one that its owner made")
        .length,
      1,
    );
  });

  test("an owner deletes a twin that an operator's hides, as it counts for how many there may be", async () => {
    const store = createMemoryStore();
    const operators = createTwinList([{ id: "odd", name: "Operator's", engine: "knowledge" }]);
    await using before = await open({ store, ownTwins: { maxTwins: 1 } });
    await before.made("odd/file", file);
    await using service = await open({ store, twins: operators, ownTwins: { maxTwins: 1 } });
    await assertErrorAnswer(await service.put("even/file", file), 409, "twin_limit_reached");
    assert.equal((await service.call("DELETE", "/twins/odd", service.jwt)).status, 204);
    await service.made("even/file", file);
    const key = await service.key();
    assert.deepEqual(await listIds(service, key, "/twins"), ["even", "odd"]);
    await assertErrorAnswer(await service.call("DELETE", "/twins/odd", service.jwt), 409, "twin_exists");
  });

  test("an owner has so many twins; with 0, the endpoints are not there", async () => {
    await using service = await open({ ownTwins: { maxTwins: 1 } });
    await service.made("odd/file", file);
    await assertErrorAnswer(await service.put("even/file", file), 409, "twin_limit_reached");
    await using none = await open({ ownTwins: { maxTwins: 0 } });
    for (const [method, path] of [
      ["PUT", "/twins/odd/file"],
      ["GET", "/twins/odd/file"],
      ["GET", "/twins/odd/versions"],
      ["POST", "/twins/odd/versions/1/restore"],
      ["DELETE", "/twins/odd"],
      ["GET", "/twins/odd/documents"],
      ["PUT", "/twins/odd/documents/a.md"],
      ["POST", "/twins/check"],
      ["POST", "/twins/odd/answers"],
    ] as const)
      await assertErrorAnswer(
        await none.service.fetch(
          new Request(`http://twins.test/api/v1${path}`, {
            method,
            headers: { authorization: `Bearer ${none.jwt}` },
          }),
        ),
        404,
        "not_found",
        `${method} ${path}`,
      );
    const allowed = async (path: string, { service: { fetch } } = none) =>
      (await fetch(new Request(`http://twins.test/api/v1${path}`, { method: "OPTIONS" }))).headers.get(
        "allow",
      );
    assert.equal(await allowed("/twins/odd"), "GET, HEAD, OPTIONS");
    assert.equal(await allowed("/twins/check"), "OPTIONS");
    assert.equal(await allowed("/twins/odd", service), "DELETE, GET, HEAD, OPTIONS");
    const refused = await none.service.fetch(
      new Request("http://twins.test/api/v1/twins/odd", { method: "PATCH" }),
    );
    assert.deepEqual([refused.status, refused.headers.get("allow")], [405, "GET, HEAD, OPTIONS"]);
  });

  test("a running reply ends with the version that it began with", async () => {
    const [begun, gate] = [createGate(), createGate()];
    const slow: TwinEngine = {
      async reply({ twin }, output) {
        begun.open();
        await gate.opened;
        output.write(twin.instructions);
        return { finishReason: "stop", usage: null };
      },
    };
    await using service = await open({ engines: { knowledge: slow } });
    const first = await service.made("odd/file?tests=skip", file);
    const reply = service.ask("When do you open?");
    await begun.opened;
    const second = await service.made("odd/file?tests=skip", file.replace("nine", "ten"));
    gate.open();
    const { content, twinRevision } = await dataOf<{ content: string; twinRevision: string }>(await reply);
    assert.match(content, /nine/);
    assert.equal(twinRevision, first.revision);
    const next = await dataOf<{ twinRevision: string }>(await service.ask("When do you open?"));
    assert.equal(next.twinRevision, second.revision);
  });

  const operators = createTwinList([{ id: "odd", name: "Operator's", engine: "knowledge" }]);
  for (const [what, change, isGoneOnWith, twins = createTwinList([])] of [
    ["the version that it began with", "PUT", true],
    ["no other one, where that is not kept", "DELETE", false],
    ["the version that it began with, where an operator's twin hides it now", "none", true, operators],
  ] as const) {
    test(`a reply whose process dies is gone on with by ${what}`, async () => {
      const store = { ...createMemoryStore(), exclusive: false };
      const engine = Object.assign(createScriptedEngine(), { continues: "partial" as const });
      let isCutOff = false;
      const far = withOutages(store, () => isCutOff);
      await using one = closingInTime(await open({ store: far, engines: { knowledge: engine } }));
      await using other = closingInTime(await open({ store, twins, engines: { knowledge: engine } }));
      await other.service.ready();
      const first = await one.made("odd/file", file);
      const key = await one.key();
      const conversation = await one.conversation(key, "odd");
      const path = `/conversations/${conversation}/messages`;
      const answer = await one.call("POST", path, key, { content: "When?" }, { prefer: "respond-async" });
      const { id } = await dataOf<{ id: string }>(answer);
      (await engine.next()).write("At");
      await one.clock.advance(1_000);
      isCutOff = true;
      if (change === "DELETE") await other.call("DELETE", "/twins/odd", other.jwt);
      if (change !== "none") await other.made("odd/file", file.replace("nine", "ten"));
      await other.clock.advance(35_000);
      if (isGoneOnWith) {
        const { turn, ...run } = await engine.next();
        assert.match(turn.twin.instructions, /at nine/);
        run.write(" nine.");
        run.finish();
        await other.clock.advance(1_000);
      }
      const reply = await dataOf<MessageResource>(await other.call("GET", `${path}/${id}`, key));
      assert.deepEqual(
        [reply.content, reply.error?.code, reply.twinRevision],
        isGoneOnWith ? ["At nine.", undefined, first.revision] : ["At", "interrupted", first.revision],
      );
      assert.equal(engine.asked, isGoneOnWith ? 2 : 1);
      isCutOff = false;
    });
  }

  for (const [what, method, path, body] of [
    ["a conversation begins with it", "POST", "/conversations", { twinId: "odd" }],
    ["its file is read", "GET", "/twins/odd/file"],
    ["a document of it is read", "GET", "/twins/odd/documents/prices.md"],
    ["a document is taken from it", "DELETE", "/twins/odd/documents/prices.md"],
    ["it is taught", "POST", "/twins/odd/answers", { question: "Why?", answer: "So." }],
  ] as const) {
    test(`a twin that is deleted while ${what} is not found`, async () => {
      const store = createMemoryStore();
      let isDue = false;
      const { readTwinContent } = store;
      store.readTwinContent = async (owner, ...of) => {
        if (isDue) await store.deleteOwnTwin(owner, "odd", 2, 0);
        return readTwinContent(owner, ...of);
      };
      await using service = await open({ store });
      await service.made("odd/file", file);
      await service.made("odd/documents/prices.md", "# Prices\n\nNothing.\n");
      const key = await service.key();
      await service.clock.advance(5_000); // the process does not go by what it knows
      isDue = true;
      const credential = path === "/conversations" ? key : service.jwt;
      await assertErrorAnswer(await service.call(method, path, credential, body), 404, "twin_not_found");
    });
  }

  test("of editors at random, on two processes, no line is lost, and each version is whole", async () => {
    for (const seed of [1, 2, 3, 4, 5]) {
      const random = createRandom(seed);
      const store = createMemoryStore();
      await using one = await open({ store });
      await using other = await open({ store });
      await one.made("odd/file?tests=skip", file);
      const added: string[] = [];
      const edit = async (editor: number) => {
        for (let line = 0; line < 8; line++) {
          const service = random.pick([one, other]);
          const words = `line ${editor}.${line}`;
          for (;;) {
            const read = await service.get("odd/file");
            const lines = (await read.text()).split("\n");
            for (let turns = random.between(0, 3); turns > 0; turns--) await Promise.resolve();
            lines.splice(random.between(12, lines.length - 1), 0, words);
            const answer = await service.put("odd/file?tests=skip", lines.join("\n"), {
              "if-match": read.headers.get("etag") ?? "",
            });
            if (answer.status === 200) break;
            assert.equal(answer.status, 412);
          }
          added.push(words);
        }
      };
      await Promise.all([0, 1, 2].map(edit));
      const { length } = (await dataOf<unknown[]>(await one.get("odd/versions?limit=100"))) as unknown[];
      assert.equal(length, 25, `seed ${seed}`);
      const text = await (await one.get("odd/file")).text();
      const found = text.split("\n").filter((line) => line.startsWith("line "));
      assert.deepEqual(found.sort(), added.sort(), `seed ${seed}`);
    }
  });

  test("an API key is refused", async () => {
    await using service = await open();
    await assertErrorAnswer(
      await service.put("odd/file", file, {}, await service.key()),
      401,
      "invalid_token",
    );
    await assertErrorAnswer(
      await service.call("GET", "/twins/odd/file", await service.key()),
      401,
      "invalid_token",
    );
  });

  test("a host's user manages twins if the host says so", async () => {
    await using service = await open({
      verifyToken: undefined,
      authenticate: ({ headers }) => {
        const owner = headers.get("x-user");
        return owner === null ? null : { owner, manages: owner === "alice" };
      },
    });
    const putAs = (user: Record<string, string>) =>
      service.service.fetch(
        new Request("http://twins.test/api/v1/twins/odd/file", {
          method: "PUT",
          headers: { "content-type": "text/markdown", ...user },
          body: file,
        }),
      );
    assert.equal((await putAs({ "x-user": "alice" })).status, 201);
    await assertErrorAnswer(await putAs({ "x-user": "bob" }), 403, "insufficient_scope");
    await assertErrorAnswer(await putAs({}), 401, "missing_credentials");
    const foreign = { "x-user": "alice", "sec-fetch-site": "cross-site" };
    await assertErrorAnswer(await putAs(foreign), 403, "cross_site_request");
  });

  test("each change has a line in the audit log with owner, twin and version", async () => {
    const lines: (Fields | undefined)[] = [];
    await using service = await open({
      log: (_, message, fields) => void (message === "audit" && lines.push(fields)),
    });
    await service.made("odd/file", file);
    await service.call("PUT", "/twins/odd/documents/a.md", service.jwt, "# A\n\nb\n", {
      "content-type": "text/markdown",
    });
    await service.call("POST", "/twins/odd/versions/1/restore", service.jwt);
    await service.call("DELETE", "/twins/odd", service.jwt);
    assert.deepEqual(
      lines.map((fields) => [fields?.action, fields?.object, fields?.owner, fields?.version, fields?.result]),
      [
        ["change_twin", "odd", "alice", 1, "done"],
        ["change_twin", "odd", "alice", 2, "done"],
        ["restore_twin", "odd", "alice", 3, "done"],
        ["delete_twin", "odd", "alice", 3, "done"],
      ],
    );
  });

  test("a budget of tokens is for the twin of one owner, not for another's with its id", async () => {
    const usage = { inputTokens: 40, outputTokens: 20, totalTokens: 60 };
    const model: TwinEngine = {
      async reply(_turn, output) {
        output.write("Hi.");
        return { finishReason: "stop", usage };
      },
    };
    await using service = await open({ engines: { knowledge: model } });
    const status = async (key: string) => {
      const id = await service.conversation(key, "odd");
      return (await service.call("POST", `/conversations/${id}/messages`, key, { content: "Hello?" })).status;
    };
    const limited = file.replace("name: Odd", "name: Odd\ntokensPerDay: 50");
    for (const owner of ["alice", "bob"]) {
      await service.put("odd/file?tests=skip", limited, {}, await service.token(owner));
      const key = await service.key("full_access", owner);
      assert.deepEqual([await status(key), await status(key)], [200, 429], owner);
    }
  });

  test("a file is checked without being stored", async () => {
    await using service = await open();
    const check = async (body: string, query = "") => {
      const response = await service.send(`/api/v1/twins/check${query}`, {
        method: "POST",
        headers: { authorization: `Bearer ${service.jwt}`, "content-type": "text/markdown" },
        body,
      });
      return dataOf<{ faults: unknown[]; tests: unknown }>(response);
    };
    assert.deepEqual(await check(file), { faults: [], tests: { passed: 1, failed: [] } });
    assert.deepEqual(await check(file, "?tests=skip"), { faults: [], tests: null });
    assert.deepEqual(await check("---\n---\n"), {
      faults: [{ path: "name", line: 1, message: "name is missing." }],
      tests: null,
    });
    assert.deepEqual(await listIds(service, await service.key(), "/twins"), ["echo", "private"]);
  });

  test("lists of many twins are pages of one list, the operator's among the owner's", async () => {
    await using service = await open({ ownTwins: { maxTwins: 100 } });
    const ids = Array.from({ length: 25 }, (_, index) => `t${String(index).padStart(2, "0")}`);
    for (const id of ids) await service.made(`${id}/file?tests=skip`, file.replace("Odd", `${id} Q`));
    const key = await service.key();
    const all = ["echo", "private", ...ids].sort((one, other) => (nameOf(one) < nameOf(other) ? -1 : 1));
    for (let page = 1; page <= 9; page++) {
      const listed = await listIds(service, key, `/twins?limit=3&page=${page}`);
      assert.deepEqual(listed, all.slice((page - 1) * 3, page * 3), `page ${page}`);
    }
  });

  test("a document is put, listed, read, answered from and deleted", async () => {
    await using service = await open();
    await service.made("odd/file", file);
    const prices = "# Prices\n\nA coffee is three euros.\n";
    const put = await service.put("odd/documents/shop%2Fprices.md", prices);
    assert.equal(put.status, 201);
    const { version, revision } = await dataOf<Version>(put);
    assert.equal(version, 2);
    const listed = await dataOf<{ path: string; bytes: number }[]>(await service.get("odd/documents"));
    assert.deepEqual(
      listed.map(({ path, bytes }) => [path, bytes]),
      [["shop/prices.md", prices.length]],
    );
    const read = await service.get("odd/documents/shop%2Fprices.md");
    assert.equal(await read.text(), prices);
    assert.equal(read.headers.get("content-disposition"), "attachment");
    const reply = await dataOf<{ content: string; twinRevision: string }>(
      await service.ask("What does a coffee cost? Prices"),
    );
    assert.match(reply.content, /three euros/);
    assert.equal(reply.twinRevision, revision);
    assert.equal((await service.put("odd/documents/shop%2Fprices.md", prices)).status, 200);
    for (let time = 0; time < 2; time++) {
      const gone = await service.call("DELETE", "/twins/odd/documents/shop%2Fprices.md", service.jwt);
      assert.equal(gone.status, 204);
    }
    await assertErrorAnswer(await service.get("odd/documents/shop%2Fprices.md"), 404, "document_not_found");
    assert.deepEqual(await dataOf(await service.get("odd/documents")), []);
  });

  for (const [what, path, body] of [
    ["the twin's file", "twin.md", "x"],
    ["a way out of the folder", "..%2Fsecret.md", "x"],
    ["a name with a dot first", "a%2F.hidden.md", "x"],
    ["an empty name", "a%2F%2Fb.md", "x"],
    ["an ending that is not read", "a.exe", "x"],
    ["bytes that are no text", "a.md", Uint8Array.of(0xff, 0xfe, 0x00)],
    ["what is no PDF", "a.pdf", "x"],
  ] as const) {
    test(`a document with ${what} is refused with the reason`, async () => {
      await using service = await open();
      await service.made("odd/file", file);
      const answer = await service.put(`odd/documents/${path}`, body);
      const { details } = await assertErrorAnswer(answer, 400, "validation_error");
      const [field] = (details as { fields: { message: string }[] }).fields;
      assert.ok((field?.message ?? "").length > 10);
    });
  }

  test("a document belongs to a twin, and all of them are 20 MiB at most", async () => {
    await using service = await open();
    await assertErrorAnswer(await service.put("odd/documents/a.md", "x"), 404, "twin_not_found");
    await service.made("odd/file", file);
    const half = new Uint8Array(11 * 1024 * 1024).fill(0x61);
    assert.equal((await service.put("odd/documents/a.txt", half)).status, 201);
    await assertErrorAnswer(await service.put("odd/documents/b.txt", half), 413, "payload_too_large");
    const long = new Uint8Array(20 * 1024 * 1024 + 1);
    await assertErrorAnswer(await service.put("odd/documents/a.txt", long), 413, "payload_too_large");
  });

  test("a twin that was changed or deleted is let go", { skip: skipOffV8 }, async () => {
    const answered: WeakRef<object>[] = [];
    const knowledge: TwinEngine = {
      continues: "exact",
      asksModel: false,
      async reply({ twin }, output) {
        answered.push(new WeakRef(twin));
        output.write("Yes.");
        return { finishReason: "stop", usage: null };
      },
    };
    await using service = await open({ engines: { knowledge } });
    const kept = async () => {
      await collectGarbage();
      return answered.map((twin) => twin.deref() !== undefined);
    };
    await service.put("odd/file?tests=skip", file);
    await service.ask("Are you there?");
    assert.deepEqual(await kept(), [true]);
    await service.put("odd/file?tests=skip", file.replace("nine", "ten"));
    await service.ask("Are you there?");
    assert.deepEqual(await kept(), [false, true]);
    assert.equal((await service.call("DELETE", "/twins/odd", service.jwt)).status, 204);
    assert.deepEqual(await kept(), [false, false]);
  });

  test("a document is decoded and encoded 1 MiB at a time, with others in between", async (t) => {
    await using service = await open();
    await service.made("odd/file", file);
    const document = `\ufeff${`a${"😀漢".repeat(20)}\n`.repeat(100_000)}`;
    const bytes = new TextEncoder().encode(document);
    const parts: number[] = [];
    const [encode, decode] = [TextEncoder.prototype.encode, TextDecoder.prototype.decode];
    t.mock.method(TextEncoder.prototype, "encode", function (this: TextEncoder, text = "") {
      parts.push(text.length);
      return encode.call(this, text);
    });
    t.mock.method(
      TextDecoder.prototype,
      "decode",
      function (this: TextDecoder, ...given: Parameters<typeof decode>) {
        parts.push(given[0]?.byteLength ?? 0);
        return decode.apply(this, given);
      },
    );
    assert.equal((await service.put("odd/documents/a.txt", bytes)).status, 201);
    t.mock.restoreAll();
    assert.ok(parts.length > 26, `${parts.length} parts`); // 14 MB are decoded, and encoded without their mark
    assert.ok(Math.max(...parts) <= 1024 * 1024, `${Math.max(...parts)} at once`);
    const kept = await (await service.get("odd/documents/a.txt")).arrayBuffer();
    assert.ok(Buffer.from(kept).equals(bytes));
  });

  for (const [ownTwins, lines] of [
    [{}, 200_000],
    [{ mostBytes: 1_048_576 }, 800],
  ] as const) {
    test(`twins are kept as long as what their ${lines} lines may take has room`, async () => {
      const store = createMemoryStore();
      const { readTwinContent } = store;
      const read: string[] = [];
      store.readTwinContent = (...given) => {
        read.push(given[1]);
        return readTwinContent(...given);
      };
      await using service = await open({ store, ownTwins, engines: { knowledge: createEchoEngine() } });
      for (const id of ["one", "two", "three"])
        await service.made(`${id}/file`, `---\nname: Odd\n---\n\n${id}\n${"a\n".repeat(lines)}`);
      const isReadFor = async (id: string) => {
        read.length = 0;
        assert.equal((await service.ask("Hello?", id)).status, 200);
        return read.length > 0;
      };
      assert.deepEqual([await isReadFor("one"), await isReadFor("two")], [true, true]);
      assert.deepEqual([await isReadFor("one"), await isReadFor("three")], [false, true]); // no room for three: two goes
      assert.deepEqual([await isReadFor("one"), await isReadFor("two")], [false, true]);
    });
  }

  test("while replies use a twin that fills what twins may take, those of others are 503, stored or not", async () => {
    await using service = closingInTime(
      await open({
        ownTwins: { mostBytes: 1_048_576 },
        engines: { knowledge: createScriptedEngine() },
        openaiApi: createOpenAIApi(),
      }),
    );
    for (const id of ["one", "two"])
      await service.made(`${id}/file`, `---\nname: Odd\n---\n\n${"a\n".repeat(1_300)}`);
    const key = await service.key();
    const begin = async (twinId: string) => {
      const path = `/conversations/${await service.conversation(key, twinId)}/messages`;
      const answer = await service.call(
        "POST",
        path,
        key,
        { content: "Hello?" },
        { prefer: "respond-async" },
      );
      return { answer, path };
    };
    const begun = [await begin("one"), await begin("one")];
    assert.deepEqual([begun[0]?.answer.status, begun[1]?.answer.status], [202, 202]);
    await assertErrorAnswer((await begin("two")).answer, 503, "unavailable");
    const unstored = await service.service.fetch(
      new Request("http://twins.test/v1/chat/completions", {
        method: "POST",
        headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
        body: JSON.stringify({ model: "two", messages: [{ role: "user", content: "Hello?" }] }),
      }),
    );
    assert.equal(unstored.status, 503);
    for (const { answer, path } of begun) {
      const { id } = await dataOf<{ id: string }>(answer);
      assert.equal((await service.call("POST", `${path}/${id}/cancel`, key)).status, 200);
    }
    assert.equal((await begin("two")).answer.status, 202);
  });

  test("a question left unanswered is answered once it is taught, and all other bytes stay", async () => {
    await using service = await open();
    await service.made("odd/file", file);
    const taught = { question: "Do you take dogs?", answer: "Dogs are welcome on a lead." };
    const answer = await service.call("POST", "/twins/odd/answers", service.jwt, taught);
    assert.equal(answer.status, 201);
    assert.deepEqual((await dataOf<Version>(answer)).tests, { passed: 2, failed: [] });
    assert.match(await contentOf(await service.ask("Do you take dogs?")), /Dogs are welcome/);
    assert.equal(
      await (await service.get("odd/file")).text(),
      file
        .replace(
          "    source: Opening hours\n",
          '    source: Opening hours\n  - ask: "Do you take dogs?"\n    source: "Do you take dogs?"\n',
        )
        .concat(
          "\n## Do you take dogs?\n\n<!-- asked as: Do you take dogs? -->\n\nDogs are welcome on a lead.\n",
        ),
    );
  });

  test("a file is tried before it is stored, with the documents of the twin that it is for", async () => {
    await using service = await open();
    await service.made("odd/file", file);
    await service.put("odd/documents/prices.md", "# Prices\n\nA coffee is three euros.\n");
    const check = async (query: string, body = file) =>
      service.send(`/api/v1/twins/check?${query}`, {
        method: "POST",
        headers: { authorization: `Bearer ${service.jwt}`, "content-type": "text/markdown" },
        body,
      });
    const tried = async (query: string, body?: string) =>
      dataOf<{ faults: unknown[]; tests: unknown; answer?: string | null }>(await check(query, body));
    const question = encodeURIComponent("When do you open?");
    const changed = file.replace("nine", "ten");
    assert.match((await tried(`ask=${question}`, changed)).answer ?? "", /We open at ten/);
    const asked = await tried(`id=odd&ask=${encodeURIComponent("Prices of a coffee?")}&tests=skip`);
    assert.match(asked.answer ?? "", /three euros/);
    assert.equal(asked.tests, null);
    assert.doesNotMatch(
      (await tried(`ask=${encodeURIComponent("Prices of a coffee?")}`)).answer ?? "",
      /three/,
    );
    const fromDocument = file
      .replace("source: Opening hours", "says: three")
      .replace("When do you open?", "Prices of a coffee?");
    assert.deepEqual((await tried("id=odd", fromDocument)).tests, { passed: 1, failed: [] });
    assert.ok(!("answer" in (await tried("id=odd"))));
    assert.equal((await dataOf<unknown[]>(await service.get("odd/versions"))).length, 2);
    assert.match(await (await service.get("odd/file")).text(), /nine/);
    await assertErrorAnswer(await check("id=echo"), 409, "twin_exists");
    const other = await tried("id=odd", file.replace("name: Odd", "name: Odd\nid: even"));
    assert.deepEqual(
      (other.faults as { path: string }[]).map(({ path }) => path),
      ["id"],
    );
  });

  test("those that an owner has made are listed without the operator's", async () => {
    await using service = await open();
    await service.made("odd/file", file);
    await service.made("even/file", file.replace("name: Odd", "name: Even"));
    const key = await service.key();
    assert.deepEqual(await listIds(service, key, "/twins?own=true"), ["even", "odd"]);
    assert.deepEqual(await listIds(service, await service.key("full_access", "bob"), "/twins?own=true"), []);
    await using none = await open({ ownTwins: { maxTwins: 0 } });
    assert.deepEqual(await listIds(none, await none.key(), "/twins?own=true"), []);
  });

  for (const [path, taught] of [
    ["question", { question: "What --> then?", answer: "x" }],
    ["question", { question: "One\nTwo", answer: "x" }],
    ["heading", { question: "What?", answer: "x", heading: "A\r\nB" }],
    ["heading", { question: "What?", answer: "x", heading: "-->" }],
    ["heading", { question: "What?", answer: "x", heading: "Persona" }],
    ["answer", { question: "What?", answer: "## Foo\n\nbar" }],
    ["answer", { question: "What?", answer: "Foo\n===\n\nbar" }],
    ["answer", { question: "What?", answer: "<!-- later -->" }],
  ] as const) {
    test(`what ${JSON.stringify(taught)} cannot be held by is refused at ${path}`, async () => {
      await using service = await open();
      await service.made("odd/file", file);
      const answer = await service.call("POST", "/twins/odd/answers", service.jwt, taught);
      const { details } = await assertErrorAnswer(answer, 400, "validation_error");
      assert.equal((details as { fields: { path: string }[] }).fields[0]?.path, path);
    });
  }
});

const nameOf = (id: string) => (id === "echo" ? "Echo" : id === "private" ? "Private" : `${id} Q`);

test("with the reader of folders, documents may be Word's", async () => {
  await using service = await open({ ownTwins: { reader: createFolderReader() } });
  await service.made("odd/file", file);
  const document = docx(paragraph("The lamp of the lighthouse weighs nine tons."));
  assert.equal((await service.put("odd/documents/lamp.docx", document)).status, 201);
  assert.match(
    await contentOf(await service.ask("What does the lamp of the lighthouse weigh?")),
    /nine tons/,
  );
});

/** What others wrote for readers and for agents: READMEs of the packages here, and skills, where they are installed. */
async function foreignTexts(): Promise<{ readonly path: string; readonly text: string }[]> {
  const found: { readonly path: string; readonly text: string }[] = [];
  for (const [folder, names] of [
    ["node_modules", /^readme\.md$/i],
    ["test/openapi/node_modules/@redocly/cli/lib", /^(AGENTS|SKILL)\.md$/],
    ["test/browser/node_modules/playwright-core/lib/tools/skills", /^SKILL\.md$/],
  ] as const) {
    const root = fileURLToPath(new URL(`../../${folder}/`, import.meta.url));
    const files = await readdir(root, { recursive: true }).catch(() => []);
    const named = files.filter(
      (path) => names.test(basename(path)) && path.split("node_modules").length === 1,
    );
    for (const path of named.sort().slice(0, 20))
      found.push({ path: `${folder}/${path}`, text: await readFile(join(root, path), "utf8") });
  }
  return found;
}

test("texts that others wrote come back byte for byte, as twins and as their documents", async () => {
  await using service = await open({ ownTwins: { maxTwins: 200 } });
  const texts = await foreignTexts();
  assert.ok(texts.length >= 20, `${texts.length}`);
  let kept = 0;
  for (const [index, { path, text }] of texts.entries()) {
    // A skill has a name in front matter of its own.
    const file = text.startsWith("---") ? text : `---\nname: Foreign ${index}\n---\n${text}`;
    const put = await service.put(`foreign-${index}/file`, file);
    if (put.status === 400) {
      const { fields } = (await errorOf(put)).details as { fields: readonly { line: number }[] };
      assert.ok(fields.length > 0 && fields.every(({ line }) => line >= 1), path);
      continue; // a skill has keys that a twin has not
    }
    assert.equal(put.status, 201, path);
    assert.equal(await (await service.get(`foreign-${index}/file`)).text(), file, path);
    const document = await service.put(`foreign-${index}/documents/readme.md`, text);
    assert.equal(document.status, 201, path);
    assert.equal(await (await service.get(`foreign-${index}/documents/readme.md`)).text(), text, path);
    kept++;
  }
  assert.ok(kept >= 20, `${kept} of ${texts.length}`);
});

test("a twin that has no room in its owner's memory is 503 for now, and no fault in the log", async () => {
  const errors: string[] = [];
  const log: Log = (level, message) => void (level === "error" && errors.push(message));
  const store = createMemoryStore();
  const { getTwinVersion } = store;
  await using service = await open({ store, log });
  await service.made("odd/file", file);
  await using other = await open({ store, log }); // as another process, which has not read the twin
  store.getTwinVersion = async (...given) => {
    const found = await getTwinVersion(...given);
    return (
      found && { ...found, parts: found.parts.map((part) => ({ ...part, textBytes: 33 * 1024 * 1024 })) }
    );
  };
  const begun = await other.call("POST", "/conversations", await other.key(), { twinId: "odd" });
  await assertErrorAnswer(begun, 503, "unavailable"); // 66 MiB, of 64
  assert.deepEqual(errors, []);
});

for (const transport of transports) {
  test(`documents that nobody reads count as answers do, ${transport.name}`, {
    timeout: 60_000,
  }, async () => {
    await using service = await open({}, transport);
    const { put, jwt, url } = service;
    await put("ada/file", "---\nname: Ada\n---\n# A\n\nb");
    await put("ada/documents/long.txt", "word ".repeat(4_000_000), { "content-type": "text/plain" });
    // As it is: a fixture reads each answer.
    const long = () => {
      const init = { headers: { authorization: `Bearer ${jwt}` } };
      const path = "/api/v1/twins/ada/documents/long.txt";
      return url
        ? fetch(url + path, init)
        : service.service.fetch(new Request(`http://twins.test${path}`, init));
    };
    const unread = [await long(), await long(), await long()];
    assert.deepEqual(
      unread.map(({ status }) => status),
      [200, 200, 200],
    );
    await assertErrorAnswer(await long(), 503, "unavailable");
    await unread[0]?.body?.cancel();
    let next = await long();
    while (next.status === 503) {
      await next.body?.cancel(); // the server has not heard yet that its client has left
      await settle();
      next = await long();
    }
    assert.equal((await next.text()).length, 20_000_000);
    for (const answer of unread.slice(1)) await answer.body?.cancel();
  });
}

test("what cannot be a twin's id is not looked for in the store: databases refuse some texts", async () => {
  const { store, calls } = countCalls(createMemoryStore());
  await using service = await open({ store, openaiApi: createOpenAIApi() });
  const authorization = `Bearer ${await service.key()}`;
  for (const model of ["a\0", "a b", "check", "x".repeat(65), "no-twin"]) {
    const request = new Request("http://twins.test/v1/chat/completions", {
      method: "POST",
      headers: { authorization, "content-type": "application/json" },
      body: JSON.stringify({ model, messages: [{ role: "user", content: "Hello?" }] }),
    });
    assert.equal((await service.service.fetch(request)).status, 404, model);
  }
  assert.equal(calls.get("getOwnTwin"), 1, "the last one");
});
