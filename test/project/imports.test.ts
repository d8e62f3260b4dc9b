import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { describe, test } from "node:test";

const core = new URL("../../core/", import.meta.url);

/** Packages that run on every runtime. */
const allowed = new Set([
  "@noble/hashes/sha2.js",
  "@noble/hashes/utils.js",
  "jose",
  "lru-cache",
  "minisearch",
]);

const forbidden = /\b(?:process|Buffer|setImmediate|clearImmediate|Deno|Bun|require|__dirname|__filename)\b/;

const files = (await readdir(core, { recursive: true })).filter((name) => name.endsWith(".ts"));

describe("core", () => {
  test("has files to check", () => {
    assert.ok(files.length > 20);
  });

  for (const file of files) {
    test(`${file} imports only from core and from packages that run everywhere`, async () => {
      const text = await readFile(new URL(file, core), "utf8");
      for (const source of importsOf(text)) {
        const isOwn = source.startsWith(".") && files.includes(join(dirname(file), source));
        assert.ok(isOwn || allowed.has(source), source);
      }
    });

    test(`${file} uses nothing that only one runtime has`, async () => {
      const text = await readFile(new URL(file, core), "utf8");
      assert.doesNotMatch(codeOf(text), forbidden);
    });
  }

  test("the reader of imports finds every form of import", () => {
    const forms = [
      'import a from "m1";',
      'import { b } from "m2";',
      'import {\n  c,\n} from "m3";',
      'import type { D } from "m4";',
      'import "m5";',
      'export * from "m6";',
      'export { e } from "m7";',
      'await import("m8");',
      "type F = import('m9').F;",
    ];
    assert.deepEqual(importsOf(forms.join("\n")), ["m1", "m2", "m3", "m4", "m5", "m6", "m7", "m8", "m9"]);
    assert.match(codeOf("const a = process.env;"), forbidden);
    assert.doesNotMatch(codeOf("/** The process. */ // a process\nconst text = 'the process';"), forbidden);
  });
});

/** What a module imports, in order. */
function importsOf(text: string): string[] {
  const pattern = /(?:\bfrom\s*|\bimport\s*\(?\s*)(["'])([^"'\n]+)\1/g;
  return [...codeWithStrings(text).matchAll(pattern)].map(([, , source = ""]) => source);
}

function codeWithStrings(text: string): string {
  return text.replaceAll(/\/\*[\s\S]*?\*\//g, "").replaceAll(/^\s*\/\/.*$/gm, "");
}

/** A module's text without comments and without the contents of strings. */
function codeOf(text: string): string {
  return codeWithStrings(text)
    .replaceAll(/(["'])(?:\\.|(?!\1)[^\\\n])*\1/g, '""')
    .replaceAll(/`(?:\\.|[^\\`])*`/g, "``")
    .replaceAll(/\s\/\/.*$/gm, "");
}
