/**
 * A guard that asks a model's server what may be told.
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import { createModeration } from "../../adapters/openai-models/moderation.ts";
import type { Clock } from "../../core/mod.ts";
import { newTwin } from "../support/harness.ts";
import { startModeration } from "./moderation-server.ts";

/** A clock whose short pauses are over at once: only what takes seconds waits. */
const hasty: Clock = {
  now: () => Date.now(),
  after(milliseconds, callback) {
    const timer = setTimeout(callback, milliseconds < 5_000 ? 0 : milliseconds);
    return () => clearTimeout(timer);
  },
};

const turnOf = (instructions: string, language: string | null = null) => ({
  twin: newTwin({ id: "ada", instructions, language }),
  history: [],
  content: "",
});
const turn = turnOf("You are Ada, and you like to talk about machines.");

test("what is flagged stops, on both sides, with a sentence in the twin's language", async () => {
  await using server = await startModeration();
  const guard = createModeration({ baseUrl: server.baseUrl, apiKey: "sk-1", model: "moderator" });
  assert.equal(await guard.input?.("Hello?", turn), undefined);
  assert.deepEqual(await guard.input?.("Is it forbidden?", turn), { stop: "I can't talk about that." });
  const german = turnOf("Du bist Ada. Du sprichst gern über Maschinen und darüber, was sie nicht können.");
  assert.deepEqual(await guard.output?.("It is forbidden.", german, ""), {
    stop: "Darüber kann ich nicht sprechen.",
  });
  assert.deepEqual(await guard.output?.("It is forbidden.", turnOf("Ada", "fr-CA"), ""), {
    stop: "Je ne peux pas parler de cela.",
  });
  assert.deepEqual(server.asked[0], { model: "moderator", input: "Hello?" });
  assert.deepEqual(new Set(server.credentials), new Set(["Bearer sk-1"]));
});

test("what stops a reply can be said otherwise", async () => {
  await using server = await startModeration();
  const { baseUrl } = server;
  const guard = createModeration({
    baseUrl,
    model: "moderator",
    refusal: ({ twin }) => `Ask not ${twin.id}.`,
  });
  assert.deepEqual(await guard.input?.("forbidden", turn), { stop: "Ask not ada." });
});

test("a server that says it by category alone is understood", async () => {
  await using server = await startModeration();
  server.state.answer = (flagged) => ({ results: [{ categories: { hate: false, violence: flagged } }] });
  const guard = createModeration({ baseUrl: server.baseUrl, model: "moderator" });
  assert.equal(await guard.input?.("Hello?", turn), undefined);
  assert.ok(await guard.input?.("forbidden", turn));
});

test("a server that is busy is asked again, three times in all", async () => {
  await using server = await startModeration();
  const guard = createModeration({ baseUrl: server.baseUrl, model: "moderator", clock: hasty });
  server.state.statuses = [503, 429];
  assert.equal(await guard.input?.("Hello?", turn), undefined);
  server.state.statuses = [503, 503, 503];
  await assert.rejects(async () => guard.input?.("Hello?", turn), /busy, or away/);
  assert.equal(server.asked.length, 6);
});

for (const [what, answer, status] of [
  ["refuses", () => ({ error: { message: "no such model" } }), 404],
  ["has no results", () => ({ results: [] }), 200],
  ["says nothing of what it found", () => ({ results: [{ flagged: "no" }] }), 200],
  ["flags by a text", () => ({ results: [{ flagged: "true", categories: { hate: false } }] }), 200],
  ["flags by a number", () => ({ results: [{ flagged: 1, categories: { hate: false } }] }), 200],
  ["has scores as categories", () => ({ results: [{ categories: { hate: 0.99, violence: 0.1 } }] }), 200],
  ["names categories in texts", () => ({ results: [{ categories: { hate: "true" } }] }), 200],
  ["says something else", () => "fine", 200],
  ["says more than one answer is", () => ({ results: [{ flagged: false }], more: "x".repeat(65_536) }), 200],
] as const) {
  test(`a server that ${what} lets nothing pass`, async () => {
    await using server = await startModeration();
    server.state.answer = answer;
    server.state.statuses = [status];
    const guard = createModeration({ baseUrl: server.baseUrl, model: "moderator", clock: hasty });
    await assert.rejects(async () => guard.output?.("Hello.", turn, "Hello."), /moderation/);
  });
}

test("an answer without an end is not read to its end", async () => {
  await using server = await startModeration();
  server.state.answer = () => ({ results: "x".repeat(2 * 1024 * 1024) });
  const guard = createModeration({ baseUrl: server.baseUrl, model: "moderator", clock: hasty });
  await assert.rejects(async () => guard.input?.("Hello?", turn), /moderation/);
});

test("options that cannot be used are refused", () => {
  const baseUrl = "http://127.0.0.1:1/v1";
  for (const wrong of [{ hold: "word" }, { refusal: "No." }, { modle: "x" }, { apiKey: "a b" }]) {
    const options = { baseUrl, model: "moderator", ...wrong } as Parameters<typeof createModeration>[0];
    assert.throws(() => createModeration(options), TypeError, JSON.stringify(wrong));
  }
});
