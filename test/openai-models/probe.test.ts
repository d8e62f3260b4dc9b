/**
 * What is wrong with a model's address, before any reply is asked for.
 */

import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { probeModel } from "../../adapters/openai-models/probe.ts";
import { models, refuse, refusingBaseUrl, type Script, send, startModelServer } from "./model-server.ts";

/** The problem with a server that lists its models like this, if there is one. */
async function probe(t: TestContext, script: Script, model?: string): Promise<string | undefined> {
  const server = await startModelServer();
  t.after(() => server.close());
  server.scriptModels(script);
  const { signal } = new AbortController();
  const problem = await probeModel({ baseUrl: server.baseUrl, apiKey: "sk-1", model, signal });
  assert.deepEqual(
    server.probes.map(({ headers }) => headers.authorization),
    ["Bearer sk-1"],
  );
  return problem;
}

const unlisted = "it does not answer GET /models with a list";
for (const { what, script, model = "small", problem } of [
  {
    what: "lacks the model",
    script: models("large", "huge"),
    problem: "it does not have the model; it has large, huge",
  },
  { what: "has no models", script: models(), problem: "it does not have the model; it has none" },
  { what: "refuses", script: refuse(401), problem: "it answers GET /models with status 401" },
  { what: "lists nothing", script: send("{}"), problem: unlisted },
  { what: "sends HTML", script: send("<html>"), problem: `${unlisted} (SyntaxError)` },
  {
    what: "lists without end",
    script: send(" ".repeat(8 * 1024 * 1024 + 1)),
    problem: "its list of models has more than 8388608 bytes",
  },
  { what: "has the model", script: models("small"), problem: undefined },
  { what: "has the model with Ollama's tag", script: models("small:latest"), problem: undefined },
  { what: "has the model in Gemini's folder", script: models("models/small"), problem: undefined },
  {
    what: "has several models, and none is named",
    script: models("large", "small"),
    model: null,
    problem: "twins must name a model of their own; it has large, small",
  },
  { what: "has one model, and none is named", script: models("small"), model: null, problem: undefined },
]) {
  test(`a server that ${what} is ${problem === undefined ? "no" : "a"} problem`, async (t) => {
    assert.equal(await probe(t, script, model ?? undefined), problem);
  });
}

test("an address where nothing listens is a problem", async () => {
  const { signal } = new AbortController();
  const problem = await probeModel({ baseUrl: await refusingBaseUrl(), signal });
  assert.match(problem ?? "", /^it does not answer GET \/models with a list \(\w+\)$/);
});
