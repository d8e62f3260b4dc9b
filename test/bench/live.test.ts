/**
 * The benchmark's own processes: the scripted model, the load generator, and a server between them.
 */

import assert from "node:assert/strict";
import { before, test } from "node:test";
import { nodePipe } from "../../bench/contenders/node-pipe/contender.ts";
import { completionsService, twinService } from "../../bench/contenders/twin-service/contender.ts";
import { fatesOf, killing, leaving } from "../../bench/fate/stages.ts";
import { buildAll } from "../../bench/harness/build.ts";
import { startLoad, startModel } from "../../bench/harness/workers.ts";
import { list } from "../../bench/list/scenario.ts";
import { openSession, type Session, type Stage } from "../../bench/live/session.ts";
import type { SeenReply } from "../../bench/load/replies.ts";
import { replyQuestion } from "../../bench/model/script.ts";
import { skipOffNode } from "../support/script-process.ts";

const skip = skipOffNode || (process.platform !== "linux" && "it reads Linux's /proc");
const timeout = 300_000;

before(async () => {
  if (!skip) await buildAll();
});

/** Has a test use a stage, and ends its processes, those of `sessions` first. */
async function onStage(act: (stage: Stage, sessions: Session[]) => Promise<void>): Promise<void> {
  const sessions: Session[] = [];
  const load = startLoad();
  const model = await startModel();
  try {
    await act({ load, model }, sessions);
  } finally {
    for (const session of sessions) await session.close();
    await Promise.all([load.stop(), model.stop()]);
  }
}

for (const contender of [nodePipe, twinService, completionsService]) {
  test(
    `${contender.name}: live streams lose no token, and a reply is read to its end`,
    { skip, timeout },
    () =>
      onStage(async (stage, sessions) => {
        const session = await openSession(contender, stage);
        sessions.push(session);
        await session.open(3);
        const { tokensPerSecond, delayP50, delayP99 } = await session.measure(3, 100, 0.5);
        assert.ok(tokensPerSecond > 0);
        assert.ok(delayP50 > 0 && delayP50 <= delayP99, `${delayP50}, ${delayP99}`);

        const requests = await session.requests(2, (index) => replyQuestion(`whole-${index}`, 5, 0));
        const order = { order: "ask", port: session.port, requests, atOnce: 1 } as const;
        const seen = await stage.load.order<SeenReply[]>(order);
        assert.deepEqual(
          seen.map(({ status, tokens }) => `${status}, ${tokens} tokens`),
          ["200, 5 tokens", "200, 5 tokens"],
        );
      }),
  );
}

test(
  "replies of a pipe are lost with their clients, and doubled by a second request",
  { skip, timeout },
  () =>
    onStage(async (stage) => {
      const lost = { finished: 0, kept: 0, lost: 2, doubled: 2, got: 2 };
      assert.deepEqual(await fatesOf(nodePipe, [leaving, killing], 2, stage), [lost, lost]);
    }),
);

test("replies of this service are finished without their clients, and not doubled", { skip, timeout }, () =>
  onStage(async (stage) => {
    const finished = { finished: 2, kept: 0, lost: 0, doubled: 0, got: 2 };
    assert.deepEqual(await fatesOf(twinService, [leaving], 2, stage), [finished]);
  }),
);

test("a list costs this service a known time, and all its answers are right", { skip, timeout }, () =>
  onStage(async (stage) => {
    const effort = { seconds: 0.2, rounds: 1, isBrief: true, progress: () => {} };
    const [part] = await list([twinService], stage, effort);
    const [row, ...others] = part?.rows ?? [];
    assert.deepEqual([row?.name, others], ["this service", []]);
    assert.ok(
      row && row.median > 0 && row.median < 1_000_000 / (row.more["answers/s"] ?? 0),
      `${row?.median}`,
    );
  }),
);
