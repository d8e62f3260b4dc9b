import assert from "node:assert/strict";
import { createHmac, generateKeyPairSync, type KeyObject } from "node:crypto";
import { describe, test } from "node:test";
import { exportJWK, SignJWT } from "jose";
import { createJwtVerifier, type JwtVerifierOptions, signToken } from "../../core/auth/jwt.ts";
import { readPublicKey } from "../../core/auth/public-key.ts";
import { ApiError } from "../../core/wire/errors.ts";
import { createManualClock } from "../support/clock.ts";
import { reread } from "./key-pair.ts";

const secret = "a secret of at least 32 bytes, in ASCII";
const clock = createManualClock();
const now = clock.now() / 1000;
const good = { sub: "alice", exp: now + 60 };

/** A token of exactly these parts, signed with HS256: even one that no library would sign. */
function forge(claims: unknown, header: unknown = { alg: "HS256" }, key = secret): string {
  const signed = `${encode(header)}.${typeof claims === "string" ? encodeText(claims) : encode(claims)}`;
  return `${signed}.${createHmac("sha256", key).update(signed).digest("base64url")}`;
}

function encode(value: unknown): string {
  return encodeText(JSON.stringify(value));
}

function encodeText(text: string): string {
  return Buffer.from(text).toString("base64url");
}

function refused(message?: RegExp): (error: unknown) => boolean {
  return (error) => {
    assert.ok(error instanceof ApiError, String(error));
    assert.equal(error.code, "invalid_token");
    assert.equal(error.headers["WWW-Authenticate"], 'Bearer realm="twins", error="invalid_token"');
    if (message) assert.match(error.message, message);
    return true;
  };
}

function verifier(options: Partial<JwtVerifierOptions> = {}) {
  return createJwtVerifier({ secret, clock, ...options });
}

describe("tokens signed with the secret", () => {
  test("a token from signToken is valid until it expires, with 30 seconds of tolerance", async () => {
    const later = createManualClock();
    const verify = verifier({ clock: later });
    const token = await signToken({ secret, sub: "alice", expiresInSeconds: 60, clock: later });
    await later.advance(89_999);
    assert.deepEqual(await verify(token), { owner: "alice" });
    await later.advance(1);
    await assert.rejects(verify(token), refused(/expired/));
  });

  test("exp and sub are required, and must be valid", async () => {
    for (const claims of [
      {},
      { sub: "alice" },
      { exp: now + 60 },
      { ...good, exp: String(now + 60) },
      { ...good, exp: null },
      { ...good, exp: 1e300 },
      { ...good, exp: 253_402_300_800 },
      { ...good, exp: -1 },
      { ...good, sub: 12 },
      { ...good, sub: null },
      { ...good, sub: ["alice"] },
      { ...good, sub: "" },
      { ...good, sub: " " },
      { ...good, sub: "ali\u0000ce" },
      { ...good, sub: "alice\n" },
      { ...good, sub: "ali\u202ece" },
      { ...good, sub: "ali\u2028ce" },
      { ...good, sub: "ali\ud800ce" },
      { ...good, sub: "a".repeat(256) },
      [good],
      "alice",
      null,
      '{"sub":"alice","exp":1e999}',
      '{"sub":"alice","exp":',
    ]) {
      await assert.rejects(verifier()(forge(claims)), refused(), JSON.stringify(claims));
    }
  });

  test("an owner may be any printable text of up to 255 characters", async () => {
    for (const sub of [
      "a".repeat(255),
      "auth0|5f7c8e",
      "Ada Lovelace",
      "用户",
      "👩".repeat(255),
      "<x>'\"\\",
    ]) {
      assert.deepEqual(await verifier()(forge({ ...good, sub })), { owner: sub });
    }
  });

  test("a token is refused if nbf or iat is more than 30 seconds in the future", async () => {
    assert.deepEqual(await verifier()(forge({ ...good, nbf: now + 30, iat: now + 30 })), { owner: "alice" });
    await assert.rejects(verifier()(forge({ ...good, nbf: now + 31 })), refused(/nbf/));
    await assert.rejects(verifier()(forge({ ...good, iat: now + 31 })), refused(/future/));
    await assert.rejects(verifier()(forge({ ...good, nbf: "now" })), refused());
    await assert.rejects(verifier()(forge({ ...good, iat: "now" })), refused());
  });

  test("iss and aud are checked if they are configured, and only then", async () => {
    const verify = verifier({ issuer: "https://id.example", audience: "twins" });
    const claims = { ...good, iss: "https://id.example", aud: "twins" };
    assert.deepEqual(await verify(forge(claims)), { owner: "alice" });
    assert.deepEqual(await verify(forge({ ...claims, aud: ["other", "twins"] })), { owner: "alice" });
    assert.deepEqual(await verifier()(forge({ ...claims, iss: "x", aud: "y" })), { owner: "alice" });
    for (const wrong of [
      { iss: "https://id.example/" },
      { iss: undefined },
      { iss: ["https://id.example"] },
      { aud: "other" },
      { aud: undefined },
      { aud: [] },
      { aud: "twins2" },
    ]) {
      await assert.rejects(
        verify(forge({ ...claims, ...wrong })),
        refused(/"(iss|aud)"/),
        JSON.stringify(wrong),
      );
    }
  });

  test("a token signed with another secret or algorithm is refused, whatever else is wrong with it", async () => {
    const header = encode({ alg: "none" });
    for (const token of [
      forge(good, { alg: "HS256" }, "another secret of at least 32 bytes..."),
      forge(good, { alg: "HS384" }),
      forge(good, { alg: "none" }),
      forge(good, { alg: "hs256" }),
      forge(good, {}),
      forge({ sub: "alice", exp: 1 }, { alg: "HS256" }, "another secret of at least 32 bytes..."),
      `${header}.${encode(good)}.AAAA`,
    ]) {
      await assert.rejects(verifier()(token), refused(/signed with a key that is accepted/));
    }
  });

  test("anything but a signed JWT is refused", async () => {
    const [header = "", payload = "", signature = ""] = forge(good).split(".");
    for (const token of [
      "",
      "x",
      "twin_0123456789",
      `${header}.${payload}`,
      `${header}.${payload}.`,
      `${encode({ alg: "none" })}.${payload}.`,
      `.${payload}.${signature}`,
      `${header}.${payload}.${signature}.${signature}`,
      `${header}.${payload}.${signature}.x.y`,
      `${header}.${payload}.${signature}=`,
      `${header}.${payload}.${signature}\n`,
      `${header}. ${payload}.${signature}`,
      `${encodeText("[]")}.${payload}.${signature}`,
      `${encodeText("{")}.${payload}.${signature}`,
      `__.${payload}.${signature}`,
    ]) {
      await assert.rejects(verifier()(token), refused(), token);
    }
  });

  test("a token of more than 8 KiB is refused, whatever its signature", async () => {
    const padded = (length: number) => forge({ ...good, pad: "x".repeat(length) });
    let longest = 5_000;
    while (padded(longest + 1).length <= 8192) longest++;
    assert.ok(padded(longest).length > 8189, "a byte more is one or two characters more");
    assert.deepEqual(await verifier()(padded(longest)), { owner: "alice" });
    await assert.rejects(verifier()(padded(longest + 1)), refused(/longer/));
  });

  test("a token with a critical extension is refused", async () => {
    const header = { alg: "HS256", crit: ["b64"], b64: true };
    await assert.rejects(verifier()(forge(good, header)), refused(/crit/));
  });

  test("a token that names no owner is not signed", async () => {
    await assert.rejects(signToken({ secret, sub: "", expiresInSeconds: 1 }), TypeError);
  });

  test("a secret must have at least 32 bytes, counted as UTF-8", async () => {
    assert.throws(() => createJwtVerifier({ secret: "x".repeat(31) }), TypeError);
    await assert.rejects(signToken({ secret: "x".repeat(31), sub: "alice", expiresInSeconds: 1 }), TypeError);
    createJwtVerifier({ secret: "é".repeat(16) });
  });

  test("exactly one source of keys is required", () => {
    assert.throws(() => createJwtVerifier({}), TypeError);
    assert.throws(() => createJwtVerifier({ secret, jwksUrl: "http://127.0.0.1/" }), TypeError);
  });

  test("an empty source of keys, such as an empty variable, counts as absent", () => {
    createJwtVerifier({ secret, jwksUrl: "" });
    createJwtVerifier({ secret: "", jwksUrl: "http://127.0.0.1/" });
  });

  test("an unknown option is refused: a misspelt audience would let in tokens for any", () => {
    const misspelt = { secret, audiance: "twins" };
    assert.throws(
      () => createJwtVerifier(misspelt),
      /TypeError: createJwtVerifier: audiance is not known; .+/,
    );
  });
});

const rsa = reread(generateKeyPairSync("rsa", { modulusLength: 2048 }));
const ec = reread(generateKeyPairSync("ec", { namedCurve: "P-256" }));
const ed = reread(generateKeyPairSync("ed25519"));

function sign(
  alg: string,
  key: KeyObject,
  header: Record<string, unknown> = {},
  sub = "alice",
): Promise<string> {
  return new SignJWT({ ...good, sub }).setProtectedHeader({ alg, ...header }).sign(key);
}

function pem(key: KeyObject): string {
  return key.export({ type: "spki", format: "pem" }).toString();
}

describe("tokens signed with a private key", () => {
  test("a public key verifies the algorithms of its kind, from PEM and from a JWK", async () => {
    const p384 = reread(generateKeyPairSync("ec", { namedCurve: "P-384" }));
    const p521 = reread(generateKeyPairSync("ec", { namedCurve: "P-521" }));
    for (const [pair, algorithms] of [
      [rsa, ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"]],
      [ec, ["ES256"]],
      [p384, ["ES384"]],
      [p521, ["ES512"]],
      [ed, ["EdDSA", "Ed25519"]],
    ] as const) {
      const texts = [pem(pair.publicKey), JSON.stringify(await exportJWK(pair.publicKey))];
      for (const text of [...texts, pem(pair.publicKey).replaceAll("\n", "\\n")]) {
        const publicKey = await readPublicKey(text);
        assert.deepEqual([...publicKey.algorithms].sort(), [...algorithms].sort());
        for (const alg of algorithms) {
          const { owner } = await createJwtVerifier({ publicKey, clock })(await sign(alg, pair.privateKey));
          assert.equal(owner, "alice");
        }
      }
    }
  });

  test("a public key is never used as a secret", async () => {
    const text = pem(rsa.publicKey);
    const verify = createJwtVerifier({ publicKey: await readPublicKey(text), clock });
    for (const key of [text, text.trim(), JSON.stringify(await exportJWK(rsa.publicKey))]) {
      await assert.rejects(verify(forge(good, { alg: "HS256" }, key)), refused());
    }
  });

  test("keys that a token carries or points to are never used", async () => {
    const other = reread(generateKeyPairSync("rsa", { modulusLength: 2048 }));
    const jwk = await exportJWK(other.publicKey);
    const verify = createJwtVerifier({ publicKey: await readPublicKey(pem(rsa.publicKey)), clock });
    for (const header of [{ jwk }, { jku: "http://127.0.0.1:1/keys" }, { x5u: "http://127.0.0.1:1/" }]) {
      await assert.rejects(verify(await sign("RS256", other.privateKey, header)), refused());
      assert.deepEqual(await verify(await sign("RS256", rsa.privateKey, header)), { owner: "alice" });
    }
  });

  test("an algorithm other than the JWK's own is refused", async () => {
    const jwk = { ...(await exportJWK(rsa.publicKey)), alg: "PS256" };
    const verify = createJwtVerifier({ publicKey: await readPublicKey(JSON.stringify(jwk)), clock });
    assert.deepEqual(await verify(await sign("PS256", rsa.privateKey)), { owner: "alice" });
    await assert.rejects(verify(await sign("RS256", rsa.privateKey)), refused());
  });

  test("a promise of a public key, which was not awaited, is refused", () => {
    const publicKey = readPublicKey(pem(rsa.publicKey));
    assert.throws(() => createJwtVerifier({ publicKey } as never), {
      message:
        "createJwtVerifier: publicKey must be a key that readPublicKey() returned, not [object Promise].",
    });
  });

  test("a private key that is given in place of a public one is not part of the message", () => {
    const { privateKey } = reread(generateKeyPairSync("ed25519"));
    const texts = [
      privateKey.export({ type: "pkcs8", format: "pem" }),
      JSON.stringify(privateKey.export({ format: "jwk" })),
    ];
    for (const publicKey of texts) {
      assert.throws(() => createJwtVerifier({ publicKey } as never), {
        message: "createJwtVerifier: publicKey must be a key that readPublicKey() returned, not a string.",
      });
    }
  });

  test("anything but a public key for signatures is refused with a reason", async () => {
    const weak = reread(generateKeyPairSync("rsa", { modulusLength: 1024 }));
    const x25519 = reread(generateKeyPairSync("x25519"));
    const privatePem = rsa.privateKey.export({ type: "pkcs8", format: "pem" }).toString();
    const cases: [string, RegExp][] = [
      ["", /neither/],
      ["./public.pem", /neither/],
      [privatePem, /neither/],
      [JSON.stringify(await exportJWK(rsa.privateKey)), /private key/],
      ["{", /not valid JSON/],
      ["{}", /must be RSA/],
      [JSON.stringify({ kty: "oct", k: "AAAA" }), /must be RSA/],
      [JSON.stringify({ ...(await exportJWK(ec.publicKey)), use: "enc" }), /must be RSA/],
      [JSON.stringify({ ...(await exportJWK(ec.publicKey)), key_ops: ["deriveKey"] }), /must be RSA/],
      [JSON.stringify({ ...(await exportJWK(ec.publicKey)), alg: "HS256" }), /must be RSA/],
      [JSON.stringify({ kty: "OKP", crv: "Ed25519", x: "AA" }), /must be RSA/],
      [pem(weak.publicKey), /must be RSA/],
      [pem(x25519.publicKey), /must be RSA/],
      ["-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----", /must be RSA/],
    ];
    for (const [text, reason] of cases) await assert.rejects(readPublicKey(text), reason, text);
  });
});
