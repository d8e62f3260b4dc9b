/**
 * The order of the folders, read from the import lines: which folder may import which, and that no files import each
 * other in a circle.
 */

import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { dirname, posix, sep } from "node:path";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** Each folder of the core may import from those before it. `core` itself holds what assembles the service. */
const coreOrder = [
  "core/base",
  "core/store",
  "core/twins",
  "core/limits",
  "core/wire",
  "core/auth",
  "core/replies",
  "core/http",
  "core/api/document",
  "core/api",
  "core",
];

/** Folders outside the core, and what each may import besides packages and its own files. */
const mayImport: Readonly<Record<string, RegExp>> = {
  adapters: /^(core|adapters|knowledge)(\/|$)/,
  knowledge: /^(core|knowledge)(\/|$)/,
  client: /^(core\/wire|client)(\/|$)/,
  web: /^(client|web)(\/|$)/,
  server: /^(core|adapters|knowledge|client|server|web\/built|package\.json$)(\/|$)/,
};

/** What others may import of a subject, its doors: `mod.ts`, unless they are named here. */
const doors: Readonly<Record<string, readonly string[]>> = {
  "core/store": ["store", "records", "path", "portions", "memory", "token-budgets", "webhooks", "deliverer"],
  "core/replies": ["replies"],
  "core/http": [
    "dispatch",
    "route",
    "admission",
    "rate-limit",
    "body",
    "input",
    "idempotency",
    "keyed-requests",
    "envelope",
    "static-text",
  ],
  "core/api": ["routes", "lookup", "document/mod", "document/examples"],
  "adapters/documents": ["mod", "text"],
  "adapters/openai-clients": ["mod", "message-characters"],
  "adapters/openai-models": [
    "mod",
    "address",
    "continuation",
    "embeddings",
    "moderation",
    "node-transport",
    "probe",
  ],
  "adapters/postgres": ["mod", "connections", "driver", "hosts"],
  "adapters/redis": ["mod", "address"],
  "adapters/sqlite": ["mod", "file"],
  "adapters/webhooks": ["mod", "addresses"],
  "adapters/sql": ["driver", "store", "schema", "copy", "fair-reads"],
  "adapters/servers": ["bun", "deno", "running-server", "node/mod"],
  knowledge: ["mod", "text/repeats", "text/sections", "text/yaml"],
};

/** Subjects of which each file is a door. */
const isOpen =
  /^(core|core\/(base|twins|limits|wire|auth)|adapters|server|web\/(shared|built)|package\.json)$/;

/** Packages that run on every runtime: all that the core may import. */
const corePackages = new Set(["@noble/hashes/sha2.js", "@noble/hashes/utils.js", "jose", "lru-cache"]);

const forbiddenInCore =
  /\b(?:process|Buffer|setImmediate|clearImmediate|Deno|Bun|require|__dirname|__filename)\b/;

const sources = new Map<string, string>();
for (const folder of ["core", "adapters", "knowledge", "client", "web", "server"]) {
  for (const name of await readdir(`${root}/${folder}`, { recursive: true })) {
    const file = `${folder}/${name.replaceAll(sep, "/")}`;
    if (file.endsWith(".ts") && !file.startsWith("web/built/"))
      sources.set(file, await readFile(`${root}/${file}`, "utf8"));
  }
}

/** The folder of a file's subject, which may have folders of its own. */
function subjectOf(file: string): string {
  const [top = "", ...below] = file.split("/");
  return ["client", "server", "knowledge"].includes(top) || below.length < 2 ? top : `${top}/${below[0]}`;
}

/** The files of the project that a file imports. */
function ownImports(file: string): string[] {
  return importsOf(sources.get(file) ?? "")
    .filter((source) => source.startsWith("."))
    .map((source) => posix.join(dirname(file), source));
}

describe("imports", () => {
  test("there are files to check", () => {
    assert.ok(sources.size > 100);
  });

  test("the core imports only packages that run everywhere", () => {
    for (const [file, text] of sources) {
      if (!file.startsWith("core/")) continue;
      for (const source of importsOf(text)) {
        assert.ok(source.startsWith(".") || corePackages.has(source), `${file} imports ${source}`);
      }
    }
  });

  test("the core uses nothing that only one runtime has", () => {
    for (const [file, text] of sources) {
      if (file.startsWith("core/")) assert.doesNotMatch(codeOf(text), forbiddenInCore, file);
    }
  });

  test("a folder of the core imports only from the folders below it", () => {
    const folderOf = (file: string) => dirname(file).replace(/\/(built|schemas)$/, ""); // parts of its folder
    const levelOf = (file: string) => coreOrder.indexOf(folderOf(file));
    for (const file of sources.keys()) {
      if (!file.startsWith("core/")) continue;
      assert.notEqual(levelOf(file), -1, `${file} is in a folder without a place in the order`);
      for (const imported of ownImports(file)) {
        const isBelow = folderOf(file) === folderOf(imported) || levelOf(imported) < levelOf(file);
        assert.ok(isBelow && levelOf(imported) !== -1, `${file} imports ${imported}`);
      }
    }
  });

  test("a subject is imported by its doors", () => {
    for (const file of sources.keys()) {
      for (const imported of ownImports(file)) {
        const subject = subjectOf(imported);
        if (subjectOf(file) === subject || isOpen.test(subject)) continue;
        const names = (doors[subject] ?? ["mod"]).map((name) => `${subject}/${name}.ts`);
        assert.ok(names.includes(imported), `${file} imports ${imported}`);
      }
    }
  });

  test("adapters import no part of the server, and nothing outside the core imports tests", () => {
    for (const file of sources.keys()) {
      const allowed = mayImport[file.split("/")[0] ?? ""];
      if (!allowed) continue;
      for (const imported of ownImports(file)) assert.match(imported, allowed, `${file} imports ${imported}`);
    }
  });

  test("the client imports only types from the core", () => {
    for (const [file, text] of sources) {
      if (!file.startsWith("client/")) continue;
      const declarations = codeWithStrings(text).match(/^(?:import|export)\b[^;]*core\/[^;]*;/gm) ?? [];
      for (const declaration of declarations) assert.match(declaration, /^(import|export) type /, file);
    }
  });

  test("no files import each other in a circle", () => {
    const done = new Set<string>();
    const visit = (file: string, path: readonly string[]) => {
      assert.ok(!path.includes(file), [...path, file].join(" → "));
      if (done.has(file)) return;
      for (const imported of ownImports(file)) visit(imported, [...path, file]);
      done.add(file);
    };
    for (const file of sources.keys()) visit(file, []);
  });

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
    assert.match(codeOf("const a = process.env;"), forbiddenInCore);
    assert.doesNotMatch(
      codeOf("/** The process. */ // a process\nconst text = 'the process';"),
      forbiddenInCore,
    );
  });
});

/** What a module imports, in order. A string that is "from" imports nothing. */
function importsOf(text: string): string[] {
  const pattern = /(?:(?<!["'/.])\bfrom\s*|\bimport\s*\(?\s*)(["'])([^"'\n]+)\1/g;
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
