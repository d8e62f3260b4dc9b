/**
 * What the client adds to a page.
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import { measure } from "../package/core-size.ts";

/** What is loaded by those who use it. */
const late = ["./conversation/mod.ts", "./polling.ts"];

test("the client has at most 8 KB, minified and gzipped, and one dependency", async () => {
  const { size, files } = await measure("client/mod.ts", late);
  assert.ok(size <= 8_000, `it has ${size} bytes`);
  const others = files.filter((path) => !/(^|\/)client\//.test(path));
  assert.ok(
    others.length > 0 && others.every((path) => path.includes("node_modules/eventsource-parser/")),
    others.join(),
  );
});

test("a conversation as it is seen adds at most 4 KB to it, minified and gzipped", async () => {
  const { size } = await measure("client/conversation/mod.ts");
  assert.ok(size <= 4_350, `it has ${size} bytes`);
});
