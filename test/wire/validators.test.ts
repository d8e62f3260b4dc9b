import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { promisify } from "node:util";
import { generateValidators } from "../../build-validators.ts";
import { routes } from "../../core/api/routes.ts";
import { fieldErrors } from "../../core/wire/field-errors.ts";
import { createConversationSchema } from "../../core/wire/schemas.ts";
import { runtime } from "../support/runtime.ts";

test("the generated validators are those of the schemas as they are; npm run validators makes them anew", async () => {
  const file = new URL("../../core/wire/validators.ts", import.meta.url);
  assert.equal(await readFile(file, "utf8"), generateValidators());
});

test("every body and query of a route has a validator", () => {
  for (const { operationId, body, query } of routes) {
    for (const schema of [body, query]) {
      if (schema) assert.ok(Array.isArray(fieldErrors(schema, {})), operationId);
    }
  }
});

test("a schema without a validator is an error, not a body that passes", () => {
  const schema = { type: "object", properties: {} } as const;
  assert.throws(() => fieldErrors(schema, {}), /npm run validators/);
});

test("each field is listed once, whatever is wrong with it, in the order of the schema", () => {
  const paths = fieldErrors(createConversationSchema, { title: "\0".repeat(201), twinId: "" }).map(
    ({ path }) => path,
  );
  assert.deepEqual(paths, ["twinId", "title"]);
});

test("inherited members do not count as the body's", () => {
  const heir = Object.create({ twinId: "ada" });
  assert.deepEqual(
    fieldErrors(createConversationSchema, heir).map(({ path }) => path),
    ["twinId"],
  );
});

test("a text that is long and refused at its end is refused quickly", { timeout: 5_000 }, () => {
  const texts = [`${" ".repeat(200_000)}\0`, `${"x".repeat(200_000)}\0`, `${" x".repeat(100_000)}\ud800`];
  for (const title of texts) {
    assert.equal(fieldErrors(createConversationSchema, { twinId: "ada", title }).length, 1);
  }
});

const flag = "--disallow-code-generation-from-strings";
const commands = {
  node: [flag, "--import", "tsx", "test/wire/without-code-generation.ts"],
  deno: ["run", "-A", "--no-check", `--v8-flags=${flag}`, "test/wire/without-code-generation.ts"],
  bun: undefined,
};
const command = commands[runtime];

test("the service works where generating code from strings is forbidden", {
  skip: !command && "Bun has no such flag",
}, async () => {
  const { stdout } = await promisify(execFile)(process.execPath, command ?? []);
  assert.equal(stdout.trim(), "EvalError 201 400");
});
