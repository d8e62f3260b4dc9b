import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { createWebhooks, type WebhookOptions } from "../../adapters/webhooks/mod.ts";
import { createManualClock } from "../support/clock.ts";

/** Names, and what they resolve to. */
const names: Readonly<Record<string, readonly string[]>> = {
  "public.test": ["93.184.215.14"],
  "public6.test": ["2606:2800:21f:cb07::1"],
  "private.test": ["10.0.0.8"],
  "both.test": ["10.0.0.8", "93.184.215.14"],
  "mapped.test": ["::ffff:93.184.215.14"],
  "hooks.internal": ["10.0.0.9"],
};

const lookUp: WebhookOptions["lookUp"] = async (name) => {
  const { [name]: found } = names;
  if (!found) throw new Error("ENOTFOUND");
  return found;
};

const by = { owner: "ada", clock: createManualClock() };

/** Whether an address can be told. */
async function isTaken(url: string, hosts: readonly string[] = []): Promise<boolean> {
  return (await createWebhooks({ hosts, lookUp }).check(url, by)) === undefined;
}

describe("the addresses of webhooks", () => {
  test("https: addresses of public hosts are taken", async () => {
    for (const url of [
      "https://public.test/hooks",
      "https://public.test:8443/hooks?to=me",
      "https://public6.test/",
      "https://both.test/", // at its public address
      "https://93.184.215.14/",
      "https://[2606:2800:21f:cb07::1]/",
    ])
      assert.equal(await isTaken(url), true, url);
  });

  test("what is no https: address of a host that resolves is refused", async () => {
    for (const url of [
      "http://public.test/",
      "ftp://public.test/",
      "https://nobody.test/",
      "https://user@public.test/",
      "https://user:password@public.test/",
      "https://public.test/#part",
      "public.test",
      "https://",
      "javascript:alert(1)",
    ])
      assert.equal(await isTaken(url), false, url);
  });

  test("addresses that are not of the public internet are refused, however they are written", async () => {
    for (const host of [
      "private.test",
      "mapped.test",
      "127.0.0.1",
      "127.1",
      "0x7f000001",
      "2130706433",
      "017700000001",
      "0.0.0.0",
      "10.1.2.3",
      "100.64.0.1",
      "169.254.169.254",
      "172.31.255.255",
      "192.0.0.1",
      "192.0.2.1",
      "192.88.99.1",
      "192.168.1.1",
      "198.18.0.1",
      "198.51.100.1",
      "203.0.113.1",
      "224.0.0.1",
      "240.0.0.1",
      "255.255.255.255",
      "[::]",
      "[::1]",
      "[::ffff:127.0.0.1]",
      "[::ffff:93.184.215.14]",
      "[::93.184.215.14]",
      "[64:ff9b::7f00:1]",
      "[64:ff9b::5db8:d70e]",
      "[64:ff9b:1::1]",
      "[100::1]",
      "[2001::1]",
      "[2001:db8::1]",
      "[2002:7f00:1::]",
      "[2620:4f:8000::1]",
      "[3fff::1]",
      "[5f00::1]",
      "[fc00::1]",
      "[fd12:3456::1]",
      "[fe80::1]",
      "[fec0::1]",
      "[ff02::1]",
    ])
      assert.equal(await isTaken(`https://${host}/`), false, host);
  });

  test("the neighbours of special ranges are public", async () => {
    for (const host of [
      "9.255.255.255",
      "11.0.0.0",
      "100.63.255.255",
      "100.128.0.0",
      "172.15.255.255",
      "172.32.0.0",
      "192.0.1.0",
      "198.17.255.255",
      "198.20.0.0",
      "223.255.255.255",
      "[2001:200::1]",
      "[2003::1]",
    ])
      assert.equal(await isTaken(`https://${host}/`), true, host);
  });

  test("hosts that the operator lists are taken, with any port or with theirs, also over http:", async () => {
    const hosts = ["hooks.internal", "127.0.0.1:9000", "[::1]:9000"];
    for (const url of [
      "http://hooks.internal/",
      "https://HOOKS.internal:8443/",
      "http://127.0.0.1:9000/hooks",
      "http://[::1]:9000/",
    ])
      assert.equal(await isTaken(url, hosts), true, url);
    for (const url of [
      "http://127.0.0.1:9001/",
      "http://127.0.0.1/",
      "http://hooks.internal.test/",
      "http://user@hooks.internal/",
      "http://[::1]:9001/",
    ])
      assert.equal(await isTaken(url, hosts), false, url);
    assert.equal(await isTaken("https://127.0.0.1/", ["127.0.0.1:443"]), true);
    assert.equal(await isTaken("http://127.0.0.1/", ["127.0.0.1:80"]), true);
  });

  test("options that cannot be used are refused", () => {
    for (const hosts of [
      ["http://a.test"],
      ["a.test/b"],
      ["a.test:0"],
      ["a.test:65536"],
      [""],
      [1],
      "a.test",
    ]) {
      assert.throws(() => createWebhooks({ hosts } as never), {
        name: "TypeError",
        message: /^createWebhooks: hosts must be a list of hosts such as/,
      });
    }
    assert.throws(() => createWebhooks({ lookUp: "dns" } as never), /^TypeError: createWebhooks: lookUp/);
  });
});
