/**
 * What every store must do about keys.
 *
 * @module
 */

import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import type { Store } from "../../core/store/store.ts";
import { key, newOwner, start } from "./store-records.ts";

/** The part of the store's suite about keys. */
export function keysContract(open: () => Store): void {
  describe("keys", () => {
    let store: Store;
    before(() => {
      store = open();
    });

    test("a key is stored unchanged", async () => {
      const record = key(newOwner(), {
        scope: "full_access",
        requestsPerHour: 7,
        name: "Zoë's 🤖 laptop",
        expiresAt: start + 5,
        createdAt: Date.UTC(2290, 5, 5) + 1,
      });
      assert.equal(await store.createKey(record, 50), "created");
      assert.deepEqual(await store.findKey(record.hash), record);
    });

    test("a key of any owner is found by its id, and by what it begins with", async () => {
      const [one, other] = ["one", "other"].map((name) => key(newOwner(), { name, prefix: "twin_operator" }));
      assert.ok(one && other);
      for (const record of [one, other]) await store.createKey(record, 50);
      assert.deepEqual(await store.findKeys({ id: one.id }), [one]);
      const names = (await store.findKeys({ prefix: "twin_operator" })).map(({ name }) => name);
      assert.deepEqual(names.sort(), ["one", "other"]);
      for (const by of [{ id: "key_none" }, { prefix: "twin_operato" }])
        assert.deepEqual(await store.findKeys(by), []);
    });

    test("an owner's keys are listed newest first, by time and then by id", async () => {
      const owner = newOwner();
      const a = key(owner, { createdAt: start + 1 });
      const b = key(owner, { createdAt: start });
      const c = key(owner, { createdAt: start + 1 });
      for (const record of [c, a, b]) await store.createKey(record, 50);
      const listing = await store.listKeys(owner, { offset: 0, limit: 20 });
      assert.deepEqual(listing, { items: [c, a, b], total: 3 });
    });

    test("a page of keys has the requested offset and limit, and the total of all", async () => {
      const owner = newOwner();
      for (let n = 0; n < 5; n++)
        await store.createKey(key(owner, { createdAt: start + n, name: `${n}` }), 50);
      const page = async (offset: number, limit: number) => {
        const { items, total } = await store.listKeys(owner, { offset, limit });
        return [total, ...items.map(({ name }) => name)];
      };
      assert.deepEqual(await page(1, 2), [5, "3", "2"]);
      assert.deepEqual(await page(9, 2), [5]);
    });

    test("another owner's keys are not listed", async () => {
      await store.createKey(key(newOwner()), 50);
      assert.deepEqual(await store.listKeys(newOwner(), { offset: 0, limit: 20 }), { items: [], total: 0 });
    });

    test("revoking returns the key with the time of its revocation", async () => {
      const record = key(newOwner());
      await store.createKey(record, 50);
      const revoked = { ...record, revokedAt: start + 7 };
      assert.deepEqual(await store.updateKey(record.owner, record.id, { revokedAt: start + 7 }), revoked);
      assert.deepEqual(await store.findKey(record.hash), revoked);
    });

    test("revoking a second time changes nothing", async () => {
      const record = key(newOwner());
      await store.createKey(record, 50);
      await store.updateKey(record.owner, record.id, { revokedAt: start + 7 });
      const again = await store.updateKey(record.owner, record.id, { revokedAt: start + 9 });
      assert.equal(again?.revokedAt, start + 7);
    });

    test("another owner's key cannot be revoked", async () => {
      const record = key(newOwner());
      await store.createKey(record, 50);
      assert.equal(await store.updateKey(newOwner(), record.id, { revokedAt: start + 7 }), undefined);
      assert.deepEqual(await store.findKey(record.hash), record);
    });

    test("a key's last use is recorded, and an earlier one does not replace it", async () => {
      const record = key(newOwner());
      await store.createKey(record, 50);
      await store.updateKey(record.owner, record.id, { lastUsedAt: start + 20 });
      await store.updateKey(record.owner, record.id, { lastUsedAt: start + 10 });
      await store.updateKey(newOwner(), record.id, { lastUsedAt: start + 30 });
      assert.equal((await store.findKey(record.hash))?.lastUsedAt, start + 20);
    });

    test("a rotated key has another secret, is found by the one before, too, and is otherwise as it was", async () => {
      const record = key(newOwner(), { expiresAt: start + 100 });
      await store.createKey(record, 50);
      const [second, third] = [key(""), key("")].map(({ hash }) => hash);
      assert.ok(second && third);
      const rotate = (hash: string, at: number) =>
        store.rotateKey(
          record.owner,
          record.id,
          { hash, prefix: hash.slice(0, 12), previousUntil: at + 9 },
          at,
        );
      const rotated = {
        ...record,
        ...{ hash: second, prefix: second.slice(0, 12) },
        ...{ previousHash: record.hash, previousUntil: start + 10 },
      };
      assert.deepEqual(await rotate(second, start + 1), rotated);
      assert.deepEqual(await store.getKey(record.owner, record.id), rotated);
      assert.deepEqual(await store.findKeys({ id: record.id }), [rotated]);
      for (const hash of [record.hash, second]) assert.deepEqual(await store.findKey(hash), rotated);
      await rotate(third, start + 2);
      assert.equal(await store.findKey(record.hash), undefined, "the one before the last");
      assert.equal((await store.findKey(second))?.hash, third);
      assert.deepEqual((await store.listKeys(record.owner, { offset: 0, limit: 5 })).total, 1);
    });

    test("of two rotations at once, the secrets of both remain", async () => {
      const record = key(newOwner());
      await store.createKey(record, 50);
      const hashes = [key("").hash, key("").hash];
      const rotated = await Promise.all(
        hashes.map((hash) =>
          store.rotateKey(
            record.owner,
            record.id,
            { hash, prefix: "twin_", previousUntil: start + 9 },
            start,
          ),
        ),
      );
      assert.ok(rotated.every(Boolean));
      for (const hash of hashes) assert.equal((await store.findKey(hash))?.id, record.id);
      assert.equal(await store.findKey(record.hash), undefined);
    });

    test("a revoked, expired, unknown or another owner's key is not rotated", async () => {
      const owner = newOwner();
      const [revoked, expired, live] = [key(owner), key(owner, { expiresAt: start + 10 }), key(owner)];
      for (const record of [revoked, expired, live]) await store.createKey(record, 50);
      await store.updateKey(owner, revoked.id, { revokedAt: start + 1 });
      for (const [of, id] of [
        [owner, revoked.id],
        [owner, expired.id],
        [owner, "key_none"],
        [newOwner(), live.id],
      ] as const) {
        const rotation = { hash: key("").hash, prefix: "twin_", previousUntil: start + 20 };
        assert.equal(await store.rotateKey(of, id, rotation, start + 10), undefined);
      }
      assert.equal(await store.getKey(newOwner(), live.id), undefined);
      assert.deepEqual(await store.getKey(owner, live.id), live);
    });

    test("a key beyond the limit of live keys is not stored", async () => {
      const owner = newOwner();
      for (let n = 0; n < 50; n++) assert.equal(await store.createKey(key(owner), 50), "created");
      const beyond = key(owner);
      assert.equal(await store.createKey(beyond, 50), "limit_reached");
      assert.equal(await store.findKey(beyond.hash), undefined);
      assert.equal((await store.listKeys(owner, { offset: 0, limit: 1 })).total, 50);
      assert.equal(await store.createKey(key(newOwner()), 50), "created");
    });

    test("revoked and expired keys do not count as live", async () => {
      const owner = newOwner();
      const [revoked, expired] = [key(owner), key(owner, { expiresAt: start + 10 })];
      await store.createKey(revoked, 2);
      await store.createKey(expired, 2);
      assert.equal(await store.createKey(key(owner, { createdAt: start + 9 }), 2), "limit_reached");
      assert.equal(await store.createKey(key(owner, { createdAt: start + 10 }), 2), "created");
      await store.updateKey(owner, revoked.id, { revokedAt: start + 11 });
      assert.equal(await store.createKey(key(owner, { createdAt: start + 12 }), 2), "created");
      assert.equal(await store.createKey(key(owner, { createdAt: start + 12 }), 2), "limit_reached");
    });

    test("keys created at once do not exceed the limit of live keys", async () => {
      const owner = newOwner();
      const results = await Promise.all(Array.from({ length: 20 }, () => store.createKey(key(owner), 5)));
      assert.equal(results.filter((result) => result === "created").length, 5);
      assert.equal((await store.listKeys(owner, { offset: 0, limit: 50 })).total, 5);
    });
  });
}
