import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { describe, test } from "node:test";

async function read(path: string) {
  return JSON.parse(await readFile(new URL(`../../${path}`, import.meta.url), "utf8"));
}

const { settings, ...deno } = await read("deno.json").then(({ nodeModulesDir, lock, unstable, ...rest }) => ({
  ...rest,
  settings: { nodeModulesDir, lock, unstable },
}));
const npm = await read("package.json");
const jsr = await read("jsr.json");

describe("the manifests", () => {
  test("deno.json repeats jsr.json, because Deno reads only deno.json if there are both", () => {
    const { nodeModulesDir, ...published } = jsr;
    assert.deepEqual(deno, published);
    assert.equal(nodeModulesDir, settings.nodeModulesDir);
  });

  test("jsr.json has package.json's version, license and entry points, as sources", () => {
    const sources = Object.entries<{ types: string }>(npm.exports)
      .filter(([name]) => name !== "./package.json")
      .map(([name, { types }]) => [name, types.replace("./dist/", "./").replace(/\.d\.ts$/, ".ts")]);
    const { version, license, exports } = jsr;
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

  test("jsr.json imports package.json's dependencies and peer dependencies, in the tested versions", () => {
    const names = Object.keys({ ...npm.dependencies, ...npm.peerDependencies });
    const imports = names.map((name) => {
      const version = npm.dependencies[name] ?? `^${npm.devDependencies[name]}`;
      return [name, `npm:${name}@${version}`];
    });
    assert.deepEqual(jsr.imports, Object.fromEntries(imports));
  });

  test("the build has jsr.json's entry points", async () => {
    const { files } = JSON.parse(
      (await readFile(new URL("../../tsconfig.build.json", import.meta.url), "utf8")).replace(
        /^ *\/\/.*$/gm,
        "",
      ),
    );
    assert.deepEqual(
      files.map((file: string) => `./${file}`),
      Object.values(jsr.exports),
    );
  });
});
