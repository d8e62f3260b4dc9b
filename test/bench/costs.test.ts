/**
 * That what an operation may cost the others is measured for each of them.
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import { createMcpApi } from "../../adapters/mcp-clients/mod.ts";
import { createOpenAIApi } from "../../adapters/openai-clients/mod.ts";
import { lines } from "../../bench/costs/requests.ts";
import { routes } from "../../core/api/routes.ts";

const operations = [...routes, ...createOpenAIApi().routes, ...createMcpApi().routes].map(
  ({ operationId, method, path }) => ({
    operationId,
    request: new RegExp(`^${method} ${path.replace(/\{\w+\}/g, "[^/]+")}$`),
  }),
);
const measured = lines.map(({ method, path }) => `${method} ${path.split("?")[0]}`);

test("the cost of each operation is measured", () => {
  const without = operations.filter(({ request }) => !measured.some((line) => request.test(line)));
  assert.deepEqual(
    without.map(({ operationId }) => operationId),
    [],
  );
});

test("each request that is measured is one of an operation", () => {
  const stray = measured.filter((line) => !operations.some(({ request }) => request.test(line)));
  assert.deepEqual(stray, []);
});
