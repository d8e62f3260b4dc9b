/**
 * A long text in an answer: it becomes JSON piece by piece, as its client takes it, wherever it is.
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import { createMcpApi } from "../../adapters/mcp-clients/mod.ts";
import { createOpenAIApi } from "../../adapters/openai-clients/mod.ts";
import { createTwinList, type TwinEngine } from "../../core/mod.ts";
import { closingInTime, inProcess, newTwin, openFixture, unlimited } from "../support/harness.ts";

/** Cut at any even place, it would be cut within a pair; and what it has needs escaping in JSON, or for old clients. */
const text = `a${'😀\u2028"'.repeat(100_000)}`;

const wordy: TwinEngine = {
  async reply(_, output) {
    output.write(text);
    return { finishReason: "stop", usage: null };
  },
};

async function openWordy() {
  const fixture = closingInTime(
    await openFixture(inProcess, {
      twins: createTwinList([newTwin({ id: "ada", engine: "wordy" })]),
      engines: { wordy },
      openaiApi: createOpenAIApi(),
      mcpApi: createMcpApi(),
      limiter: unlimited,
    }),
  );
  const key = await fixture.key();
  const conversation = await fixture.conversation(key, "ada");
  const ask = (method: string, path: string, body?: object) =>
    fixture.service.fetch(
      new Request(`http://twins.test${path}`, {
        method,
        headers: {
          Authorization: `Bearer ${key}`,
          "Content-Type": "application/json",
          Accept: path === "/mcp" ? "application/json" : "application/json, text/event-stream",
        },
        ...(body && { body: JSON.stringify(body) }),
      }),
    );
  const messages = `/api/v1/conversations/${conversation}/messages`;
  const sent = await (await ask("POST", messages, { content: "Hi" })).json();
  return { fixture, ask, messages, conversation, reply: String(sent.data.id) };
}

/** The pieces in which an answer comes, until it has a text or ends. */
async function piecesOf(response: Response, until?: RegExp): Promise<string[]> {
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader() ?? assert.fail();
  const pieces: string[] = [];
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return pieces;
    pieces.push(value);
    if (!until?.test(pieces.join(""))) continue;
    await reader.cancel();
    return pieces;
  }
}

function assertShort(pieces: readonly string[]): void {
  const longest = Math.max(...pieces.map(({ length }) => length));
  assert.ok(longest < 500_000, `${longest} characters at once`);
}

/** Finds a text somewhere within a value. */
function has(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return value === text;
  return Object.values(value).some(has);
}

const toolCall = { name: "ask_twin", arguments: { twin: "ada", question: "Hi" } };

const documents: readonly (readonly [string, string, (reply: string) => string, object?])[] = [
  ["a list of messages", "GET", () => "/{messages}"],
  ["a message", "GET", (reply) => `/{messages}/${reply}`],
  ["a reply that was waited for", "POST", () => "/{messages}", { content: "Hi" }],
  ["an ended reply that is cancelled", "POST", (reply) => `/{messages}/${reply}/cancel`],
  ["a response", "GET", (reply) => `/v1/responses/${reply.replace("msg_", "resp_")}`],
  ["a response that was waited for", "POST", () => "/v1/responses", { model: "ada", input: "Hi" }],
  [
    "a completion",
    "POST",
    () => "/v1/chat/completions",
    { model: "ada", messages: [{ role: "user", content: "Hi" }] },
  ],
  [
    "a tool's result",
    "POST",
    () => "/mcp",
    { jsonrpc: "2.0", id: 1, method: "tools/call", params: toolCall },
  ],
];

for (const [what, method, path, body] of documents) {
  test(`${what} is sent in pieces where its text is long`, async () => {
    const { fixture, ask, messages, reply } = await openWordy();
    await using _ = fixture;
    const response = await ask(method, path(reply).replace("/{messages}", messages), body);
    assert.equal(response.status, 200);
    const pieces = await piecesOf(response);
    assertShort(pieces);
    assert.ok(has(JSON.parse(pieces.join(""))));
  });
}

const streams: readonly (readonly [string, (reply: string) => string, RegExp?])[] = [
  ["a reply's stream", (reply) => `/{messages}/${reply}/stream`],
  ["a response's stream", (reply) => `/v1/responses/${reply.replace("msg_", "resp_")}?stream=true`],
  ["a conversation's stream", () => "/{messages}/../stream?after=0.0", /"assistant".*\n\n$/s],
];

for (const [what, path, until] of streams) {
  test(`the events of ${what} are sent in pieces where their text is long`, async () => {
    const { fixture, ask, messages, reply } = await openWordy();
    await using _ = fixture;
    const target = path(reply).replace("/{messages}", messages).replace("/messages/..", "");
    const pieces = await piecesOf(await ask("GET", target), until);
    assertShort(pieces);
    const sent = pieces.join("");
    assert.ok(!/[\u2028\u2029\u0085]/.test(sent));
    const last = sent.split("\n").findLast((line) => line.startsWith("data: ")) ?? "";
    assert.ok(has(JSON.parse(last.slice("data: ".length))));
  });
}

test("in a conversation's stream, nothing comes within the event that ends a long reply", async () => {
  const { fixture, ask, messages, conversation } = await openWordy();
  await using _ = fixture;
  const stream = await ask("GET", `/api/v1/conversations/${conversation}/stream`);
  const reader = stream.body?.pipeThrough(new TextDecoderStream()).getReader() ?? assert.fail();
  let sent = "";
  const readUntil = async (part: string) => {
    while (!sent.includes(part)) sent += (await reader.read()).value ?? assert.fail("it ended");
  };
  await readUntil('"conversation"');
  assert.equal((await ask("POST", messages, { content: "Hi" })).status, 200);
  await readUntil('"type":"complete"');
  const renamed = await ask("PATCH", `/api/v1/conversations/${conversation}`, { title: "renamed" });
  assert.equal(renamed.status, 200);
  await readUntil('"title":"renamed"');
  await reader.cancel();
  for (const line of sent.split("\n")) if (line.startsWith("data: ")) JSON.parse(line.slice("data: ".length));
});

test("an export is sent in pieces where its texts are long", async () => {
  const { fixture } = await openWordy();
  await using _ = fixture;
  const key = await fixture.key();
  const made = await fixture.call("POST", "/conversations", key, { twinId: "ada", endUser: "ann" });
  const { id } = (await made.json()).data;
  await (await fixture.call("POST", `/conversations/${id}/messages`, key, { content: "Hi" })).json();
  const pieces = await piecesOf(await fixture.call("GET", "/end-users/ann/export", key));
  assertShort(pieces);
  const lines = pieces.join("").trimEnd().split("\n");
  assert.equal(lines.length, 3);
  assert.ok(lines.some((line) => has(JSON.parse(line))));
});

test("HEAD tells the length of short answers alone, as GET does", async () => {
  const { fixture, ask, messages, reply } = await openWordy();
  await using _ = fixture;
  const long = await ask("HEAD", `${messages}/${reply}`);
  assert.equal(long.status, 200);
  assert.equal(long.headers.get("Content-Length"), null);
  const short = await ask("HEAD", messages.replace("/messages", ""));
  assert.equal(
    short.headers.get("Content-Length"),
    String((await (await ask("GET", messages.replace("/messages", ""))).text()).length),
  );
});
