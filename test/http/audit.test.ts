/**
 * What the log keeps for an audit: who did what to which object, and which credentials were refused, and why.
 */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { signToken } from "../../core/auth/jwt.ts";
import type { Log } from "../../core/mod.ts";
import type { CredentialRefused } from "../../core/observe.ts";
import type { ClientTokenResource, CreatedApiKeyResource } from "../../core/wire/schemas.ts";
import { dataOf, type Fixture, fixtureSecret, inProcess, openFixture } from "../support/harness.ts";

/** A service whose audit lines and refused credentials are noted. */
async function open() {
  const lines: Readonly<Record<string, unknown>>[] = [];
  const refused: CredentialRefused["reason"][] = [];
  const log: Log = (_, message, fields) => {
    if (message === "audit") lines.push({ ...fields });
  };
  const observe = { credentialRefused: ({ reason }: CredentialRefused) => void refused.push(reason) };
  const fixture = await openFixture(inProcess, { log, observe });
  const taken = () => lines.splice(0).map(({ requestId: _, ...line }) => line);
  return { fixture, taken, refused, [Symbol.asyncDispose]: () => fixture[Symbol.asyncDispose]() };
}

async function makeKey(fixture: Fixture): Promise<CreatedApiKeyResource> {
  const body = { name: "app", scope: "full_access" };
  return dataOf(await fixture.call("POST", "/auth/api-keys", await fixture.token(), body));
}

describe("the audit log", () => {
  test("has who did what to which object, with which result, and no secret", async () => {
    await using opened = await open();
    const { fixture, taken } = opened;
    const { key, id } = await makeKey(fixture);
    const owner = "alice";
    const none = { code: undefined, keyId: undefined };
    assert.deepEqual(taken(), [{ action: "create_key", object: id, result: "done", owner, ...none }]);
    const made = await fixture.call("POST", "/client-tokens", key, { endUser: "ann" });
    const { token } = await dataOf<ClientTokenResource>(made);
    await fixture.call("GET", "/end-users/ann/export", key);
    await fixture.call("GET", "/end-users/ann/export", token);
    await fixture.call("DELETE", "/client-tokens?endUser=ann", key);
    await fixture.call("DELETE", "/end-users/ann", key);
    await fixture.call("GET", "/twins", key);
    const by = { object: "ann", owner, keyId: id };
    const done = { ...by, result: "done", code: undefined };
    assert.deepEqual(taken(), [
      { action: "create_client_token", ...done },
      { action: "export_end_user", ...done },
      { action: "export_end_user", ...by, object: undefined, result: "refused", code: "insufficient_scope" },
      { action: "end_client_tokens", ...done },
      { action: "erase_end_user", ...done },
    ]);
    await fixture.call("DELETE", "/auth/api-keys/key_none", await fixture.token());
    await fixture.call("DELETE", `/auth/api-keys/${id}`, await fixture.token());
    assert.deepEqual(taken(), [
      {
        action: "revoke_key",
        object: "key_none",
        result: "refused",
        owner,
        ...none,
        code: "api_key_not_found",
      },
      { action: "revoke_key", object: id, result: "done", owner, ...none },
    ]);
  });

  test("has each refused credential with the reason, which its sender does not learn", async () => {
    await using opened = await open();
    const { fixture, taken, refused } = opened;
    const { key, id } = await makeKey(fixture);
    const made = await fixture.call("POST", "/client-tokens", key, { endUser: "ann", expiresInSeconds: 60 });
    const { token } = await dataOf<ClientTokenResource>(made);
    await using other = await openFixture(inProcess);
    const unknown = await other.key();
    fixture.clock.step(61_000);
    await fixture.call("DELETE", `/auth/api-keys/${id}`, await fixture.token());
    taken();
    const code = "invalid_api_key";
    const line = { action: "authenticate", result: "refused", code };
    const nobody = { owner: undefined, keyId: undefined };
    const ofKey = { owner: "alice", keyId: id };
    const bodies = new Set<string>();
    for (const [credential, expected] of [
      ["twin_short", { ...line, reason: "malformed", ...nobody }],
      [
        `${unknown.slice(0, -1)}${unknown.endsWith("0") ? "1" : "0"}`,
        { ...line, reason: "malformed", ...nobody },
      ],
      [unknown, { ...line, reason: "unknown", ...nobody }],
      [key, { ...line, reason: "revoked", ...ofKey }],
      [token, { ...line, reason: "expired", ...ofKey }],
    ] as const) {
      const answer = await fixture.call("GET", "/twins", credential);
      assert.equal(answer.status, 401);
      bodies.add((await answer.text()).replace(/req_\w+/, ""));
      assert.deepEqual(taken(), [expected]);
    }
    assert.equal(bodies.size, 1);
    assert.deepEqual(refused, ["malformed", "malformed", "unknown", "revoked", "expired"]);
  });

  test("has each refused JWT with the reason", async () => {
    await using opened = await open();
    const { fixture, taken } = opened;
    const { clock } = fixture;
    const sign = (secret: string, expiresInSeconds: number) =>
      signToken({ secret, sub: "alice", expiresInSeconds, clock });
    for (const [token, reason] of [
      ["none", "malformed"],
      [await sign("another secret of 32 bytes or more", 60), "signature"],
      [await sign(fixtureSecret, -60), "expired"],
    ] as const) {
      assert.equal((await fixture.call("GET", "/auth/api-keys", token)).status, 401);
      assert.deepEqual(
        taken().map((line) => [line.code, line.reason]),
        [["invalid_token", reason]],
      );
    }
  });

  test("has nothing of a request without a credential", async () => {
    await using opened = await open();
    const { fixture, taken, refused } = opened;
    assert.equal((await fixture.send("/api/v1/twins")).status, 401);
    assert.deepEqual([taken(), refused], [[], []]);
  });
});
