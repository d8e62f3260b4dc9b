/**
 * Deliveries go to the address that was checked, and only if who answers there has a certificate for the name.
 */

import assert from "node:assert/strict";
import { isIP } from "node:net";
import { before, describe, test } from "node:test";
import { createWebhooks } from "../../adapters/webhooks/mod.ts";
import { startForwardProxy } from "../server/forward-proxy.ts";
import { type Certificate, makeCertificate } from "../support/certificates.ts";
import { makeScratch } from "../support/folder.ts";
import { inProcess, openFixture } from "../support/harness.ts";
import { runScript } from "../support/script-process.ts";
import { hook, say, untilNewest } from "./hooks.ts";
import { startReceiver } from "./receiver.ts";
import type { Addressee, Outcome } from "./tell.ts";
import { type Seen, startTlsReceiver } from "./tls-receiver.ts";

const folder = await makeScratch("twins-tls");
const authority = makeCertificate(folder, "DNS:authority.test");
const stranger = makeCertificate(folder, "DNS:stranger.test");
const sign = (hosts: string, days = 2) => makeCertificate(folder, hosts, { authority, days });

/** Has a program tell receivers, which trusts the authority. */
async function tellAll(addressees: readonly Addressee[], variables = {}): Promise<Outcome[]> {
  const trust = { NODE_EXTRA_CA_CERTS: authority?.file ?? "" };
  const list = JSON.stringify(addressees);
  const { stdout, stderr } = await runScript("test/webhooks/tell.ts", [list], { ...trust, ...variables });
  assert.notEqual(stdout, "", stderr);
  return JSON.parse(stdout);
}

const delivered: Outcome = { status: "delivered", lastStatus: 204 };
const failed = (problem: string): Outcome => ({ status: "pending", lastStatus: null, problem });
const otherName = failed("ERR_TLS_CERT_ALTNAME_INVALID");

/** An address of the public internet that is nobody's: IANA has not given it away. */
const nobodys = "2d00::1";

/** A receiver, and the hosts whose webhooks resolve to it, each with what becomes of its try. */
interface Case {
  readonly has: string;
  readonly certificate: Certificate | undefined;
  readonly address: string;
  readonly tries: readonly (readonly [host: string, outcome: Outcome])[];
}

const cases: readonly Case[] = [
  {
    // No name profits from what a connection to the same address has shown for another one.
    has: "a certificate for a name",
    certificate: sign("DNS:receiver.test"),
    address: "127.0.0.1",
    tries: [
      ["receiver.test", delivered],
      ["other.test", otherName],
      ["127.0.0.1", otherName],
      ["RECEIVER.test", delivered],
    ],
  },
  {
    has: "a certificate for a name, at an IPv6 address",
    certificate: sign("DNS:receiver.test"),
    address: "::1",
    tries: [
      ["receiver.test", delivered],
      ["other.test", otherName],
      ["[::1]", otherName],
    ],
  },
  {
    has: "a certificate for its address",
    certificate: sign("IP:127.0.0.1"),
    address: "127.0.0.1",
    tries: [
      ["127.0.0.1", delivered],
      ["receiver.test", otherName],
    ],
  },
  {
    has: "a certificate for its IPv6 address",
    certificate: sign("IP:::1"),
    address: "::1",
    tries: [
      ["[::1]", delivered],
      ["receiver.test", otherName],
    ],
  },
  {
    has: "a certificate for each name of a domain",
    certificate: sign("DNS:*.receiver.test"),
    address: "127.0.0.1",
    tries: [
      ["hooks.receiver.test", delivered],
      ["receiver.test", otherName],
      ["a.hooks.receiver.test", otherName],
    ],
  },
  {
    has: "a certificate whose name only looks like an address",
    certificate: sign("DNS:127.0.0.1"),
    address: "127.0.0.1",
    tries: [["127.0.0.1", otherName]],
  },
  {
    has: "a certificate that has expired",
    certificate: sign("DNS:receiver.test", -1),
    address: "127.0.0.1",
    tries: [["receiver.test", failed("CERT_HAS_EXPIRED")]],
  },
  {
    has: "a certificate that it has signed itself",
    certificate: makeCertificate(folder, "DNS:receiver.test"),
    address: "127.0.0.1",
    tries: [["receiver.test", failed("DEPTH_ZERO_SELF_SIGNED_CERT")]],
  },
  {
    has: "a certificate of an authority that nobody trusts",
    certificate: makeCertificate(folder, "DNS:receiver.test", { authority: stranger }),
    address: "127.0.0.1",
    tries: [["receiver.test", failed("UNABLE_TO_VERIFY_LEAF_SIGNATURE")]],
  },
];

describe("deliveries over TLS", { skip: !authority && "this machine has no openssl" }, () => {
  const results = new Map<Case, { readonly outcomes: readonly Outcome[]; readonly seen: Seen }>();

  before(async () => {
    if (!authority) return; // Bun and Deno come here all the same
    const receivers = await Promise.all(
      cases.map(({ certificate, address }) => startTlsReceiver(certificate ?? authority, address)),
    );
    const lists = cases.map(({ address, tries }, index) =>
      tries.map(([host]) => ({ url: `https://${host}:${receivers[index]?.port}/hooks`, address })),
    );
    const outcomes = await tellAll(lists.flat());
    for (const [index, one] of cases.entries()) {
      const seen = await receivers[index]?.close();
      if (seen) results.set(one, { outcomes: outcomes.splice(0, one.tries.length), seen });
    }
  });

  for (const one of cases) {
    const names = one.tries.filter(([, outcome]) => outcome === delivered).map(([host]) => host);
    test(`a receiver that has ${one.has} is told ${names.length > 0 ? `as ${names.join(", ")} only` : "nothing"}`, () => {
      const { outcomes = [], seen: { hellos, sent } = {} } = results.get(one) ?? {};
      assert.deepEqual(
        outcomes,
        one.tries.map(([, outcome]) => outcome),
      );
      // Each on a connection of its own, which asks for the very name. Of an address, TLS has none.
      assert.deepEqual(
        hellos,
        one.tries.map(([host]) => ({
          serverName: isIP(host.replace(/^\[|\]$/g, "")) ? undefined : host.toLowerCase(),
          protocols: [],
        })),
      );
      const requests = sent?.filter((text) => text !== "") ?? [];
      assert.equal(requests.length, names.length);
      for (const request of requests) assert.match(request, /^POST \/hooks HTTP\/1\.1\r\n[\s\S]*\}\}$/);
    });
  }

  test("no proxy of the environment is used, over TLS or without", async (t) => {
    const certificate = sign("DNS:receiver.test");
    assert.ok(certificate);
    const receiver = await startTlsReceiver(certificate, "127.0.0.1");
    const plain = await startReceiver();
    const proxy = await startForwardProxy(0);
    t.after(() => proxy.close());
    const outcomes = await tellAll(
      [
        { url: `https://receiver.test:${receiver.port}/hooks`, address: "127.0.0.1" },
        { url: `http://receiver.test:${new URL(plain.url).port}/hooks`, address: "127.0.0.1" },
      ],
      {
        NODE_USE_ENV_PROXY: "1",
        HTTPS_PROXY: proxy.url,
        HTTP_PROXY: proxy.url,
        ALL_PROXY: proxy.url,
      },
    );
    await receiver.close();
    assert.deepEqual([outcomes, proxy.asked], [[delivered, delivered], []]);
  });

  for (const addresses of [
    ["127.0.0.1", nobodys],
    [nobodys, "127.0.0.1"],
  ])
    test(`no connection goes to the private one of two addresses: ${addresses.join(", ")}`, async () => {
      const certificate = sign("DNS:receiver.test");
      assert.ok(certificate);
      const receiver = await startTlsReceiver(certificate, "127.0.0.1");
      let problem: unknown;
      await using fixture = await openFixture(inProcess, {
        webhooks: createWebhooks({ lookUp: async () => addresses }),
        log: (_level, _message, fields) => {
          problem ??= fields?.problem;
        },
      });
      const { id } = await hook(fixture, `https://receiver.test:${receiver.port}/hooks`);
      const key = await fixture.key();
      const began = fixture.clock.now();
      await say(fixture, key, await fixture.conversation(key), { role: "assistant" });
      await untilNewest(fixture, id, async ({ nextAttemptAt }) => {
        if (fixture.clock.now() < began + 10_000) await fixture.clock.advance(1_000); // where no one says that it is away
        return Date.parse(nextAttemptAt ?? "") > fixture.clock.now();
      });
      assert.notEqual(problem, "address"); // the public one was tried
      assert.deepEqual(await receiver.close(), { hellos: [], sent: [] });
    });
});
