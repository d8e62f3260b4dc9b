/**
 * Deliveries to webhooks, as packages of others verify them by Standard Webhooks, and as the documentation says.
 */

import assert from "node:assert/strict";
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { before, describe, test } from "node:test";
import type * as Package from "openai";
import type * as StandardPackage from "standardwebhooks";
import { signatureHeaders } from "../../adapters/webhooks/message.ts";
import { createWebhooks } from "../../adapters/webhooks/mod.ts";
import { createEchoEngine, createTwinList, ModelError, type TwinEngine } from "../../core/mod.ts";
import { webhookEvents } from "../../core/store/webhooks.ts";
import { surroundings } from "../support/child-process.ts";
import { createManualClock } from "../support/clock.ts";
import { dataOf, inProcess, newTwin, openFixture } from "../support/harness.ts";
import { freePort, untilListening } from "../support/ports.ts";
import { until } from "../support/until.ts";
import { type Arrived, startReceiver } from "../webhooks/receiver.ts";
import { skip } from "./packages.ts";

/** Header fields as `fetch` has them. */
const fieldsOf = ({ headers }: Arrived) =>
  new Headers(Object.entries(headers).map(([name, value]) => [name, String(value)]));

/** What a receiver was told, of each kind of event, and the secrets of before and after a rotation. */
async function tellEverything() {
  const receiver = await startReceiver();
  const failing: TwinEngine = {
    async reply() {
      throw new ModelError("model_error", "away");
    },
  };
  const silent: TwinEngine = { reply: () => new Promise(() => {}) };
  const costly: TwinEngine = {
    async reply() {
      const usage = { inputTokens: 900, outputTokens: 0, totalTokens: 900, cachedInputTokens: null };
      return { finishReason: "stop", usage };
    },
  };
  const webhooks = createWebhooks({ hosts: [receiver.host] });
  const twins = createTwinList([
    newTwin({ id: "echo", handover: true }),
    ...["failing", "silent", "costly"].map((engine) => newTwin({ id: engine, engine })),
  ]);
  const engines = { echo: createEchoEngine(), failing, silent, costly };
  const clock = createManualClock(Date.now());
  await using fixture = await openFixture(inProcess, { webhooks, twins, engines }, clock);
  const { call } = fixture;
  const token = await fixture.token();
  const made = await call("POST", "/webhooks", token, { url: receiver.url });
  const { id, secret } = await dataOf<{ id: string; secret: string }>(made);
  const key = await fixture.key();
  const begin = async (twinId: string) => {
    const body = { twinId, endUser: "ünder 💬" };
    return (await dataOf<{ id: string }>(await call("POST", "/conversations", key, body))).id;
  };
  const send = (conversation: string, body: object = {}) =>
    call("POST", `/conversations/${conversation}/messages`, key, { content: "Hello", ...body });
  const conversation = await begin("echo");
  const reply = await dataOf<{ id: string }>(await send(conversation));
  await call("PUT", `/conversations/${conversation}/messages/${reply.id}/feedback`, key, { rating: "up" });
  await receiver.has(2);
  const rotated = await dataOf<{ secret: string }>(await call("POST", `/webhooks/${id}/rotate`, token));
  await send(conversation, { role: "assistant", answeredBy: "person" });
  await send(conversation);
  await send(await begin("failing"));
  const unheard = await begin("silent");
  await call("POST", `/conversations/${unheard}/messages/stream`, key, { content: "Hello?" });
  const { lastMessageId } = await dataOf<{ lastMessageId: string }>(
    await call("GET", `/conversations/${unheard}`, key),
  );
  await call("POST", `/conversations/${unheard}/messages/${lastMessageId}/cancel`, key);
  const limited = { name: "limited", scope: "full_access", tokensPerDay: 1_000 };
  const { key: other } = await dataOf<{ key: string }>(await call("POST", "/auth/api-keys", token, limited));
  const expensive = await begin("costly");
  await call("POST", `/conversations/${expensive}/messages`, other, { content: "Hello" });
  await receiver.has(8);
  await call("DELETE", `/end-users/${encodeURIComponent("ünder 💬")}`, key);
  await receiver.has(9);
  return { arrived: receiver.arrived, secret, next: rotated.secret };
}

/** All of it: the costly reply is one more that was completed. */
const told = [...webhookEvents, "reply.completed"].sort();

describe("deliveries, verified by packages of others", { skip }, () => {
  let openai: typeof Package;
  let standard: typeof StandardPackage;
  let everything: Awaited<ReturnType<typeof tellEverything>>;
  before(async () => {
    openai = await import("openai");
    standard = await import("standardwebhooks");
    everything = await tellEverything();
  });

  test("each kind is verified by openai's webhooks.unwrap, during a rotation with both secrets, and with no other", async () => {
    const { arrived, secret, next } = everything;
    const client = new openai.OpenAI({ apiKey: "none" });
    const unwrap = async (one: Arrived, by: string) =>
      ((await client.webhooks.unwrap(one.body, fieldsOf(one), by)) as { readonly type: string }).type;
    const types = await Promise.all(arrived.map((one) => unwrap(one, secret)));
    assert.deepEqual(types.sort(), told);
    for (const one of arrived.slice(2)) await unwrap(one, next);
    const [first] = arrived;
    assert.ok(first);
    await assert.rejects(unwrap(first, next), openai.InvalidWebhookSignatureError);
  });

  test("each kind is verified by standardwebhooks, during a rotation with both secrets, and with no other", () => {
    const { arrived, secret, next } = everything;
    const verify = ({ body, headers }: Arrived, by: string) =>
      new standard.Webhook(by).verify(body, headers as Record<string, string>) as { readonly type: string };
    assert.deepEqual(arrived.map((one) => verify(one, secret).type).sort(), told);
    for (const one of arrived.slice(2)) verify(one, next);
    const [first] = arrived;
    assert.ok(first);
    assert.throws(() => verify(first, next), standard.WebhookVerificationError);
    const other = { ...first, body: `${first.body} ` };
    assert.throws(() => verify(other, secret), standard.WebhookVerificationError);
  });

  test("the vectors of standardwebhooks have our signatures, and so has what it signs", () => {
    const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    const id = "msg_p5jXN8AQM9LWM0D4loKWxJek";
    const sign = (body: string, seconds: number) => {
      const keys = { secret, previousSecret: null, previousUntil: null };
      const made = signatureHeaders(id, body, keys as Parameters<typeof signatureHeaders>[2], seconds * 1000);
      return made["webhook-signature"];
    };
    const expected = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";
    assert.equal(sign('{"test": 2432232314}', 1_614_265_330), expected);
    const theirs = new standard.Webhook(secret);
    for (const body of ["", "{}", '{"a":"ü 💬 \\u0000"}', "x".repeat(70_000)])
      for (const seconds of [0, 1, 1_614_265_330, 4_102_444_800])
        assert.equal(sign(body, seconds), theirs.sign(id, new Date(seconds * 1000), body));
  });
});

/** A program that the documentation prints, with what has to be found on the machine to run it. */
interface Printed {
  readonly language: string;
  readonly file: string;
  readonly command: string;
}

/** Runs one as it is printed. `said`: what it has written so far. */
async function runPrinted({ language, file, command }: Printed, secret: string) {
  const docs = await readFile(new URL("../../docs/webhooks.md", import.meta.url), "utf8");
  const [, program = ""] = new RegExp(`\`\`\`${language}\n(.*?)\`\`\``, "s").exec(docs) ?? [];
  const folder = await mkdtemp(join(tmpdir(), "twins-webhooks-"));
  await writeFile(join(folder, file), program);
  const port = await freePort();
  const env = { ...surroundings, WEBHOOK_SECRET: secret, PORT: String(port) };
  const child: ChildProcess = spawn(command, [file], {
    cwd: folder,
    env,
    stdio: ["ignore", "pipe", "ignore"],
  });
  const ended = new Promise((resolve) => child.once("close", resolve));
  let said = "";
  child.stdout?.setEncoding("utf8").on("data", (text) => {
    said += text;
  });
  await untilListening(port);
  return {
    host: `127.0.0.1:${port}`,
    said: () => said,
    async [Symbol.asyncDispose]() {
      child.kill();
      await ended;
      await rm(folder, { recursive: true });
    },
  };
}

for (const printed of [
  { language: "js", file: "receiver.mjs", command: process.execPath, inChunks: 204 },
  { language: "py", file: "receiver.py", command: "python3", inChunks: 411 },
]) {
  const isThere = spawnSync(printed.command, ["--version"]).status === 0;
  const missing = !isThere && `needs ${printed.command}`;
  test(`the documentation's receiver in ${printed.file} takes what is signed, and nothing else`, {
    skip: missing,
  }, async () => {
    const secret = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;
    await using receiver = await runPrinted(printed, secret);
    const body = JSON.stringify({ type: "message.said", timestamp: "2026-11-28T09:30:00.000Z", data: {} });
    const post = async (headers: Record<string, string>, sent = body) =>
      (await fetch(`http://${receiver.host}/`, { method: "POST", headers, body: sent })).status;
    const signed = (by: string, previousSecret: string | null = null, ago = 0) => {
      const now = Date.now() - ago;
      const keys = { secret: by, previousSecret, previousUntil: now + 1 };
      return signatureHeaders("dlv_1", body, keys as Parameters<typeof signatureHeaders>[2], now);
    };
    const other = `whsec_${Buffer.alloc(32, 8).toString("base64")}`;
    assert.equal(await post(signed(secret)), 204);
    assert.equal(await post(signed(other, secret)), 204);
    assert.equal(await post(signed(other)), 400);
    assert.equal(await post(signed(secret), `${body} `), 400);
    assert.equal(await post(signed(secret, null, 6 * 60_000)), 400);
    assert.equal(await post({}), 400);
    await until("it says what it was told", 5_000, () => /message\.said/.test(receiver.said()));
    const chunks = new Blob([body]).stream();
    const init = { method: "POST", headers: signed(secret), body: chunks, duplex: "half" } as const;
    assert.equal((await fetch(`http://${receiver.host}/`, init)).status, printed.inChunks);
  });
}
