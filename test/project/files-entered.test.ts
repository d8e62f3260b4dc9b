/**
 * How much a newcomer has to read to follow a request. `npm run files-entered` lists the files.
 */

import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import { runScript, skipOffNode } from "../support/script-process.ts";
import type { FilesEntered } from "./files-entered.ts";

const limits = [
  { transport: "inProcess", twins: 25, streamedSend: 40 },
  { transport: "overSocket", twins: 25, streamedSend: 45 },
] as const;

describe("files entered", { skip: skipOffNode }, () => {
  let measured: Record<"inProcess" | "overSocket", FilesEntered>;
  before(async () => {
    measured = JSON.parse((await runScript("test/project/files-entered.ts", [])).stdout);
  });

  for (const { transport, ...most } of limits) {
    test(`${transport}: at most ${most.twins} by GET /twins, ${most.streamedSend} by a streamed send`, () => {
      const { twins, streamedSend } = measured[transport];
      assert.ok(twins.length > 15 && twins.length <= most.twins, twins.join("\n"));
      assert.ok(streamedSend.length > twins.length, streamedSend.join("\n"));
      assert.ok(streamedSend.length <= most.streamedSend, streamedSend.join("\n"));
    });
  }
});
