import assert from "node:assert/strict";
import { test } from "node:test";
import { createJsonLog } from "../../adapters/json-log.ts";

/** What a log writes for an error. */
function written(error: unknown) {
  let line = "";
  const log = createJsonLog({
    write(text) {
      line += text;
    },
  });
  log("error", "it failed", { error });
  return JSON.parse(line).error;
}

test("a level that does not exist is refused, instead of writing all of them", () => {
  const level = "warning" as "warn"; // as of a variable
  assert.throws(() => createJsonLog({ level, write: () => {} }), {
    name: "TypeError",
    message: 'createJsonLog: level must be one of debug, info, warn, error, not "warning".',
  });
});

test("an error is logged with its causes and the errors that it aggregates, but without other properties", () => {
  const full = Object.assign(new Error("no space"), { code: "ENOSPC", request: "secret" });
  const gathered = new AggregateError([full, new Error("i/o error")]);
  const { message, cause, ...rest } = written(new Error("not stored", { cause: gathered }));
  assert.equal(message, "not stored");
  assert.deepEqual(
    cause.errors.map(({ message, code }: { message: string; code?: string }) => [message, code]),
    [
      ["no space", "ENOSPC"],
      ["i/o error", undefined],
    ],
  );
  assert.doesNotMatch(JSON.stringify([cause, rest]), /secret/);
});

test("endlessly nested errors are logged to a limited depth", () => {
  const endless = new AggregateError([], "endless");
  endless.errors.push(endless);
  assert.equal(written(endless).message, "endless");
});

test("an error that has a JSON form of its own, as of an HTTP client, is still logged without other properties", () => {
  class RequestError extends Error {
    readonly headers = { Authorization: "secret" };
    toJSON() {
      return { message: this.message, headers: this.headers };
    }
  }
  const error = written(new RequestError("status 500"));
  assert.deepEqual(Object.keys(error), ["name", "message", "stack"]);
  assert.equal(error.message, "status 500");
});
