import assert from "node:assert/strict";
import { generateKeyPairSync, type KeyObject } from "node:crypto";
import { createServer, type ServerResponse } from "node:http";
import { test } from "node:test";
import { exportJWK, type JWK, SignJWT } from "jose";
import { createJwtVerifier } from "../../core/auth/jwt.ts";
import { ApiError } from "../../core/wire/errors.ts";
import { createManualClock, settle } from "../support/clock.ts";
import { listen } from "../support/ports.ts";
import { reread } from "./key-pair.ts";

const minute = 60_000;
const one = reread(generateKeyPairSync("ec", { namedCurve: "P-256" }));
const two = reread(generateKeyPairSync("ec", { namedCurve: "P-256" }));
const rsa = reread(generateKeyPairSync("rsa", { modulusLength: 2048 }));

async function jwkOf({ publicKey }: { publicKey: KeyObject }, kid?: string): Promise<JWK> {
  return { ...(await exportJWK(publicKey)), ...(kid !== undefined && { kid }) };
}

/** A verifier for a JWKS address whose answers a test decides. */
async function open() {
  const clock = createManualClock();
  const state = {
    fetches: 0,
    logged: [] as string[],
    signal: undefined as AbortSignal | null | undefined,
    answer: async (): Promise<Response> => Response.json({ keys: [await jwkOf(one, "one")] }),
  };
  const verify = createJwtVerifier({
    jwksUrl: "https://id.example/jwks",
    clock,
    log: (level, message) => state.logged.push(`${level} ${message}`),
    async fetch(url, { redirect, signal }) {
      assert.equal(url, "https://id.example/jwks");
      assert.equal(redirect, "manual");
      state.fetches++;
      state.signal = signal;
      return state.answer();
    },
  });
  function token(key: KeyObject, kid?: string, alg = "ES256"): Promise<string> {
    const claims = { sub: "alice", exp: clock.now() / 1000 + 7200 };
    return new SignJWT(claims).setProtectedHeader({ alg, ...(kid !== undefined && { kid }) }).sign(key);
  }
  return { clock, state, verify, token };
}

async function down(): Promise<Response> {
  throw new TypeError("fetch failed");
}

function refused(error: unknown): boolean {
  assert.ok(error instanceof ApiError, String(error));
  assert.equal(error.code, "invalid_token");
  return true;
}

function unavailable(retryAfter: string): (error: unknown) => boolean {
  return (error) => {
    assert.ok(error instanceof ApiError, String(error));
    assert.equal(error.code, "unavailable");
    assert.deepEqual(error.headers, { "Retry-After": retryAfter });
    return true;
  };
}

test("nothing is fetched before the first token, and then once for many", async () => {
  const { state, verify, token } = await open();
  const good = await token(one.privateKey, "one");
  assert.equal(state.fetches, 0);
  const owner = { owner: "alice" };
  assert.deepEqual(await Promise.all([verify(good), verify(good), verify(good)]), [owner, owner, owner]);
  assert.deepEqual(await verify(good), { owner: "alice" });
  assert.equal(state.fetches, 1);
});

test("a token that no key of a JWKS can have signed causes no fetch", async () => {
  const { state, verify, token } = await open();
  for (const text of ["twin_x", "a.b.c", (await token(one.privateKey)).replace(/\.[^.]+$/, ".")]) {
    await assert.rejects(verify(text), refused);
  }
  const claims = new SignJWT({ sub: "alice", exp: 4e9 }).setProtectedHeader({ alg: "HS256", kid: "one" });
  await assert.rejects(verify(await claims.sign(new Uint8Array(32))), refused);
  assert.equal(state.fetches, 0);
});

test("unknown kids cause at most one fetch every 30 seconds", async () => {
  const { state, verify, token, clock } = await open();
  await verify(await token(one.privateKey, "one"));
  for (let count = 0; count < 5; count++) {
    await assert.rejects(verify(await token(two.privateKey, `unknown ${count}`)), refused);
  }
  assert.equal(state.fetches, 1);
  await clock.advance(30_000);
  for (let count = 0; count < 5; count++) {
    await assert.rejects(verify(await token(two.privateKey, `unknown ${count}`)), refused);
  }
  assert.equal(state.fetches, 2);
});

test("a new key is found when a token names it", async () => {
  const { state, verify, token, clock } = await open();
  await verify(await token(one.privateKey, "one"));
  state.answer = async () => Response.json({ keys: [await jwkOf(one, "one"), await jwkOf(two, "two")] });
  await clock.advance(30_000);
  assert.deepEqual(await verify(await token(two.privateKey, "two")), { owner: "alice" });
  assert.deepEqual(await verify(await token(one.privateKey, "one")), { owner: "alice" });
  assert.equal(state.fetches, 2);
});

test("a forged token with a known kid is refused after one fetch in 30 seconds, also while the address is away", async () => {
  const { state, verify, token, clock } = await open();
  await verify(await token(one.privateKey, "one"));
  await clock.advance(minute);
  await assert.rejects(verify(await token(two.privateKey, "one")), refused);
  await assert.rejects(verify(await token(rsa.privateKey, "one", "RS256")), refused);
  assert.equal(state.fetches, 2);
  state.answer = () => Promise.reject(new Error("away"));
  await clock.advance(minute);
  await assert.rejects(verify(await token(two.privateKey, "one")), refused);
  assert.equal(state.fetches, 3);
});

test("a new key under an old kid is accepted after one fetch", async () => {
  const { state, verify, token, clock } = await open();
  await verify(await token(one.privateKey, "one"));
  state.answer = async () => Response.json({ keys: [await jwkOf(two, "one")] });
  await clock.advance(minute);
  assert.deepEqual(await verify(await token(two.privateKey, "one")), { owner: "alice" });
  assert.equal(state.fetches, 2);
  await assert.rejects(verify(await token(one.privateKey, "one")), refused);
});

test("a withdrawn key is noticed after ten minutes", async () => {
  const { state, verify, token, clock } = await open();
  const good = await token(one.privateKey, "one");
  await verify(good);
  state.answer = async () => Response.json({ keys: [await jwkOf(two, "two")] });
  await clock.advance(10 * minute - 1);
  assert.deepEqual(await verify(good), { owner: "alice" });
  await clock.advance(1);
  await assert.rejects(verify(good), refused);
});

test("tokens without a kid are tried with all keys, and keys without one with all tokens", async () => {
  const { state, verify, token, clock } = await open();
  state.answer = async () =>
    Response.json({ keys: [await jwkOf(rsa), await jwkOf(one), await jwkOf(two, "two")] });
  assert.deepEqual(await verify(await token(one.privateKey)), { owner: "alice" });
  assert.deepEqual(await verify(await token(two.privateKey)), { owner: "alice" });
  assert.deepEqual(await verify(await token(rsa.privateKey, undefined, "RS256")), { owner: "alice" });
  assert.deepEqual(await verify(await token(one.privateKey, "some name")), { owner: "alice" });
  await clock.advance(minute);
  assert.equal(state.fetches, 1);
});

test("a token that names a key is not tried with another", async () => {
  const { state, verify, token } = await open();
  state.answer = async () => Response.json({ keys: [await jwkOf(one, "one"), await jwkOf(two, "two")] });
  assert.deepEqual(await verify(await token(two.privateKey, "two")), { owner: "alice" });
  await assert.rejects(verify(await token(two.privateKey, "one")), refused);
});

test("a token without a kid that no known key signed causes at most one fetch every 30 seconds", async () => {
  const { state, verify, token, clock } = await open();
  await verify(await token(one.privateKey));
  await assert.rejects(verify(await token(two.privateKey)), refused);
  assert.equal(state.fetches, 1);
  state.answer = async () => Response.json({ keys: [await jwkOf(two)] });
  await clock.advance(30_000);
  assert.deepEqual(await verify(await token(two.privateKey)), { owner: "alice" });
  assert.equal(state.fetches, 2);
});

test("an address that is down from the start is 503 with the time to the next attempt, one every 30 seconds", async () => {
  const { state, verify, token, clock } = await open();
  const good = await token(one.privateKey, "one");
  const { answer } = state;
  state.answer = down;
  await assert.rejects(verify(good), unavailable("30"));
  await clock.advance(12_500);
  await assert.rejects(verify(good), unavailable("18"));
  assert.equal(state.fetches, 1);
  state.answer = answer;
  await clock.advance(17_499);
  await assert.rejects(verify(good), unavailable("1"));
  await clock.advance(1);
  assert.deepEqual(await verify(good), { owner: "alice" });
  assert.equal(state.fetches, 2);
  assert.deepEqual(state.logged, ["warn fetching the JWKS document failed"]);
});

test("known keys are usable for an hour while the address is down, with an attempt every 30 seconds", async () => {
  const { state, verify, token, clock } = await open();
  const good = await token(one.privateKey, "one");
  await verify(good);
  state.answer = down;
  await clock.advance(60 * minute - 1);
  for (let count = 0; count < 5; count++) assert.deepEqual(await verify(good), { owner: "alice" });
  assert.equal(state.fetches, 2);
  await clock.advance(1);
  await assert.rejects(verify(good), unavailable("30"));
  await clock.advance(30_000);
  await assert.rejects(verify(good), unavailable("30"));
  assert.equal(state.fetches, 3);
});

test("an unknown kid is 503 while the address is down, since it may be a new key's", async () => {
  const { state, verify, token, clock } = await open();
  await verify(await token(one.privateKey, "one"));
  state.answer = down;
  await clock.advance(minute);
  await assert.rejects(verify(await token(two.privateKey, "two")), unavailable("30"));
  assert.deepEqual(await verify(await token(one.privateKey, "one")), { owner: "alice" });
});

test("a fetch that gets no answer, or only part of one, is given up after 3 seconds", async () => {
  const forever = new Promise<never>(() => {});
  let cancelled = false;
  const halfBody = new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(new TextEncoder().encode('{"keys":[')),
    cancel: () => {
      cancelled = true;
    },
  });
  for (const answer of [() => forever, async () => new Response(halfBody)]) {
    const { state, verify, token, clock } = await open();
    state.answer = answer;
    const outcome = assert.rejects(verify(await token(one.privateKey, "one")), unavailable("27"));
    await clock.advance(2_999);
    assert.equal(state.signal?.aborted, false);
    await clock.advance(1);
    assert.equal(state.signal?.aborted, true);
    await outcome;
  }
  await settle();
  assert.ok(cancelled);
});

test("an answer that is not a JWKS document counts as an outage", async () => {
  const keys = [await jwkOf(one, "one")];
  const answers: (() => Response)[] = [
    () => Response.json({ keys }, { status: 500 }),
    () => new Response(null, { status: 302, headers: { Location: "https://other.example/" } }),
    () => Response.json({ keys, pad: "x".repeat(512 * 1024) }),
    () => Response.json({ keys, pad: Array(20_000).fill({}) }),
    () => Response.json({ keys: {} }),
    () => Response.json(keys),
    () => new Response("<html>"),
    () => new Response(null),
    () => new Response(Buffer.from(`{"keys":${JSON.stringify(keys)},"pad":"\xff"}`, "latin1")),
  ];
  for (const answer of answers) {
    const { state, verify, token } = await open();
    state.answer = async () => answer();
    await assert.rejects(verify(await token(one.privateKey, "one")), unavailable("30"));
  }
});

test("a refused answer is not read to its end", async () => {
  for (const status of [200, 500]) {
    const { state, verify, token } = await open();
    let cancelled = false;
    const endless = new ReadableStream({
      pull: (controller) => controller.enqueue(new Uint8Array(64 * 1024).fill(32)),
      cancel() {
        cancelled = true;
      },
    });
    state.answer = async () => new Response(endless, { status });
    await assert.rejects(verify(await token(one.privateKey)), unavailable("30"));
    assert.equal(cancelled, true, `${status}`);
  }
});

test("an answer may arrive in pieces, split anywhere, and its time-out ends with it", async () => {
  const { state, verify, token, clock } = await open();
  const bytes = new TextEncoder().encode(JSON.stringify({ keys: [await jwkOf(one, "schlüssel")] }));
  const pieces = new ReadableStream({
    start(controller) {
      for (const byte of bytes) controller.enqueue(Uint8Array.of(byte));
      controller.close();
    },
  });
  state.answer = async () => new Response(pieces);
  assert.deepEqual(await verify(await token(one.privateKey, "schlüssel")), { owner: "alice" });
  assert.equal(state.fetches, 1);
  assert.equal(clock.pending, 0);
});

test("an answer of ever so many pieces lets others have the thread", async (t) => {
  const { state, verify, token } = await open();
  let [left, read, most] = [100_000, 0, 0];
  const turns = setInterval(() => {
    read = 0;
  }, 0);
  t.after(() => clearInterval(turns));
  const keys = new TextEncoder().encode(JSON.stringify({ keys: [await jwkOf(one)] }));
  const pieces = new ReadableStream({
    pull(controller) {
      most = Math.max(most, ++read);
      controller.enqueue(left-- > 0 ? Uint8Array.of(32) : keys);
      if (left < 0) controller.close();
    },
  });
  state.answer = async () => new Response(pieces);
  assert.deepEqual(await verify(await token(one.privateKey)), { owner: "alice" });
  assert.ok(most < 2_000, `${most} pieces were read at once`);
});

test("a token is tried with 100 keys at most", async () => {
  const keys = [...Array(99).fill(await jwkOf(two)), await jwkOf(one)];
  for (const [known, isTried] of [
    [keys, true],
    [[await jwkOf(two), ...keys], false],
  ] as const) {
    const { state, verify, token } = await open();
    state.answer = async () => Response.json({ keys: known });
    const verified = verify(await token(one.privateKey));
    if (isTried) assert.deepEqual(await verified, { owner: "alice" });
    else await assert.rejects(verified, refused);
  }
});

test("keys that cannot verify signatures are skipped", async () => {
  const { state, verify, token } = await open();
  const broken = { ...(await jwkOf(one)), x: "AAAA" };
  const odd = [
    null,
    1,
    {},
    { kty: "oct", k: "AAAA", kid: "one" },
    { ...(await jwkOf(two, "one")), use: "enc" },
  ];
  state.answer = async () => Response.json({ keys: [...odd, broken, await jwkOf(one, "other")] });
  assert.deepEqual(await verify(await token(one.privateKey)), { owner: "alice" });
  // Not all runtimes check a key's coordinates before they verify with it.
  assert.ok(
    state.logged.every((entry) => entry === "warn a key for tokens cannot be used"),
    state.logged.join(),
  );
});

test("a clock that steps back neither keeps old keys alive nor stops fetches", async () => {
  const { state, verify, token, clock } = await open();
  const good = await token(one.privateKey, "one");
  await verify(good);
  clock.step(-120 * minute);
  assert.deepEqual(await verify(good), { owner: "alice" });
  assert.equal(state.fetches, 2);
});

test("an address that cannot be fetched from is refused at creation, in a message that does not repeat it", () => {
  for (const jwksUrl of [
    "id.example/jwks",
    "/jwks",
    "file:///jwks",
    "https://user:word@id.example/jwks",
    "https://word@id.example",
  ]) {
    assert.throws(() => createJwtVerifier({ jwksUrl }), {
      name: "TypeError",
      message: "jwksUrl must be an http: or https: address without a user or password",
    });
  }
});

test("a failed fetch is logged with the address but without its query", async () => {
  const entries: unknown[] = [];
  const verify = createJwtVerifier({
    jwksUrl: "https://id.example/jwks?code=word",
    log: (...entry) => entries.push(entry),
    fetch: down,
  });
  const claims = new SignJWT({ sub: "alice", exp: 4e9 }).setProtectedHeader({ alg: "ES256" });
  await assert.rejects(verify(await claims.sign(one.privateKey)), unavailable("30"));
  const logged = JSON.stringify(entries);
  assert.match(logged, /https:\/\/id\.example\/jwks/);
  assert.doesNotMatch(logged, /word/);
});

test("over a real connection, redirects are not followed and the document is read", async () => {
  const body = JSON.stringify({ keys: [await jwkOf(one, "one")] });
  const requests: string[] = [];
  const server = createServer(({ url = "" }, response: ServerResponse) => {
    requests.push(url);
    if (url === "/moved") response.writeHead(302, { Location: "/jwks" }).end();
    else response.writeHead(200, { "Content-Type": "application/json" }).end(body);
  });
  const base = `http://127.0.0.1:${await listen(server)}`;
  try {
    const claims = new SignJWT({ sub: "alice", exp: 4e9 }).setProtectedHeader({ alg: "ES256", kid: "one" });
    const good = await claims.sign(one.privateKey);
    assert.deepEqual(await createJwtVerifier({ jwksUrl: `${base}/jwks` })(good), { owner: "alice" });
    await assert.rejects(createJwtVerifier({ jwksUrl: `${base}/moved` })(good), unavailable("30"));
    assert.deepEqual(requests, ["/jwks", "/moved"]);
  } finally {
    server.closeAllConnections();
    server.close();
  }
});
