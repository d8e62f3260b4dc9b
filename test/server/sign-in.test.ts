/**
 * The link that signs in to the playground: its answers are those of the service, and the log keeps who signed in.
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Log } from "../../core/mod.ts";
import { readConfig } from "../../server/command-line.ts";
import { createSignIn } from "../../server/playground/sign-in.ts";
import { inProcess, openFixture } from "../support/harness.ts";

const secret = "a secret of the test, of 32 bytes or more";

test("each attempt has the header fields of every answer, and an audit line", async () => {
  const config = readConfig([], { JWT_SECRET: secret });
  assert.ok(config.command === "serve");
  const lines: Record<string, unknown>[] = [];
  const log: Log = (_, message, fields) => void lines.push({ message, ...fields });
  await using fixture = await openFixture(inProcess, { log });
  const signIn = createSignIn(config.settings, secret, log);
  const service = signIn?.beside(fixture.service);
  const code = signIn?.link("http://127.0.0.1:1").replace(/^.*#code=/, "");
  const audits: unknown[] = [];
  for (const [given, host, status] of [
    ["wrong", "127.0.0.1:1", 401],
    [code, "twins.example.com", 401],
    [code, "127.0.0.1:1", 200],
    [code, "127.0.0.1:1", 401],
  ] as const) {
    lines.length = 0;
    const headers = new Headers({ Authorization: `Bearer ${given}`, Host: host });
    const answer = await service?.answer({ method: "POST", url: "/sign-in", headers, body: null });
    assert.equal(answer?.status, status);
    const requestId = answer?.headers["X-Request-Id"];
    assert.match(requestId ?? "", /^req_/);
    assert.deepEqual(
      ["Cache-Control", "X-Content-Type-Options", "Content-Type"].map((name) => answer?.headers[name]),
      ["no-store", "nosniff", "application/json; charset=utf-8"],
    );
    const [request, audit] = lines;
    assert.deepEqual([request?.message, request?.status, request?.requestId], ["request", status, requestId]);
    assert.ok(!JSON.stringify(lines).includes(String(code)));
    audits.push([audit?.message, audit?.action, audit?.result, audit?.requestId === requestId]);
  }
  const refused = ["audit", "sign_in", "refused", true];
  assert.deepEqual(audits, [refused, refused, ["audit", "sign_in", "done", true], refused]);
});
