/**
 * The server tells real receivers over TLS: only who has a certificate of an authority that it trusts, for the very name.
 */

import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { signToken } from "../../core/auth/jwt.ts";
import type { CreatedWebhookResource, DeliveryResource } from "../../core/wire/schemas.ts";
import { makeCertificate } from "../support/certificates.ts";
import { makeScratch } from "../support/folder.ts";
import { dataOf, jsonRequest } from "../support/harness.ts";
import { until } from "../support/until.ts";
import { startTlsReceiver } from "../webhooks/tls-receiver.ts";
import { type ServerProcess, startServer } from "./process.ts";

const folder = await makeScratch("twins-tls");

const authority = makeCertificate(folder, "DNS:authority.test");
const own = makeCertificate(folder, "DNS:localhost,IP:127.0.0.1", { authority });
const others = makeCertificate(folder, "DNS:other.test", { authority });
const unknown = makeCertificate(folder, "DNS:localhost,IP:127.0.0.1");

const untold = (name: string | undefined) => {
  return { status: "pending", lastStatus: null, names: [name], requests: 0 };
};

describe("webhooks over TLS", { skip: !authority && "this machine has no openssl" }, () => {
  const secret = "a secret for tests, which is 32 bytes long";
  let server: ServerProcess;
  let token: string;

  before(async () => {
    const twins = join(folder, "twins");
    mkdirSync(twins);
    writeFileSync(join(twins, "echo.md"), "---\nname: Echo\nengine: echo\n---\nRepeat.\n");
    server = await startServer([], {
      TWINS_DIR: twins,
      DATABASE_URL: "memory:",
      JWT_SECRET: secret,
      WEBHOOK_HOSTS: "localhost,127.0.0.1",
      NODE_EXTRA_CA_CERTS: authority?.file ?? "",
    });
    token = await signToken({ secret, sub: "owner", expiresInSeconds: 600 });
  });

  after(() => server?.stop("SIGKILL"));

  function call(method: string, credential: string, path: string, body?: object): Promise<Response> {
    return fetch(`${server.url}/api/v1${path}`, { method, ...jsonRequest(credential, body) });
  }

  /** Has something happen that is told. */
  async function happen(): Promise<void> {
    const made = { name: "webhooks", scope: "full_access" };
    const { key } = await dataOf<{ key: string }>(await call("POST", token, "/auth/api-keys", made));
    const conversation = await call("POST", key, "/conversations", { twinId: "echo" });
    const { id } = await dataOf<{ id: string }>(conversation);
    await call("POST", key, `/conversations/${id}/messages`, { role: "assistant", content: "I am Eva." });
  }

  /** The one delivery to a webhook, once it was tried. */
  async function triedOnce(path: string): Promise<DeliveryResource> {
    let tried: DeliveryResource | undefined;
    await until("the receiver was tried", 5_000, async () => {
      const deliveries = await dataOf<DeliveryResource[]>(await call("GET", token, `${path}/deliveries`));
      tried = deliveries.find(({ status, createdAt, nextAttemptAt }) => {
        return status !== "pending" || Date.parse(nextAttemptAt ?? "") > Date.parse(createdAt);
      });
      return tried !== undefined;
    });
    assert.ok(tried);
    return tried;
  }

  /** What became of the first try to tell a receiver, by which names it was asked for, and how many requests arrived. */
  async function tell(host: string, certificate: typeof own) {
    assert.ok(certificate);
    const receiver = await startTlsReceiver(certificate, host);
    const url = `https://${host}:${receiver.port}/hooks`;
    const { id } = await dataOf<CreatedWebhookResource>(await call("POST", token, "/webhooks", { url }));
    await happen();
    const { status, lastStatus } = await triedOnce(`/webhooks/${id}`);
    await call("DELETE", token, `/webhooks/${id}`);
    const { hellos, sent } = await receiver.close();
    const names = hellos.map(({ serverName }) => serverName);
    return { status, lastStatus, names, requests: sent.filter((text) => text !== "").length };
  }

  test("a receiver with a certificate for its name is told, by that name", async () => {
    assert.deepEqual(await tell("localhost", own), {
      status: "delivered",
      lastStatus: 204,
      names: ["localhost"],
      requests: 1,
    });
  });

  test("a receiver at an address is told, with a certificate for that", async () => {
    assert.deepEqual(await tell("127.0.0.1", own), {
      status: "delivered",
      lastStatus: 204,
      names: [undefined],
      requests: 1,
    });
  });

  test("a receiver with a certificate for another name is told nothing", async () => {
    assert.deepEqual(await tell("localhost", others), untold("localhost"));
    const { problem } = await server.logged("a webhook was not told; it will be tried again");
    assert.equal(problem, "ERR_TLS_CERT_ALTNAME_INVALID");
  });

  test("a receiver with a certificate of an authority that nobody trusts is told nothing", async () => {
    assert.deepEqual(await tell("localhost", unknown), untold("localhost"));
    assert.deepEqual(await tell("127.0.0.1", unknown), untold(undefined));
  });
});
