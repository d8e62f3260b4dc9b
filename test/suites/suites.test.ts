/**
 * Suites of others: what JSON is, strings that break programs, how event streams may be written.
 */

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, before, describe, test } from "node:test";
import { TwinClient } from "../../client/mod.ts";
import type { ConversationResource } from "../../core/wire/schemas.ts";
import { dataOf, errorOf, type Fixture, inProcess, openFixture } from "../support/harness.ts";

async function read<Suite>(name: string): Promise<Suite> {
  return JSON.parse(await readFile(new URL(name, import.meta.url), "utf8"));
}

const { files } = await read<{ files: Record<string, string> }>("json-test-suite.json");
const utf8 = await read<Record<"valid" | "invalid", Record<string, string>>>("utf8tests.json");
const { strings } = await read<{ strings: string[] }>("naughty-strings.json");

/** Those of the suite that are too long to keep. */
const long = {
  "n_structure_100000_opening_arrays.json": "[".repeat(100_000),
  "n_structure_open_array_object.json": '[{"":'.repeat(50_000),
};

describe("suites of others", () => {
  let fixture: Fixture;
  let key: string;
  before(async () => {
    const requestsPerHour = { read_only: 1_000_000, full_access: 1_000_000 };
    fixture = await openFixture(inProcess, { requestsPerHour });
    key = await fixture.key();
  });
  after(() => fixture[Symbol.asyncDispose]());

  /** The error that a body gets. */
  async function codeOf(body: Uint8Array<ArrayBuffer>): Promise<string | undefined> {
    const headers = { Authorization: `Bearer ${key}`, "Content-Type": "application/json" };
    const response = await fixture.send("/api/v1/conversations", { method: "POST", headers, body });
    assert.ok(response.status < 500);
    return (await response.json()).error?.code;
  }

  test("JSONTestSuite: what is no JSON is invalid_json, what is JSON is not, and the rest is some answer", async () => {
    const bodies = Object.entries(files).map(([name, text]) => [name, Buffer.from(text, "base64")] as const);
    const more = Object.entries(long).map(([name, text]) => [name, Buffer.from(text)] as const);
    const wrong: string[] = [];
    const counts = { y: 0, n: 0, i: 0 };
    for (const [name, bytes] of [...bodies, ...more]) {
      const code = await codeOf(Uint8Array.from(bytes));
      const kind = name.startsWith("y_") ? "y" : name.startsWith("n_") ? "n" : "i";
      counts[kind]++;
      if (kind !== "i" && (code === "invalid_json") !== (kind === "n")) wrong.push(`${name}: ${code}`);
    }
    assert.deepEqual(wrong, []);
    assert.deepEqual(counts, { y: 95, n: 188, i: 35 });
  });

  test("utf8tests: a body that is no UTF-8 is invalid_json, and what is UTF-8 comes back as it was", async () => {
    const headers = { Authorization: `Bearer ${key}`, "Content-Type": "application/json" };
    const send = (hex: string) => {
      const start = Buffer.from('{"twinId": "echo", "title": "a');
      const body = Uint8Array.from(Buffer.concat([start, Buffer.from(hex, "hex"), Buffer.from('"}')]));
      return fixture.send("/api/v1/conversations", { method: "POST", headers, body });
    };
    for (const [number, hex] of Object.entries(utf8.invalid)) {
      assert.equal((await errorOf(await send(hex))).code, "invalid_json", number);
    }
    let refused = 0;
    for (const [number, hex] of Object.entries(utf8.valid)) {
      const response = await send(hex);
      const text = Buffer.from(hex, "hex").toString();
      if (text.includes("\0")) {
        assert.equal((await errorOf(response)).code, "invalid_json", number); // JSON has no control characters
        refused++;
      } else {
        assert.equal((await dataOf<ConversationResource>(response)).title, `a${text}`, number);
      }
    }
    const all = [utf8.invalid, utf8.valid].map((group) => Object.keys(group).length);
    assert.deepEqual([...all, refused], [145, 77, 3]);
  });

  test("the big list of naughty strings: what is text comes back as it was, in replies and lists; what is blank is refused", async () => {
    const conversation = await fixture.conversation(key, "echo");
    let refused = 0;
    for (const content of strings) {
      const sent = await fixture.call("POST", `/conversations/${conversation}/messages`, key, { content });
      if (sent.status === 400) refused++;
      else assert.equal((await dataOf<{ content: string }>(sent)).content, content);
    }
    const seen = new Set<string>();
    for (let page = 1; ; page++) {
      const list = await fixture.call(
        "GET",
        `/conversations/${conversation}/messages?limit=100&page=${page}`,
        key,
      );
      const { data } = await list.json();
      for (const { content } of data) seen.add(content);
      if (data.length < 100) break;
    }
    const missing = strings.filter((content) => !seen.has(content));
    assert.equal(missing.length, refused);
    assert.deepEqual(
      missing.filter((content) => content.trim() !== "" && !content.includes("\0")),
      [],
    );
    assert.deepEqual([strings.length - refused, refused], [512, 3]);
  });
});

/** A stream of a reply whose text is "ab", written in a way that the standard allows. */
const accepted =
  'data: {"type":"progress","progress":{"stage":"accepted","messageId":"msg_1","userMessageId":"msg_0"}}';
const final = '{"id":"msg_1","role":"assistant","content":"ab","status":"completed"}';
const events = [
  `id: 0\n${accepted}`,
  'id: 1\ndata: {"type":"delta","content":"a"}',
  'id: 2\ndata: {"type":"delta","content":"b"}',
];
const plain = [...events, `id: 2\ndata: {"type":"complete","message":${final}}`, ""].join("\n\n");

describe("WPT's eventsource/format-*, for the client", () => {
  for (const [name, text] of [
    ["bom", `\ufeff${plain}`],
    ["newlines: CRLF", plain.replaceAll("\n", "\r\n")],
    ["newlines: CR", `${plain}:\n`.replaceAll("\n", "\r")], // the last one may be half of a CRLF
    ["comments", plain.replaceAll("id: ", `:\n: ${"x".repeat(2000)}\n:\0\nid: `)],
    ["leading space: one is left out", plain.replaceAll("data: ", "data:").replaceAll("id: ", "id:")],
    ["field data: several lines are joined", plain.replace('"content":"a"}', '"content":\ndata: "a"}')],
    ["field unknown", plain.replaceAll("data: ", "test: x\n:x\ndata\tx: y\nfoobar\nsum: z\ndata: ")],
    ["field retry, and bogus", `retry: 3000\n\nretry: 1000x\n\nretry\n\n${plain}`],
    ["field id with NUL is left out", plain.replace("id: 1\n", "id: 1\nid: \0x\n")],
    ["field data that is empty is no event", plain.replaceAll("id: ", "data\n\nevent: x\ndata:\n\nid: ")],
    ["data before final empty line is no event", `${plain}data: {"type":"delta","content":"c"}\n`],
    ["utf-8, cut within a character", plain.replaceAll('"ab"', '"ab\u2026"')],
  ] as const) {
    test(name, async () => {
      const bytes = new TextEncoder().encode(text);
      const client = new TwinClient({
        baseUrl: "http://twins.test",
        apiKey: "none",
        maxRetries: 0,
        async fetch() {
          let at = 0;
          const body = new ReadableStream<Uint8Array>({
            pull(controller) {
              if (at === bytes.length) return controller.close();
              controller.enqueue(bytes.subarray(at, at + 7)); // in the midst of lines and characters
              at = Math.min(at + 7, bytes.length);
            },
          });
          return new Response(body, { headers: { "Content-Type": "text/event-stream; charset=utf-8" } });
        },
      });
      const reply = client.messages.stream("conv_1", { content: "Hello" });
      const seen: string[] = [];
      for await (const event of reply) seen.push(event.type);
      assert.deepEqual(
        seen.filter((type) => type !== "progress"),
        ["delta", "delta", "complete"],
      );
      assert.match((await reply.final()).content, /^ab/);
    });
  }
});
