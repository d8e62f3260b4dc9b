import assert from "node:assert/strict";
import { generateKeyPair } from "node:crypto";
import { createServer } from "node:http";
import { createServer as createConnections } from "node:net";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { promisify } from "node:util";
import { exportJWK, SignJWT } from "jose";
import { hang, type ModelServer, models, startModelServer } from "../openai-models/model-server.ts";
import { type Certificate, makeCertificate } from "../support/certificates.ts";
import type { Variables } from "../support/child-process.ts";
import { dataOf } from "../support/harness.ts";
import { listen } from "../support/ports.ts";
import { runtime } from "../support/runtime.ts";
import { call, converse, createKey, createScratch } from "./fixture.ts";
import { startForwardProxy } from "./forward-proxy.ts";
import { type ServerProcess, startServer } from "./process.ts";

const scratch = await createScratch();
const { folder } = await scratch({ "talker.md": "---\nname: Talker\nengine: openai\n---\nYou talk.\n" });

const secret = "a secret of more than thirty-two bytes";
const token = await mint(new TextEncoder().encode(secret), "HS256");

function mint(key: Parameters<SignJWT["sign"]>[0], alg: string): Promise<string> {
  return new SignJWT({ sub: "alice" }).setProtectedHeader({ alg }).setExpirationTime("1h").sign(key);
}

/** A server with one twin, which asks a model. */
async function start(t: TestContext, variables: Variables): Promise<ServerProcess> {
  const flags = ["--twins", join(folder, "twins"), "--database", "memory:"];
  const server = await startServer(flags, { JWT_SECRET: secret, ...variables });
  t.after(() => server.stop());
  return server;
}

async function startModel(t: TestContext): Promise<ModelServer> {
  const model = await startModelServer();
  t.after(() => model.close());
  return model;
}

/** A proxy in front of a model, whatever host it is asked for. */
async function startProxy(t: TestContext, { baseUrl }: ModelServer, certificate?: Certificate) {
  const proxy = await startForwardProxy(Number(new URL(baseUrl).port), certificate);
  t.after(() => proxy.close());
  return proxy;
}

/** What the twin replies, as a client sees it. */
async function ask(server: ServerProcess, credential = token): Promise<string> {
  const key = await createKey(server, credential);
  const reply = await call(await converse(server, key, "talker"), "POST", key, { content: "Hello?" });
  return (await dataOf<{ content: string }>(reply)).content;
}

describe("the model's address is asked once at the start", () => {
  test("a server that lacks the model is warned of, with address and model, and the start goes on", async (t) => {
    const model = await startModel(t);
    model.scriptModels(models("large", "huge"));
    const server = await start(t, {
      MODEL_BASE_URL: model.baseUrl,
      MODEL_API_KEY: "sk-1",
      MODEL_NAME: "small",
    });
    const { level, address, model: name, problem } = await server.logged("replies of a model may fail");
    assert.deepEqual([level, address, name], ["warn", model.baseUrl, "small"]);
    assert.equal(problem, "it does not have the model; it has large, huge");
    assert.deepEqual(
      model.probes.map(({ headers }) => headers.authorization),
      ["Bearer sk-1"],
    );
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

  test("a server that has the model causes no warning", async (t) => {
    const model = await startModel(t);
    model.scriptModels(models("small"));
    const server = await start(t, { MODEL_BASE_URL: model.baseUrl, MODEL_NAME: "small" });
    await ask(server);
    const { stderr } = await server.stop();
    assert.equal(model.probes.length, 1);
    assert.doesNotMatch(stderr, /"level":"warn"/);
  });
});

describe("proxies that the environment names", () => {
  test("have no process end where a server closes its connection while its answer is read", {
    timeout: 60_000,
  }, async (t) => {
    const listener = createConnections((socket) => {
      socket.on("error", () => {});
      const reset = () => socket.resetAndDestroy();
      socket.once("data", () => socket.write(`HTTP/1.1 200 OK\r\n\r\n${" ".repeat(300_000)}`, reset));
    });
    const baseUrl = `http://127.0.0.1:${await listen(listener)}/v1`;
    t.after(() => listener.close());
    const proxies = { HTTP_PROXY: "http://127.0.0.1:1", NO_PROXY: "127.0.0.1" };
    const server = await start(t, { MODEL_BASE_URL: baseUrl, MODEL_NAME: "m", ...proxies }); // asks for its models
    const closed = server.logged("a server closed a connection while its answer was being read");
    // Seldom, all is read before the end: then it is no list of models.
    await Promise.race([closed, server.logged("replies of a model may fail")]);
    assert.equal((await fetch(`${server.url}/readyz`)).status, 200);
  });

  test("are used for http addresses, without a tunnel", async (t) => {
    const model = await startModel(t);
    const proxy = await startProxy(t, model);
    const server = await start(t, { MODEL_BASE_URL: "http://model.test/v1", HTTP_PROXY: proxy.url });
    assert.equal(await ask(server), "Hello!");
    assert.deepEqual(
      new Set(proxy.asked),
      new Set(["GET http://model.test/v1/models", "POST http://model.test/v1/chat/completions"]),
    );
  });

  test("are not used for what NO_PROXY lists", async (t) => {
    const model = await startModel(t);
    const proxy = await startProxy(t, model);
    const proxies = { HTTP_PROXY: proxy.url, HTTPS_PROXY: proxy.url, NO_PROXY: "example.com,127.0.0.1" };
    const server = await start(t, { MODEL_BASE_URL: model.baseUrl, ...proxies });
    assert.equal(await ask(server), "Hello!");
    assert.deepEqual(proxy.asked, []);
  });

  const certificate = makeCertificate(folder, "DNS:model.test");
  test("are used for https addresses, through a tunnel", {
    skip:
      (runtime !== "node" && `${runtime} trusts certificates in ways of its own`) ||
      (!certificate && "this machine has no openssl"),
  }, async (t) => {
    const model = await startModel(t);
    const proxy = await startProxy(t, model, certificate);
    const trust = { NODE_EXTRA_CA_CERTS: certificate?.file ?? "" };
    const address = "https://model.test/v1";
    const server = await start(t, { MODEL_BASE_URL: address, HTTPS_PROXY: proxy.url, ...trust });
    assert.equal(await ask(server), "Hello!");
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
      JWT_AUDIENCE: "any",
      HTTP_PROXY: proxy.url,
      NO_PROXY: "127.0.0.1",
      MODEL_BASE_URL: model.baseUrl,
    });
    assert.equal(await ask(server, await mint(privateKey, "ES256")), "Hello!");
    assert.deepEqual(proxy.asked, ["GET http://id.test/jwks"]);
  });
});
