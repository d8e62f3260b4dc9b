/**
 * What every store must do about twins that their owners make.
 *
 * @module
 */

import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import { sha256 } from "../../core/base/ids.ts";
import { contentPartBytes, contentParts, looseMs, mostTwinVersions } from "../../core/store/records.ts";
import type { PutTwinResult, Store } from "../../core/store/store.ts";
import { newOwner, ownTwin, partOf, start, storeContent } from "./store-records.ts";

const page = { offset: 0, limit: 100 };
const everything = { ...page, except: [] };
const limits = { maxTwins: 100, maxTextBytes: 1024 * 1024 };

/** The part of the store's suite about twins that their owners make. */
export function ownTwinsContract(open: () => Store): void {
  describe("twins that their owners make", () => {
    let store: Store;
    before(() => {
      store = open();
    });

    /** Stores texts, and then a version whose parts they are, by path. Null: the part goes. */
    async function put(
      owner: string,
      id: string,
      replaces: number | null,
      texts: Readonly<Record<string, string | null>>,
      more: { name?: string; maxTwins?: number; maxTextBytes?: number; note?: string; at?: number } = {},
    ): Promise<PutTwinResult> {
      const { name = id, note = null, at = start, ...own } = more;
      const changes = new Map<string, ReturnType<typeof partOf> | null>();
      for (const [path, text] of Object.entries(texts)) {
        if (text !== null) await storeContent(store, owner, text);
        changes.set(path, text === null ? null : partOf(path, text, at));
      }
      const textBytes = Object.values(texts).reduce((sum, text) => sum + (text?.length ?? 0), 0);
      const twin = ownTwin(owner, id, {
        name,
        updatedAt: at,
        revision: sha256(JSON.stringify(texts)).slice(0, 16),
      });
      return store.putTwinVersion({ twin, replaces, note, changes, textBytes, ...limits, ...own });
    }

    const textsOf = async (owner: string, id: string, version?: number) => {
      const found = await store.getTwinVersion(owner, id, version);
      const texts: Record<string, string> = {};
      for (const { path, digest } of found?.parts ?? []) {
        const bytes = await store.readTwinContent(owner, digest, 0);
        texts[path] = new TextDecoder().decode(bytes);
      }
      return texts;
    };

    test("a twin is found by its owner, as it was stored last", async () => {
      const owner = newOwner();
      assert.deepEqual(await put(owner, "ada", null, { "": "one" }), { result: "put", version: 1 });
      const later = { at: start + 1, name: "Ada" };
      assert.deepEqual(await put(owner, "ada", 1, { "": "two" }, later), { result: "put", version: 2 });
      const found = await store.getOwnTwin(owner, "ada");
      const { revision } = found ?? { revision: "" };
      assert.deepEqual(
        found,
        ownTwin(owner, "ada", { version: 2, name: "Ada", updatedAt: start + 1, revision }),
      );
      assert.equal(await store.getOwnTwin(newOwner(), "ada"), undefined);
    });

    test("twins are listed by name, then id, without those that are excepted", async () => {
      const owner = newOwner();
      for (const [id, name] of [
        ["c", "Zoë"],
        ["b", "Ada"],
        ["a", "Ada"],
        ["d", "\u{1f600}"],
        ["e", "\uffee"],
      ])
        await put(owner, id ?? "", null, { "": "text" }, { name: name ?? "" });
      const ids = async (slice: { offset: number; limit: number; except: string[] }) => {
        const { items, total } = await store.listOwnTwins(owner, slice);
        return [total, ...items.map(({ id }) => id)];
      };
      assert.deepEqual(await ids({ ...page, except: [] }), [5, "a", "b", "c", "e", "d"]);
      assert.deepEqual(await ids({ offset: 1, limit: 2, except: [] }), [5, "b", "c"]);
      assert.deepEqual(await ids({ offset: 1, limit: 2, except: ["b", "none"] }), [4, "c", "e"]);
      const { excepted } = await store.listOwnTwins(owner, { ...page, except: ["b", "none"] });
      assert.deepEqual(excepted, ["b"]);
      assert.deepEqual(await ids({ offset: 9, limit: 2, except: [] }), [5]);
    });

    test("a version has the parts that changed, and the others of the one before", async () => {
      const owner = newOwner();
      await put(owner, "ada", null, { "": "file", "b.md": "b" });
      await put(owner, "ada", 1, { "a/a.md": "a", "b.md": "other" });
      await put(owner, "ada", 2, { "b.md": null });
      assert.deepEqual(await textsOf(owner, "ada", 1), { "": "file", "b.md": "b" });
      assert.deepEqual(await textsOf(owner, "ada", 2), { "": "file", "a/a.md": "a", "b.md": "other" });
      assert.deepEqual(await textsOf(owner, "ada"), { "": "file", "a/a.md": "a" });
      const { parts = [] } = (await store.getTwinVersion(owner, "ada", 1)) ?? {};
      assert.deepEqual(parts, [partOf("", "file", start), partOf("b.md", "b", start)]);
      assert.equal(await store.getTwinVersion(owner, "ada", 4), undefined);
      assert.equal(await store.getTwinVersion(owner, "bob"), undefined);
    });

    test("versions are listed newest first, with their notes, and the last 50 are kept", async () => {
      const owner = newOwner();
      await put(owner, "ada", null, { "": "text 1", "kept.md": "kept" }, { note: "first" });
      for (let version = 1; version < mostTwinVersions + 2; version++)
        await put(owner, "ada", version, { "": `text ${version + 1}` }, { note: `after ${version}` });
      const listed = await store.listTwinVersions(owner, "ada", { offset: 0, limit: 2 });
      assert.deepEqual([listed?.total, listed?.current], [mostTwinVersions, mostTwinVersions + 2]);
      assert.deepEqual(
        listed?.items.map(({ version, note, createdAt }) => [version, note, createdAt]),
        [
          [52, "after 51", start],
          [51, "after 50", start],
        ],
      );
      assert.equal(await store.getTwinVersion(owner, "ada", 2), undefined);
      assert.deepEqual(await textsOf(owner, "ada", 3), { "": "text 3", "kept.md": "kept" });
      assert.equal(await store.listTwinVersions(owner, "bob", page), undefined);
      await store.sweep(start + looseMs);
      assert.equal(await store.readTwinContent(owner, sha256("text 1"), 0), undefined);
      assert.deepEqual(await textsOf(owner, "ada", 3), { "": "text 3", "kept.md": "kept" });
    });

    test("a deleted twin is gone with its versions, and its numbers go on", async () => {
      const owner = newOwner();
      await put(owner, "ada", null, { "": "one" });
      await put(owner, "ada", 1, { "": "two" });
      assert.equal(await store.deleteOwnTwin(owner, "ada", 1, start), false, "another version is current");
      assert.equal(await store.deleteOwnTwin(owner, "ada", 2, start), true);
      assert.equal(await store.deleteOwnTwin(owner, "ada", 2, start), false);
      assert.equal(await store.getOwnTwin(owner, "ada"), undefined);
      assert.equal(await store.getTwinVersion(owner, "ada", 1), undefined);
      assert.equal(await store.listTwinVersions(owner, "ada", page), undefined);
      assert.deepEqual(await store.listOwnTwins(owner, everything), {
        items: [],
        total: 0,
        excepted: [],
      });
      await store.sweep(start + looseMs);
      assert.equal(await store.readTwinContent(owner, sha256("one"), 0), undefined);
      assert.deepEqual(await put(owner, "ada", null, { "": "three" }), { result: "put", version: 3 });
      assert.deepEqual(await textsOf(owner, "ada"), { "": "three" });
    });

    test("what replaces another version than the current one is not stored", async () => {
      const owner = newOwner();
      await put(owner, "ada", null, { "": "one" });
      for (const replaces of [null, 2])
        assert.deepEqual(await put(owner, "ada", replaces, { "": "two" }), { result: "moved" });
      assert.deepEqual(await put(owner, "bob", 1, { "": "two" }), { result: "moved" });
      assert.deepEqual(await textsOf(owner, "ada"), { "": "one" });
    });

    test("of several versions that are stored at once in place of one, one is", async () => {
      const owner = newOwner();
      await put(owner, "ada", null, { "": "one" });
      const texts = Array.from({ length: 8 }, (_, index) => `text ${index}`);
      const results = await Promise.all(texts.map((text) => put(owner, "ada", 1, { "": text })));
      assert.deepEqual(results.map(({ result }) => result).sort(), [...Array(7).fill("moved"), "put"]);
    });

    test("an owner has so many twins at most, and so much text", async () => {
      const owner = newOwner();
      await put(owner, "a", null, { "": "1234" });
      await put(owner, "b", null, { "": "1234" }, { maxTwins: 2 });
      assert.deepEqual(await put(owner, "c", null, { "": "1" }, { maxTwins: 2 }), {
        result: "too_many_twins",
      });
      assert.deepEqual(await put(owner, "a", 1, { "": "12" }, { maxTwins: 2 }), {
        result: "put",
        version: 2,
      });
      assert.deepEqual(await put(owner, "b", 1, { "": "1234567" }, { maxTextBytes: 8 }), {
        result: "texts_too_long",
      });
      assert.deepEqual(await put(owner, "b", 1, { "": "123456" }, { maxTextBytes: 8 }), {
        result: "put",
        version: 2,
      });
      await store.deleteOwnTwin(owner, "b", 2, start);
      assert.deepEqual(await put(owner, "c", null, { "": "123456" }, { maxTwins: 2, maxTextBytes: 8 }), {
        result: "put",
        version: 1,
      });
    });

    test("a version needs what its parts contain, of the same owner", async () => {
      const owner = newOwner();
      const twin = ownTwin(owner, "ada", {});
      const changes = new Map([["", partOf("", "elsewhere", start)]]);
      const missing = { twin, replaces: null, note: null, changes, textBytes: 9, ...limits };
      await storeContent(store, newOwner(), "elsewhere");
      assert.deepEqual(await store.putTwinVersion(missing), { result: "content_missing" });
      assert.equal(await store.getOwnTwin(owner, "ada"), undefined);
    });

    test("what is longer than a part is stored in several, with all of its bytes", async () => {
      const owner = newOwner();
      const bytes = new Uint8Array(contentPartBytes + 3).map((_, index) => index % 256);
      const digest = sha256(String(bytes.length));
      assert.equal(contentParts(bytes.length), 2);
      await store.addTwinContent(owner, digest, 0, bytes.subarray(0, contentPartBytes), start);
      await store.addTwinContent(owner, digest, 1, bytes.subarray(contentPartBytes), start);
      for (let again = 0; again < 2; again++) {
        const read = [
          await store.readTwinContent(owner, digest, 0),
          await store.readTwinContent(owner, digest, 1),
        ];
        assert.deepEqual(Buffer.concat(read.map((part) => part ?? new Uint8Array())), Buffer.from(bytes));
        await store.addTwinContent(owner, digest, 1, bytes.subarray(contentPartBytes), start);
      }
      assert.equal(await store.readTwinContent(owner, digest, 2), undefined);
    });

    test("what no version has is swept after an hour, unless it was added again", async () => {
      const owner = newOwner();
      await storeContent(store, owner, "left", start);
      await storeContent(store, owner, "again", start);
      await storeContent(store, owner, "again", start + 2);
      await store.sweep(start + looseMs + 1);
      assert.equal(await store.readTwinContent(owner, sha256("left"), 0), undefined);
      assert.ok(await store.readTwinContent(owner, sha256("again"), 0));
    });
  });
}
