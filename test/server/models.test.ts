import assert from "node:assert/strict";
import { generateKeyPair } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, type TestContext, test } from "node:test";
import { promisify } from "node:util";
import { exportJWK, SignJWT } from "jose";
import {
  hang,
  type ModelServer,
  models,
  refuse,
  refusingBaseUrl,
  type Script,
  send,
  startModelServer,
} from "../openai/model-server.ts";
import type { Variables } from "../support/child-process.ts";
import { dataOf } from "../support/harness.ts";
import { listen } from "../support/ports.ts";
import { runtime } from "../support/runtime.ts";
import { makeCertificate, startForwardProxy } from "./forward-proxy.ts";
import { type ServerProcess, startServer } from "./process.ts";

const folder = await mkdtemp(join(tmpdir(), "twin-service-models-"));
after(() => rm(folder, { recursive: true, force: true }));
await writeFile(join(folder, "talker.md"), "---\nname: Talker\nengine: openai\n---\nYou talk.\n");

const secret = "a secret of more than thirty-two bytes";

/** A server with one twin, which asks a model. */
async function start(t: TestContext, variables: Variables): Promise<ServerProcess> {
  const flags = ["--twins", folder, "--database", "memory:"];
  const server = await startServer(flags, { JWT_SECRET: secret, ...variables });
  t.after(() => server.stop());
  return server;
}

async function startModel(t: TestContext): Promise<ModelServer> {
  const model = await startModelServer();
  t.after(() => model.close());
  return model;
}

async function post(url: string, credential: string, body: object): Promise<Response> {
  const headers = { Authorization: `Bearer ${credential}`, "Content-Type": "application/json" };
  return fetch(url, { method: "POST", headers, body: JSON.stringify(body) });
}

/** What the twin replies, as a client sees it. */
async function ask({ url }: ServerProcess, token: string): Promise<string> {
  const api = `${url}/api/v1`;
  const asked = await post(`${api}/auth/api-keys`, token, { name: "test", scope: "full_access" });
  const { key } = await dataOf<{ key: string }>(asked);
  const { id } = await dataOf<{ id: string }>(await post(`${api}/conversations`, key, { twinId: "talker" }));
  const reply = await post(`${api}/conversations/${id}/messages`, key, { content: "Hello?" });
  return (await dataOf<{ content: string }>(reply)).content;
}

function mint(key: CryptoKey | Uint8Array | Parameters<SignJWT["sign"]>[0], alg: string): Promise<string> {
  return new SignJWT({ sub: "alice" }).setProtectedHeader({ alg }).setExpirationTime("1h").sign(key);
}

describe("the model's address is asked once at the start", () => {
  const warning = "replies of a model may fail";
  const problems: readonly [string, Script, string | undefined, RegExp][] = [
    ["lacks the model", models("large", "huge"), "small", /^it does not have the model; it has large, huge$/],
    ["has no models", models(), "small", /it has none$/],
    ["refuses", refuse(401), "small", /^it answers GET \/models with status 401$/],
    ["lists nothing", send("{}"), "small", /^it does not answer GET \/models with a list$/],
    ["sends HTML", send("<html>"), "small", /^it does not answer GET \/models with a list \(SyntaxError\)$/],
    [
      "has several, and none is named",
      models("large", "small"),
      undefined,
      /name a model .+ has large, small$/,
    ],
  ];
  for (const [kind, script, name, problem] of problems) {
    test(`a server that ${kind} is warned of, with address and model, and the start goes on`, async (t) => {
      const model = await startModel(t);
      model.scriptModels(script);
      const server = await start(t, {
        MODEL_BASE_URL: model.baseUrl,
        MODEL_API_KEY: "sk-1",
        ...(name && { MODEL_NAME: name }),
      });
      const entry = await server.logged(warning);
      assert.equal(entry.level, "warn");
      assert.equal(entry.address, model.baseUrl);
      assert.equal(entry.model, name ?? null);
      assert.match(String(entry.problem), problem);
      assert.equal(model.probes.length, 1);
      assert.equal(model.probes[0]?.headers.authorization, "Bearer sk-1");
      assert.equal((await fetch(`${server.url}/readyz`)).status, 200);
    });
  }

  test("an address where nothing listens is warned of, and the start goes on", async (t) => {
    const address = await refusingBaseUrl();
    const server = await start(t, { MODEL_BASE_URL: address, MODEL_NAME: "small" });
    const entry = await server.logged(warning);
    assert.deepEqual([entry.address, entry.model], [address, "small"]);
    assert.match(String(entry.problem), /^it does not answer GET \/models with a list \(\w+\)$/);
    assert.equal((await fetch(`${server.url}/readyz`)).status, 200);
  });

  test("a server that does not answer the question delays neither the start nor the end", async (t) => {
    const model = await startModel(t);
    model.scriptModels(hang);
    const server = await start(t, { MODEL_BASE_URL: model.baseUrl });
    assert.equal((await fetch(`${server.url}/readyz`)).status, 200);
    const { stderr } = await server.stop();
    assert.doesNotMatch(stderr, /replies of a model/);
  });

  for (const [kind, name, listed] of [
    ["has the model", "small", "small"],
    ["has the model with Ollama's tag", "small", "small:latest"],
    ["has the model in Gemini's folder", "small", "models/small"],
    ["has only one model, and none is named", undefined, "small"],
  ] as const) {
    test(`a server that ${kind} causes no warning`, async (t) => {
      const model = await startModel(t);
      model.scriptModels(models(listed));
      const server = await start(t, { MODEL_BASE_URL: model.baseUrl, ...(name && { MODEL_NAME: name }) });
      await ask(server, await mint(new TextEncoder().encode(secret), "HS256"));
      const { stderr } = await server.stop();
      assert.equal(model.probes.length, 1);
      assert.doesNotMatch(stderr, /"level":"warn"/);
    });
  }
});

describe("proxies that the environment names", () => {
  test("are used for http addresses, without a tunnel", async (t) => {
    const model = await startModel(t);
    const proxy = await startForwardProxy(portOf(model));
    t.after(() => proxy.close());
    const server = await start(t, { MODEL_BASE_URL: "http://model.test/v1", HTTP_PROXY: proxy.url });
    assert.equal(await ask(server, await mint(new TextEncoder().encode(secret), "HS256")), "Hello!");
    assert.deepEqual(
      new Set(proxy.asked),
      new Set(["GET http://model.test/v1/models", "POST http://model.test/v1/chat/completions"]),
    );
  });

  test("are not used for what NO_PROXY lists", async (t) => {
    const model = await startModel(t);
    const proxy = await startForwardProxy(portOf(model));
    t.after(() => proxy.close());
    const proxies = { HTTP_PROXY: proxy.url, HTTPS_PROXY: proxy.url, NO_PROXY: "example.com,127.0.0.1" };
    const server = await start(t, { MODEL_BASE_URL: model.baseUrl, ...proxies });
    assert.equal(await ask(server, await mint(new TextEncoder().encode(secret), "HS256")), "Hello!");
    assert.deepEqual(proxy.asked, []);
  });

  const certificate = makeCertificate("model.test");
  test("are used for https addresses, through a tunnel", {
    skip:
      (runtime !== "node" && `${runtime} trusts certificates in ways of its own`) ||
      (!certificate && "this machine has no openssl"),
  }, async (t) => {
    const model = await startModel(t);
    const proxy = await startForwardProxy(portOf(model), certificate);
    t.after(() => proxy.close());
    const trust = { NODE_EXTRA_CA_CERTS: certificate?.file ?? "" };
    const address = "https://model.test/v1";
    const server = await start(t, { MODEL_BASE_URL: address, HTTPS_PROXY: proxy.url, ...trust });
    assert.equal(await ask(server, await mint(new TextEncoder().encode(secret), "HS256")), "Hello!");
    assert.deepEqual(new Set(proxy.asked), new Set(["CONNECT model.test:443"]));
  });

  test("are used for the addresses of public keys, too", async (t) => {
    const { publicKey, privateKey } = await promisify(generateKeyPair)("ec", { namedCurve: "P-256" });
    const keys = { keys: [await exportJWK(publicKey)] };
    const issuer = createServer((_request, response) => response.end(JSON.stringify(keys)));
    const proxy = await startForwardProxy(await listen(issuer));
    t.after(() => Promise.all([proxy.close(), issuer.close()]));
    const model = await startModel(t);
    const server = await start(t, {
      JWT_SECRET: "",
      JWT_JWKS_URL: "http://id.test/jwks",
      HTTP_PROXY: proxy.url,
      NO_PROXY: "127.0.0.1",
      MODEL_BASE_URL: model.baseUrl,
    });
    assert.equal(await ask(server, await mint(privateKey, "ES256")), "Hello!");
    assert.deepEqual(proxy.asked, ["GET http://id.test/jwks"]);
  });
});

function portOf({ baseUrl }: ModelServer): number {
  return Number(new URL(baseUrl).port);
}
