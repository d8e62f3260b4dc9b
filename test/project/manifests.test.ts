import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { describe, test } from "node:test";

async function read(path: string) {
  return JSON.parse(await readFile(new URL(`../../${path}`, import.meta.url), "utf8"));
}

const npm = await read("package.json");
const deno = await read("deno.json");

describe("the manifests", () => {
  test("deno.json has package.json's version, license and entry points, as sources", () => {
    const sources = Object.entries<{ types: string }>(npm.exports)
      .filter(([name]) => name !== "./package.json")
      .map(([name, { types }]) => [name, types.replace("./dist/", "./").replace(/\.d\.ts$/, ".ts")]);
    const { version, license, exports } = deno;
    assert.deepEqual(
      { version, license, exports },
      { version: npm.version, license: npm.license, exports: Object.fromEntries(sources) },
    );
  });

  test("an entry point's code and types are side by side", () => {
    for (const [name, entry] of Object.entries<{ types: string; default: string }>(npm.exports)) {
      if (name !== "./package.json") assert.equal(entry.default, entry.types.replace(/\.d\.ts$/, ".js"));
    }
  });

  test("deno.json imports package.json's dependencies and peer dependencies, in the tested versions, and itself", () => {
    const names = Object.keys({ ...npm.dependencies, ...npm.peerDependencies });
    const imports = names.map((name) => {
      const version = npm.dependencies[name] ?? `^${npm.devDependencies[name]}`;
      return [name, `npm:${name}@${version}`];
    });
    const own = ["", "/deno"].map((entry) => [`twin-service${entry}`, deno.exports[`.${entry}`]]); // for its example
    assert.deepEqual(deno.imports, Object.fromEntries([...imports, ...own]));
  });

  test("the build has deno.json's entry points", async () => {
    const { files } = JSON.parse(
      (await readFile(new URL("../../tsconfig.build.json", import.meta.url), "utf8")).replace(
        /^ *\/\/.*$/gm,
        "",
      ),
    );
    assert.deepEqual(
      files.map((file: string) => `./${file}`),
      Object.values(deno.exports),
    );
  });
});
