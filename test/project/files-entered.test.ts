/**
 * How much a newcomer has to read to follow a request: the files in which V8 counts a call while the request is served.
 * `npm run files-entered` lists them.
 */

import assert from "node:assert/strict";
import { Session } from "node:inspector/promises";
import { test } from "node:test";
import { createEchoEngine } from "../../core/mod.ts";
import { inProcess, openFixture, overSocket, type Transport } from "../support/harness.ts";

const root = new URL("../../", import.meta.url).href;

/** The files of `core/` and `adapters/` in which a function is called while `work` runs, sorted. */
async function filesEntered(work: () => Promise<unknown>): Promise<string[]> {
  const session = new Session();
  session.connect();
  await session.post("Profiler.enable");
  await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
  await session.post("Profiler.takePreciseCoverage"); // from here on, counts are those of the work
  await work();
  const { result } = await session.post("Profiler.takePreciseCoverage");
  session.disconnect();
  const entered = result.filter(({ functions }) =>
    functions.some(({ ranges }) => ranges.some(({ count }) => count > 0)),
  );
  const files = entered.map(({ url }) => url.replace(root, ""));
  return files.filter((file) => /^(core|adapters)\//.test(file)).sort();
}

/** The files that two requests enter, each once it has been made before: `GET /twins`, and a streamed send. */
async function filesOfRequests(transport: Transport): Promise<{ twins: string[]; send: string[] }> {
  const log = () => {}; // every server has one of its own
  await using fixture = await openFixture(transport, { engines: { echo: createEchoEngine() }, log });
  const key = await fixture.key();
  const headers = { Authorization: `Bearer ${key}`, "Content-Type": "application/json" };
  const api = `${fixture.url || "http://twins.test"}/api/v1`;
  const send = (path: string, init?: RequestInit) =>
    fixture.url ? fetch(api + path, init) : fixture.service.fetch(new Request(api + path, init));
  const twins = async () => (await send("/twins", { headers })).text();
  const stream = async () => {
    const path = `/conversations/${await fixture.conversation(key)}/messages/stream`;
    const body = JSON.stringify({ content: "Hello, how are you today?" });
    return () => send(path, { method: "POST", headers, body }).then((response) => response.text());
  };
  await twins();
  await (await stream())();
  return { twins: await filesEntered(twins), send: await filesEntered(await stream()) };
}

const limits = [
  { transport: inProcess, twins: 25, send: 40 },
  { transport: overSocket, twins: 25, send: 45 },
];

for (const { transport, ...most } of limits) {
  test(`GET /twins enters at most ${most.twins} files, a streamed send ${most.send}, ${transport.name}`, async (t) => {
    const { twins, send } = await filesOfRequests(transport);
    t.diagnostic(`GET /twins: ${twins.length} files\n  ${twins.join("\n  ")}`);
    t.diagnostic(`a streamed send: ${send.length} files\n  ${send.join("\n  ")}`);
    assert.ok(twins.length > 15 && twins.length <= most.twins);
    assert.ok(send.length > twins.length && send.length <= most.send);
  });
}
