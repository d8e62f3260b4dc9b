/**
 * The file of the secret that signs tokens.
 */

import assert from "node:assert/strict";
import fileSystem, {
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rm,
  stat,
  symlink,
  writeFile,
} from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, describe, test } from "node:test";
import { readOrCreateSecret } from "../../server/secret-file.ts";

const root = await mkdtemp(join(tmpdir(), "twin-service-secret-"));
after(() => rm(root, { recursive: true, force: true }));

describe("the secret's file", () => {
  test("processes that create it at once get the same secret", async () => {
    const file = join(root, "race", "deep", "jwt-secret");
    const secrets = await Promise.all(Array.from({ length: 20 }, () => readOrCreateSecret(file)));
    assert.equal(new Set(secrets).size, 1);
    assert.deepEqual(await readdir(join(root, "race", "deep")), ["jwt-secret"]);
  });

  test("it is created where the file system has no hard links, too", {
    skip: process.platform === "win32" && "Windows has no modes",
  }, async () => {
    const file = join(root, "without-links", "jwt-secret");
    const { link } = fileSystem;
    const replaceLink = (by: typeof link) => {
      fileSystem.link = by;
      syncBuiltinESMExports();
    };
    replaceLink(() => Promise.reject(Object.assign(new Error("no links here"), { code: "EPERM" })));
    const secrets = [await readOrCreateSecret(file), await readOrCreateSecret(file)];
    replaceLink(link);
    assert.equal(secrets[1], secrets[0]);
    assert.equal((await stat(file)).mode & 0o777, 0o600);
    assert.deepEqual(await readdir(dirname(file)), ["jwt-secret"]);
  });

  test("a file without a secret is refused, and not overwritten", async () => {
    const file = join(root, "empty-secret");
    await writeFile(file, "\n");
    await assert.rejects(readOrCreateSecret(file), /does not hold a secret of at least 32 characters/);
    assert.equal(await readFile(file, "utf8"), "\n");
  });

  test("a dangling link in place of its folder is reported in one line", {
    skip: process.platform === "win32" && "Windows requires a privilege to create links",
  }, async () => {
    const folder = join(root, "a-link");
    await symlink(join(root, "nowhere"), folder);
    await assert.rejects(
      readOrCreateSecret(join(folder, "jwt-secret")),
      /^Error: The secret's file [^\n]* cannot be created \(EEXIST\): let this process write there/,
    );
  });

  test("a file that cannot be read is reported with what to do instead", async () => {
    const folder = join(root, "a-folder");
    await mkdir(folder);
    await assert.rejects(
      readOrCreateSecret(folder),
      /^Error: The secret's file [^\n]* cannot be read \(EISDIR\): let this process read it, or set JWT_SECRET\.$/,
    );
  });
});
