/**
 * The addresses that webhooks may be at, as the package `ipaddr.js` judges them.
 */

import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import type Package from "ipaddr.js";
import { createWebhooks } from "../../adapters/webhooks/mod.ts";
import { createManualClock } from "../support/clock.ts";
import { skip } from "./packages.ts";

/** Ranges of the registries of special-purpose addresses, and others, at whose ends both are asked. */
const ranges = `
  0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.0.0/29 192.0.2.0/24
  192.31.196.0/24 192.52.193.0/24 192.88.99.0/24 192.168.0.0/16 192.175.48.0/24 198.18.0.0/15 198.51.100.0/24
  203.0.113.0/24 224.0.0.0/4 233.252.0.0/24 240.0.0.0/4 255.255.255.255/32 1.0.0.0/8 93.184.215.0/24
  ::/128 ::1/128 ::/96 ::ffff:0:0/96 ::ffff:0:0:0/96 64:ff9b::/96 64:ff9b:1::/48 100::/64 100:0:0:1::/64 2000::/3
  2001::/23 2001::/32 2001:1::1/128 2001:2::/48 2001:3::/32 2001:4:112::/48 2001:10::/28 2001:20::/28 2001:30::/28
  2001:db8::/32 2002::/16 2620:4f:8000::/48 3fff::/20 3ffe::/16 4000::/3 5f00::/16 fc00::/7 fd00::/8 fe00::/9 fe80::/10
  fec0::/10 ff00::/8 2606:2800::/32`;

describe("the addresses that webhooks may be at, judged by ipaddr.js", { skip }, () => {
  let ipaddr: typeof Package;
  before(async () => {
    ipaddr = (await import("ipaddr.js")).default;
  });

  /** The first and last addresses of a range, and those next to it. */
  function edgesOf(range: string): string[] {
    const [base, length] = ipaddr.parseCIDR(range);
    const bytes = base.toByteArray();
    const end = 1n << BigInt(bytes.length * 8);
    const size = end >> BigInt(length);
    const first = bytes.reduce((number, byte) => number * 256n + BigInt(byte), 0n) & -size;
    return [first - 1n, first, first + 1n, first + size - 1n, first + size]
      .filter((number) => number >= 0n && number < end)
      .map((number) => {
        const at = bytes.map((_, index) => Number((number >> BigInt(8 * (bytes.length - 1 - index))) & 255n));
        return ipaddr.fromByteArray(at).toString();
      });
  }

  test("what it calls special is refused; of the rest, only what is given to nobody", async () => {
    const webhooks = createWebhooks({ lookUp: () => assert.fail("no name is looked up") });
    const by = { owner: "ada", clock: createManualClock() };
    const addresses = new Set(ranges.trim().split(/\s+/).flatMap(edgesOf));
    let taken = 0;
    for (const address of addresses) {
      const parsed = ipaddr.parse(address);
      const isGiven = parsed.kind() === "ipv4" || parsed.match(ipaddr.parseCIDR("2000::/3"));
      const host = parsed.kind() === "ipv4" ? address : `[${address}]`;
      const isTaken = (await webhooks.check(`https://${host}/`, by)) === undefined;
      assert.equal(isTaken, isGiven && parsed.range() === "unicast", `${address} is ${parsed.range()}`);
      if (isTaken) taken++;
    }
    assert.ok(taken > 50 && taken < addresses.size - 100, `${taken} of ${addresses.size}`);
  });
});
