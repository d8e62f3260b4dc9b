import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { ReplyText } from "../../core/replies/feed.ts";
import { heapInUse, skipOffV8 } from "../support/garbage.ts";

/** What a reply's text must be, computed in the obvious way: well-formed, without NUL. */
function plain(written: string): string {
  return written.toWellFormed().replaceAll("\0", "\ufffd");
}

function write(parts: readonly string[]): ReplyText {
  const text = new ReplyText();
  for (const part of parts) text.append(part);
  text.end();
  return text;
}

/** Every run tries the same texts; fast-check reports the one that failed. */
const sameRuns = { seed: 1, numRuns: 1_000 };

/** Half surrogate pairs: two that fit, and the first and last of each kind. */
const halves = ["\ud83d", "\ude00", "\ud800", "\udbff", "\udc00", "\udfff"];

// These and NUL are as likely as anything else.
const part = fc.oneof(
  fc.string({ maxLength: 20 }),
  fc.constantFrom(...halves, "😀", "\0", "\u2028", "a".repeat(4095), "é".repeat(5000)),
);
const parts = fc.array(part, { maxLength: 20 });

test("text is the same however it is split into writes, and whenever it is read", () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(part, fc.boolean()), { maxLength: 20 }), (writes) => {
      const text = new ReplyText();
      for (const [written, isRead] of writes) {
        text.append(written);
        if (isRead) text.toString();
      }
      text.end();
      assert.equal(text.toString(), plain(writes.map(([written]) => written).join("")));
    }),
    sameRuns,
  );
});

test("a slice equals the same slice of the whole text", () => {
  fc.assert(
    fc.property(parts, fc.nat(30_000), fc.nat(30_000), (written, one, other) => {
      const [from, to] = [Math.min(one, other), Math.max(one, other)];
      const text = write(written);
      assert.equal(text.slice(from, to), plain(written.join("")).slice(from, to));
    }),
    sameRuns,
  );
});

test("the readable text never contains half a surrogate pair", () => {
  fc.assert(
    fc.property(parts, (written) => {
      const text = new ReplyText();
      for (const part of written) {
        text.append(part);
        assert.ok(text.toString().isWellFormed());
        assert.equal(text.toString().length, text.length);
      }
    }),
    sameRuns,
  );
});

test("text that was readable once never changes", () => {
  fc.assert(
    fc.property(parts, (written) => {
      const text = new ReplyText();
      for (const part of written) {
        const before = text.toString();
        text.append(part);
        assert.ok(text.toString().startsWith(before));
      }
    }),
    sameRuns,
  );
});

test("a text that nobody reads takes hardly more than its length", { skip: skipOffV8 }, async () => {
  const texts = Array.from({ length: 20 }, () => new ReplyText());
  const before = await heapInUse();
  for (const text of texts) for (let word = 0; word < 50_000; word++) text.append("a ");
  const taken = (await heapInUse()) - before;
  assert.equal(texts.at(-1)?.length, 100_000);
  assert.ok(taken < 20 * 4 * 100_000, `${taken} bytes`);
});
