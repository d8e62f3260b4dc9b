/**
 * Prints how much a newcomer has to read to follow a request: the files in which V8 counts a call while the request is
 * served. `npm run files-entered` runs it.
 */

import { Session } from "node:inspector/promises";
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

/** The files that each request enters, once it has been made before. */
export interface FilesEntered {
  readonly twins: readonly string[];
  readonly streamedSend: readonly string[];
}

async function filesOfRequests(transport: Transport): Promise<FilesEntered> {
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
  return { twins: await filesEntered(twins), streamedSend: await filesEntered(await stream()) };
}

const measured = {
  inProcess: await filesOfRequests(inProcess),
  overSocket: await filesOfRequests(overSocket),
};
console.log(JSON.stringify(measured, null, 2));
