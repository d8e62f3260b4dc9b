/**
 * The JWTs of the reference server: how its settings verify them, which it signs itself, and the file of the secret
 * that it signs them with.
 */

import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import fileSystem, { mkdir, readdir, readFile, stat, symlink, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { syncBuiltinESMExports } from "node:module";
import { dirname, join } from "node:path";
import { describe, test } from "node:test";
import { decodeJwt, SignJWT } from "jose";
import { noLog } from "../../core/base/log.ts";
import { readConfig } from "../../server/command-line.ts";
import { readOrCreateSecret } from "../../server/secret-file.ts";
import type { Settings } from "../../server/settings.ts";
import { makeToken, openTokens } from "../../server/tokens.ts";
import { reread } from "../auth/key-pair.ts";
import { makeScratch } from "../support/folder.ts";
import { listen } from "../support/ports.ts";

const request = { sub: "alice", expiresInSeconds: 7200 };

/** The settings of these variables, with a database whose folder nothing may be written to. */
function settingsOf(variables: Readonly<Record<string, string>>): Settings {
  const config = readConfig([], { DATABASE_URL: "sqlite:/proc/none/twins.db", ...variables });
  return config.command === "serve" ? config.settings : assert.fail();
}

describe("tokens of a secret", () => {
  const secret = { JWT_SECRET: "a secret of at least 32 bytes, for a test" };

  test("are valid for as long as they are asked to be", async () => {
    const { iat = 0, exp } = decodeJwt(await makeToken(settingsOf(secret), request));
    assert.equal(exp, iat + 7200);
  });

  test("have the issuer and the audience of the settings, which are required of them", async () => {
    const strict = settingsOf({ ...secret, JWT_ISSUER: "https://id.example", JWT_AUDIENCE: "twins" });
    const { verifyToken } = await openTokens(strict, noLog);
    assert.deepEqual(await verifyToken(await makeToken(strict, request)), { owner: "alice" });
    const others = await makeToken(settingsOf(secret), request);
    await assert.rejects(async () => verifyToken(others), { code: "invalid_token" });
  });
});

test("a claim that the settings require is in this server's tokens, and required of all", async () => {
  const secret = { JWT_SECRET: "a secret of at least 32 bytes, for a test" };
  const strict = settingsOf({ ...secret, JWT_REQUIRE: "role=admin" });
  const { verifyToken } = await openTokens(strict, noLog);
  assert.deepEqual(await verifyToken(await makeToken(strict, request)), { owner: "alice" });
  const sign = (roles: unknown) =>
    new SignJWT({ sub: "alice", role: roles })
      .setProtectedHeader({ alg: "HS256" })
      .setExpirationTime("1h")
      .sign(new TextEncoder().encode(secret.JWT_SECRET));
  assert.deepEqual(await verifyToken(await sign(["user", "admin"])), { owner: "alice" });
  for (const role of [undefined, "user", "administrator", ["user"], { admin: true }]) {
    const refused = verifyToken(await sign(role));
    await assert.rejects(refused, { code: "invalid_token", message: /"role" claim/ });
  }
});

test("without an audience, tokens that an issuer makes for others would make keys: the start is refused", async () => {
  for (const given of [{ JWT_PUBLIC_KEY: "{}" }, { JWT_JWKS_URL: "https://id.example/jwks" }]) {
    const [source] = Object.keys(given);
    await assert.rejects(openTokens(settingsOf(given), noLog), {
      message: new RegExp(`^JWT_AUDIENCE \\(--jwt-audience\\) is required with ${source}, .+"any"\\.$`),
    });
  }
});

describe("public keys", () => {
  const { publicKey, privateKey } = reread(generateKeyPairSync("ec", { namedCurve: "P-256" }));
  const pem = publicKey.export({ type: "spki", format: "pem" }).toString();

  for (const variable of ["JWT_PUBLIC_KEY", "JWT_JWKS_URL"]) {
    test(`${variable} replaces the secret`, async (t) => {
      const keys = [publicKey.export({ format: "jwk" })];
      const provider = createServer((_, response) => response.end(JSON.stringify({ keys })));
      const url = `http://127.0.0.1:${await listen(provider)}`;
      t.after(() => provider.close());
      const settings = settingsOf({
        [variable]: variable === "JWT_PUBLIC_KEY" ? pem : url,
        JWT_AUDIENCE: "any",
      });
      const { secret, verifyToken } = await openTokens(settings, noLog);
      const token = new SignJWT({ sub: "alice" })
        .setProtectedHeader({ alg: "ES256" })
        .setExpirationTime("1h");
      assert.deepEqual(
        [secret, await verifyToken(await token.sign(privateKey))],
        [undefined, { owner: "alice" }],
      );
      await assert.rejects(makeToken(settings, request), /private key/);
    });
  }

  test("that cannot be used are refused in one line", async () => {
    const message = /^JWT_PUBLIC_KEY .* cannot be used: the key must be RSA[^\n]+$/;
    await assert.rejects(openTokens(settingsOf({ JWT_PUBLIC_KEY: "{}", JWT_AUDIENCE: "twins" }), noLog), {
      message,
    });
  });
});

const root = await makeScratch("twin-service-secret");

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
