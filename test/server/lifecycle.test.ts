import assert from "node:assert/strict";
import { test } from "node:test";
import { noLog } from "../../core/base/log.ts";
import { createParts } from "../../server/lifecycle.ts";

test("parts are closed in reverse order, even after one fails to close, which is logged", async () => {
  const said: string[] = [];
  const error = new Error("it sticks");
  const parts = createParts((level, _, fields) => said.push(`${level} ${fields?.part} ${fields?.error}`));
  for (const name of ["first", "second", "third"]) {
    await parts.open(name, Promise.resolve(name), async (part) => {
      if (part === "second") throw error;
      said.push(part);
    });
  }
  assert.equal(await parts.close(), false);
  assert.deepEqual(said, ["third", "error second Error: it sticks", "first"]);
});

test("a part that is still opening when all are closed is closed, too, and its opener does not continue", async () => {
  const said: string[] = [];
  const parts = createParts(noLog);
  let opened = (_: string) => {};
  const opening = new Promise<string>((resolve) => {
    opened = resolve;
  });
  void parts
    .open("late", opening, async (part) => void said.push(`${part} closed`))
    .then(() => said.push("went on"));
  const closing = parts.close();
  opened("late");
  assert.equal(await closing, true);
  assert.deepEqual(said, ["late closed"]);
});
