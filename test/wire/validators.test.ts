import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { routes } from "../../core/api/routes.ts";
import { validators } from "../../core/wire/built/validators.ts";
import { fieldErrors } from "../../core/wire/field-errors.ts";
import { createConversationSchema } from "../../core/wire/schemas.ts";
import { generateValidators } from "../../tools/build-validators.ts";
import { settle } from "../support/clock.ts";

test("the generated validators are those of the schemas as they are; npm run validators makes them anew", async () => {
  const file = new URL("../../core/wire/built/validators.ts", import.meta.url);
  assert.equal(await readFile(file, "utf8"), generateValidators());
});

test("every body and query of a route has a validator", () => {
  for (const { operationId, body, query } of routes) {
    for (const schema of [body, query]) if (schema) assert.ok(validators.has(schema), operationId);
  }
});

/** The fields of a new conversation that are refused. */
function refusedFields(body: object): string[] {
  const isValid = validators.get(createConversationSchema);
  assert.ok(isValid);
  const errors = isValid(body) ? [] : isValid.errors;
  return fieldErrors(createConversationSchema, errors).map(({ path }) => path);
}

test("each field is listed once, whatever is wrong with it, in the order of the schema", () => {
  assert.deepEqual(refusedFields({ title: "\0".repeat(201), twinId: "" }), ["twinId", "title"]);
});

test("inherited members do not count as the body's", () => {
  assert.deepEqual(refusedFields(Object.create({ twinId: "ada" })), ["twinId"]);
});

test("a text that is long and refused at its end is refused quickly", { timeout: 5_000 }, async () => {
  for (const title of [
    `${" ".repeat(200_000)}\0`,
    `${"x".repeat(200_000)}\0`,
    `${" x".repeat(100_000)}\ud800`,
  ]) {
    assert.deepEqual(refusedFields({ twinId: "ada", title }), ["title"]);
  }
  await settle(); // or the test would end before its time-out is looked at
});
