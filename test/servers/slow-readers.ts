/**
 * A server that offers one reply of 16 MB to its followers, and reports how much its memory grew: one half of
 * `slow-readers.test.ts`, in a process of its own so that only the server's memory is counted.
 */

import { createTwinList, type TwinEngine } from "../../core/mod.ts";
import { acceptedId } from "../support/chat.ts";
import { readEvents } from "../support/event-reader.ts";
import { collectGarbage, skipOffV8 } from "../support/garbage.ts";
import { createGate } from "../support/gate.ts";
import { newTwin, openFixture, overSocket, unlimited } from "../support/harness.ts";

/** What the server prints first. */
export interface Invitation {
  readonly url: string;
  readonly key: string;
  /** The path of the reply's stream. */
  readonly path: string;
}

/** What the server prints once the reply has ended. */
export interface Measurement {
  readonly offeredBytes: number;
  /** How much more memory was in use meanwhile, at its peak. */
  readonly grownBytes: number;
}

const chunk = "sixteen letters ".repeat(256);
const chunks = 4 * 1024;

const readersAreThere = createGate();
const flood = createGate();
process.stdin.once("data", readersAreThere.open);
process.stdin.on("end", () => process.exit());

const engine: TwinEngine = {
  async reply(_, { write }) {
    await flood.opened;
    for (let count = 1; count <= chunks; count++) {
      write(chunk);
      if (count % 16 === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    return { finishReason: "stop", usage: null };
  },
};

const turn = () => new Promise((resolve) => setTimeout(resolve, 20));

/**
 * The memory in use, in bytes. On V8, what is reachable: the process's memory also holds garbage, and how much depends on
 * the version and the moment.
 */
async function memoryInUse(): Promise<number> {
  if (skipOffV8) return process.memoryUsage.rss();
  await collectGarbage();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

async function measure(isRunning: () => Promise<boolean>): Promise<Measurement> {
  const before = await memoryInUse();
  let peak = before;
  flood.open();
  for (let goesOn = true; goesOn; ) {
    await turn();
    goesOn = await isRunning();
    peak = Math.max(peak, await memoryInUse());
  }
  return { offeredBytes: chunk.length * chunks, grownBytes: peak - before };
}

function say(report: Invitation | Measurement): void {
  process.stdout.write(`${JSON.stringify(report)}\n`);
}

const {
  store,
  url,
  key: newKey,
  conversation,
  call,
} = await openFixture(overSocket, {
  twins: createTwinList([newTwin({ id: "flood", engine: "flood" })]),
  engines: { flood: engine },
  limiter: unlimited,
});
const key = await newKey();
const id = await conversation(key, "flood");
const path = `/conversations/${id}/messages`;
const stream = readEvents(await call("POST", `${path}/stream`, key, { content: "Flood me." }));
const replyId = await acceptedId(stream);
await stream.leave();
say({ url, key, path: `/api/v1${path}/${replyId}/stream` });
await readersAreThere.opened;
say(await measure(async () => (await store.getConversation({ owner: "alice" }, id))?.replyId !== null));
