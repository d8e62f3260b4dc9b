/**
 * Credentials in what is logged.
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import { createJsonLog } from "../../adapters/json-log.ts";
import { clientTokens, createApiKey } from "../../core/auth/secrets.ts";
import { systemRandom } from "../../core/base/ids.ts";
import type { Log } from "../../core/mod.ts";
import { inProcess, openFixture } from "../support/harness.ts";

const { key, prefix } = createApiKey();
const { secret: clientToken } = clientTokens.create(systemRandom);
const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
const jwt = `${part({ alg: "HS256" })}.${part({ sub: "alice", exp: 1 })}.${"s".repeat(43)}`;
const spaced = `${Buffer.from('{ "alg": "HS256" }').toString("base64url")}.${part({ sub: "alice" })}.${"s".repeat(43)}`;
const webhookSecret = `whsec_${Buffer.from(Array.from({ length: 32 }, (_, at) => (at * 37 + 251) % 256)).toString("base64")}`;
assert.match(webhookSecret, /[+/].*=$/);
const encoded = (text: string, from: RegExp) =>
  text.replace(from, (character) => `%${character.charCodeAt(0).toString(16)}`);

/** How a credential may be written where it does not belong. */
const forms = [key, clientToken, jwt, spaced, webhookSecret]
  .flatMap((text) => [
    text,
    encoded(text, /[_.+/=-]/g),
    encoded(text, /[\w.+/=-]/g),
    encoded(text, /[\w.+/=-]/g).toUpperCase(),
    encoded(encoded(text, /[\w.+/=-]/g), /%/g),
  ])
  .flatMap((text) => [text, `Bearer%20${text}`, `key=${text}`]);

function assertNone(logged: string, form: string): void {
  let plain = logged;
  for (let depth = 0; depth < 3; depth++)
    plain = plain.replace(/%([0-9a-f]{2})/gi, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)));
  for (const secret of [key, clientToken, webhookSecret, ...jwt.split("."), ...spaced.split(".")])
    for (let at = 0; at + 24 <= secret.length; at += 8)
      assert.ok(!plain.toLowerCase().includes(secret.slice(at, at + 24).toLowerCase()), `${form}: ${logged}`);
}

test("no line of the log has a credential, however it is written and wherever it stands", () => {
  let line = "";
  const log = createJsonLog({
    write(text) {
      line = text;
    },
  });
  for (const form of forms) {
    const error = Object.assign(new Error(`no ${form}`, { cause: new Error(form) }), { code: form });
    for (const fields of [{ path: `/x/${form}` }, { deep: [{ [form]: form }] }, { error }, { error: form }]) {
      log("error", `odd ${form}`, fields);
      JSON.parse(line);
      assertNone(line, form);
    }
  }
  log("info", "request", {
    path: `/api/v1/twins/${prefix}`,
    object: "key_01m8hbvgjq9hyt1ssvytn7k065",
    twinId: "twin_two",
  });
  assert.match(
    line,
    new RegExp(`/api/v1/twins/${prefix}".+"key_01m8hbvgjq9hyt1ssvytn7k065","twinId":"twin_two"`),
  );
});

test("a host's own log gets no credential from the service, and an error as it is if there is none in it", async () => {
  const seen: string[] = [];
  const log: Log = (level, message, fields) => {
    const { error, ...rest }: { readonly error?: unknown } = { ...fields };
    seen.push(JSON.stringify({ level, message, ...rest }));
    if (error instanceof Error) seen.push(`${error.stack} ${error.message} ${error.cause}`);
  };
  await using fixture = await openFixture(inProcess, {
    log,
    authenticate: () => {
      throw new TypeError(`cannot read ${key}`, { cause: new Error(jwt) });
    },
  });
  for (const form of forms)
    await fixture.service.fetch(new Request(`http://twins.test/api/v1/nothing/${form}`));
  await fixture.service.fetch(new Request("http://twins.test/api/v1/twins"));
  assert.ok(
    seen.some((text) => text.includes("cannot read twin_…")),
    seen.at(-1),
  );
  for (const text of seen) assertNone(text, "");
});

test("a long text without a credential is read once", () => {
  let line = "";
  const log = createJsonLog({
    write(text) {
      line = text;
    },
  });
  const before = process.cpuUsage();
  for (const text of ["ey", "twin_", "%25", "eyJ", "%65y", "ey.", "%20ey", "twin_abc%2"]) {
    log("error", text.repeat(300_000 / text.length));
    assert.ok(line.length > 0);
  }
  assert.ok(process.cpuUsage(before).user < 5_000_000);
});
