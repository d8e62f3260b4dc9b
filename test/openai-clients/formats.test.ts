/**
 * Replies in a form that a client wants: `response_format` and `text.format`.
 */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { createOpenAIEngine } from "../../adapters/openai-models/mod.ts";
import { createEchoEngine, createTwinList, type Guard } from "../../core/mod.ts";
import { tooMuchToCompile } from "../openai-models/hostile-schemas.ts";
import * as model from "../openai-models/model-server.ts";
import { type Body, serverThat } from "../openai-models/tools-fixture.ts";
import { inProcess, newTwin } from "../support/harness.ts";
import { assertParam, named, type OpenAIFixture, openOpenAI, readData } from "./fixture.ts";

const schema = {
  type: "object",
  properties: { name: { type: "string" }, age: { type: "integer" } },
  required: ["name", "age"],
  additionalProperties: false,
};
const form = { name: "person", schema, strict: true };
const asked = { type: "json_schema", ...form };

interface Asked extends Body {
  readonly response_format?: unknown;
}

/** `/v1` with the twin `ada`, whose model answers with this text. */
async function openWith(text: string, end: string = model.finish("stop"), guard?: Guard) {
  const transport = serverThat(() => model.delta(text) + end + model.endMarker);
  const openai = createOpenAIEngine({ baseUrl: "http://127.0.0.1:1/v1", transport, log: () => {} });
  const twins = createTwinList([newTwin({ id: "ada", engine: "openai" }), newTwin({ id: "echo" })]);
  const api = await openOpenAI(inProcess, { twins, engines: { openai, echo: createEchoEngine() }, guard });
  return { api, asked: transport.asked as Asked[] };
}

const respond = (api: OpenAIFixture, format: unknown, body: object = {}) =>
  api.send("POST", "/responses", { model: "ada", input: "Who?", text: { format }, ...body });
const complete = (api: OpenAIFixture, format: unknown, body: object = {}, headers?: HeadersInit) =>
  api.chat({ response_format: format, ...body }, headers);

async function errorOf(answered: Promise<Response>): Promise<[number, string]> {
  const response = await answered;
  const { error } = (await response.json()) as { error: { message: string } };
  return [response.status, error.message];
}

describe("a reply in a form", { timeout: 300_000 }, () => {
  const person = '{"name": "Ada", "age": 36}';

  test("is asked of the model, checked, and told, by completions and responses", async () => {
    const { api, asked: bodies } = await openWith(person);
    await using _ = api;
    for (const headers of [undefined, named]) {
      const completion = await complete(api, { type: "json_schema", json_schema: form }, {}, headers);
      const { choices } = (await completion.json()) as { choices: { message: { content: string } }[] };
      assert.equal(choices[0]?.message.content, person);
    }
    for (const body of [{}, { store: false }]) {
      const response = (await (await respond(api, asked, body)).json()) as {
        status: string;
        output: { content: { text: string }[] }[];
        text: unknown;
      };
      assert.equal(response.status, "completed");
      assert.equal(response.output[0]?.content[0]?.text, person);
      assert.deepEqual(response.text, { format: asked });
    }
    assert.equal(bodies.length, 4);
    for (const { response_format: told } of bodies)
      assert.deepEqual(told, { type: "json_schema", json_schema: form });
  });

  test("is checked as it is told, where a guard has replaced some of it", async () => {
    for (const [told, expected] of [
      ["37", [200, undefined]],
      ['"unknown"', [502, "/age must be integer"]],
    ] as const) {
      const output = (text: string) => ({ replace: text.replace("36", told) });
      const { api } = await openWith(person, undefined, { output });
      await using _ = api;
      for (const body of [{}, { store: false }]) {
        const response = await respond(api, asked, body);
        const text = await response.text();
        assert.deepEqual([response.status, /\/age must be integer/.exec(text)?.[0]], expected, text);
      }
    }
  });

  test("may be any JSON, and text is the usual one", async () => {
    const { api, asked: bodies } = await openWith("{}");
    await using _ = api;
    assert.equal((await complete(api, { type: "json_object" })).status, 200);
    assert.deepEqual(bodies[0]?.response_format, { type: "json_object" });
    assert.equal((await respond(api, { type: "text" })).status, 200);
    assert.equal(bodies[1]?.response_format, undefined);
  });

  const wrong: readonly (readonly [what: string, text: string, told: RegExp])[] = [
    ["a value of another type", '{"name": "Ada", "age": "old"}', /\/age must be integer/],
    ["a value that is missing", '{"name": "Ada"}', /the whole .*'age'/],
    ["one too many", '{"name": "Ada", "age": 1, "x": null}', /additional properties/],
    ["text", "Ada is 36.", /it is not JSON/],
    ["JSON with text around it", "```json\n{}\n```", /it is not JSON/],
    ["null", "null", /the whole must be object/],
  ];
  for (const [what, text, told] of wrong) {
    test(`fails and names the place where it has ${what}`, async () => {
      const { api } = await openWith(text);
      await using _ = api;
      for (const answered of [
        complete(api, { type: "json_schema", json_schema: form }),
        complete(api, { type: "json_schema", json_schema: form }, {}, named),
        respond(api, asked),
      ]) {
        const [status, message] = await errorOf(answered);
        assert.equal(status, 502);
        assert.match(message, told);
      }
      const [reply] = (await api.messages()).filter(({ role }) => role === "assistant");
      assert.deepEqual([reply?.status, reply?.error?.code, reply?.content], ["failed", "model_error", text]);
      assert.match(reply?.error?.message ?? "", told);
      const events = readData(await (await respond(api, asked, { stream: true })).text());
      const last = events.at(-1) as { type: string; response: { error: { message: string } } };
      assert.equal(last.type, "response.failed");
      assert.match(last.response.error.message, told);
    });
  }

  test("that the model cut is told as such", async () => {
    const { api } = await openWith('{"name": "A', model.finish("length"));
    await using _ = api;
    const response = (await (await respond(api, asked)).json()) as { status: string };
    assert.equal(response.status, "incomplete");
  });

  test("is refused where the twin has no model, and where the form is none that can be checked", async () => {
    const { api, asked: bodies } = await openWith(person);
    await using _ = api;
    const echo = { model: "echo" };
    await assertParam(respond(api, asked, echo), 400, "text.format");
    await assertParam(respond(api, asked, { ...echo, store: false }), 400, "text.format");
    await assertParam(complete(api, { type: "json_object" }, echo), 400, "response_format");
    const inside = (fields: object) =>
      complete(api, { type: "json_schema", json_schema: { ...form, ...fields } });
    await assertParam(inside({ name: "a person" }), 400, "response_format.json_schema.name");
    await assertParam(inside({ schema: undefined }), 400, "response_format.json_schema.schema");
    await assertParam(inside({ strict: "yes" }), 400, "response_format.json_schema.strict");
    await assertParam(inside({ description: 1 }), 400, "response_format.json_schema.description");
    await assertParam(respond(api, { type: "json_schema" }), 400, "text.format.name");
    await assertParam(respond(api, { type: "grammar" }), 400, "text.format.type");
    await assertParam(respond(api, "json"), 400, "text.format.type");
    for (const bad of [
      { type: "objekt" },
      { $ref: "#/nowhere" },
      { enum: ["a".repeat(40_000)] },
      { type: "string", pattern: "(?=a)" },
    ])
      await assertParam(respond(api, { ...asked, schema: bad }), 400, "text.format");
    assert.equal(bodies.length, 0);
    assert.deepEqual(await api.conversations(), []);
  });

  for (const [kind, hostile] of Object.entries(tooMuchToCompile)) {
    test(`is refused before it is compiled: ${kind}`, async () => {
      const { api, asked: bodies } = await openWith(person);
      await using _ = api;
      const format = { type: "json_schema", json_schema: { ...form, schema: hostile } };
      for (const answered of [complete(api, format), respond(api, { ...asked, schema: hostile })]) {
        const [status, message] = await errorOf(answered);
        assert.equal(status, 400);
        assert.match(message, /it may have 32768 characters, 64 levels, and 800 keywords/);
      }
      assert.equal(bodies.length, 0);
    });
  }

  test("is refused where it takes too long to check", async () => {
    const { api } = await openWith(`[${"1,".repeat(131_000)}1]`);
    await using _ = api;
    const items = { anyOf: [...Array(200).fill({ type: "null" }), { type: "number" }] };
    const [status, message] = await errorOf(respond(api, { ...asked, schema: { items } }));
    assert.equal(status, 502);
    assert.match(message, /they take too long to check/);
  });

  test("is checked in time that a hostile schema does not stretch", async () => {
    const { api } = await openWith(JSON.stringify("a".repeat(50_000)));
    await using _ = api;
    const hostile = { type: "string", pattern: "^(a+)+$", minLength: 1 };
    const before = process.cpuUsage();
    const [status] = await errorOf(respond(api, { ...asked, schema: { ...hostile, maxLength: 1 } }));
    assert.equal(status, 502);
    assert.ok(process.cpuUsage(before).user < 2_000_000); // usually 20 ms; what a pattern stretches has no end
  });

  test("is a field that an Idempotency-Key compares", async () => {
    const { api } = await openWith(person);
    await using _ = api;
    const once = { "Idempotency-Key": "once" };
    const send = (format?: unknown) =>
      api.send("POST", "/responses", { model: "ada", input: "Who?", text: { format } }, once);
    assert.equal((await send(asked)).status, 200);
    assert.equal((await send(asked)).status, 200);
    assert.equal((await send()).status, 422);
  });
});
