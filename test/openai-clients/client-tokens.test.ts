/**
 * `/v1` with a client token: one end user, and some of the twins.
 */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { dataOf, inProcess } from "../support/harness.ts";
import { named, type OpenAIFixture, openOpenAI } from "./fixture.ts";

/** Requests with a client token of zoe, who may use the twin echo. */
async function openWithToken() {
  const api = await openOpenAI(inProcess);
  const body = { endUser: "zoe", twinIds: ["echo"], requestsPerHour: 50 };
  const { token } = await dataOf<{ token: string }>(
    await api.fixture.call("POST", "/client-tokens", api.key, body),
  );
  const authorization = `Bearer ${token}`;
  return {
    api,
    send: (method: string, path: string, body?: unknown, headers: HeadersInit = {}) =>
      api.send(method, path, body, { ...Object.fromEntries(new Headers(headers)), authorization }),
    chat: (body: object = {}, headers: HeadersInit = {}) =>
      api.chat({ model: "echo", ...body }, { ...Object.fromEntries(new Headers(headers)), authorization }),
    [Symbol.asyncDispose]: () => api[Symbol.asyncDispose](),
  };
}

/** A response to zoe that the key asked for. */
async function askAsKey(
  { send, engine }: OpenAIFixture,
  model: "ada" | "echo",
): Promise<{ id: string; conversation: { id: string } }> {
  const asked = send("POST", "/responses", { model, input: "Hello?", user: "zoe" });
  if (model === "ada") (await engine.next()).finish();
  return (await (await asked).json()) as { id: string; conversation: { id: string } };
}

async function textOf(response: Response): Promise<string> {
  return `${response.status} ${await response.text()}`;
}

describe("/v1 with a client token", { timeout: 300_000 }, () => {
  test("has the token's twins as models, and no others", async () => {
    await using client = await openWithToken();
    const { data } = (await (await client.send("GET", "/models")).json()) as { data: { id: string }[] };
    assert.deepEqual(
      data.map(({ id }) => id),
      ["echo"],
    );
    assert.equal((await client.send("GET", "/models/echo")).status, 200);
    for (const id of ["ada", "nobody"]) {
      assert.equal((await client.send("GET", `/models/${id}`)).status, 404);
      for (const path of ["/chat/completions", "/responses"]) {
        const body = { model: id, input: "Hello?", messages: [{ role: "user", content: "Hello?" }] };
        assert.match(await textOf(await client.send("POST", path, body)), /^404 .*"model_not_found"/);
      }
    }
    assert.equal(client.api.engine.asked, 0);
  });

  test("talks as the token's end user, whomever the body names", async () => {
    await using client = await openWithToken();
    assert.equal((await client.chat({ user: "yan" }, named)).status, 200);
    assert.equal((await client.chat({ safety_identifier: "." })).status, 200);
    const body = { model: "echo", input: "Hello?", user: "yan" };
    assert.equal((await client.send("POST", "/responses", body)).status, 200);
    assert.deepEqual(
      (await client.api.conversations()).map(({ endUser }) => endUser),
      ["zoe", "zoe"],
    );
    const usage = await client.api.fixture.call("GET", "/usage/history?groupBy=endUser", client.api.key);
    assert.deepEqual(await dataOf(usage), [
      { group: "zoe", replies: 3, inputTokens: 0, outputTokens: 0, cachedInputTokens: 0 },
    ]);
  });

  test("shares the conversations that the key's requests name for the same end user", async () => {
    await using client = await openWithToken();
    await client.chat({}, named);
    const messages = ["One?", "One.", "Two?"].map((content, n) => ({
      role: n === 1 ? "assistant" : "user",
      content,
    }));
    await client.api.chat({ model: "echo", user: "zoe", messages }, named);
    await client.api.chat({ model: "echo" }, named);
    const list = await dataOf<{ messageCount: number }[]>(
      await client.api.fixture.call("GET", "/conversations?endUser=zoe", client.api.key),
    );
    assert.deepEqual(
      list.map(({ messageCount }) => messageCount),
      [4],
    );
  });

  test("finds no response or conversation with another twin, as if there were none", async () => {
    await using client = await openWithToken();
    const own = await askAsKey(client.api, "echo");
    assert.equal((await client.send("GET", `/responses/${own.id}`)).status, 200);
    const other = await askAsKey(client.api, "ada");
    for (const [method, path] of [
      ["GET", ""],
      ["GET", "?stream=true"],
      ["POST", "/cancel"],
    ] as const) {
      const found = await client.send(method, `/responses/${other.id}${path}`);
      const none = await client.send(method, `/responses/resp_0${path}`);
      assert.equal(await textOf(found), await textOf(none));
      assert.equal(found.status, 404);
    }
    for (const [name, hidden, none] of [
      ["conversation", other.conversation.id, "conv_0"],
      ["previous_response_id", other.id, "resp_0"],
    ] as const) {
      const ask = async (id: string) =>
        textOf(await client.send("POST", "/responses", { model: "echo", input: "And?", [name]: id }));
      assert.equal(await ask(hidden), await ask(none));
    }
  });
});
