/**
 * The whole API on two servers: each request goes to either of them.
 */

import assert from "node:assert/strict";
import type { MessageResource } from "../../core/wire/schemas.ts";
import { assertConforms } from "../support/conformance.ts";
import { dataOf, parseEvents, textOf } from "../support/harness.ts";
import { call, either, historyOf, type Servers } from "./clients.ts";
import { token } from "./server.ts";

/** Sends a request to either server, and checks its answer. */
type Ask = (
  method: string,
  path: string,
  credential: string,
  expected: number,
  body?: object,
  headers?: Readonly<Record<string, string>>,
) => Promise<Response>;

/** Calls every endpoint of the API, and checks each answer against the OpenAPI document. */
export async function useWholeApi(servers: Servers): Promise<void> {
  const owner = await token("erin");
  const ask: Ask = async (method, path, credential, expected, body, headers) => {
    const answer = await call(either(servers), method, path, credential, body, headers);
    assert.equal(answer.status, expected, `${method} ${path}`);
    await assertConforms(method, `/api/v1${path}`, answer.clone());
    return answer;
  };
  for (let round = 0; round < 5; round++) {
    const made = { name: `round ${round}`, scope: "full_access" };
    const { id: keyId, key } = await dataOf<{ id: string; key: string }>(
      await ask("POST", "/auth/api-keys", owner, 201, made),
    );
    await ask("GET", "/auth/api-keys", owner, 200);
    await ask("GET", "/twins", key, 200);
    await ask("GET", "/twins/echo", key, 200);
    await ask("GET", "/twins/nobody", key, 404);
    await ask("POST", "/conversations", key, 400, { twinId: "" });
    const retried = { "Idempotency-Key": `conversation ${round}` };
    const first = await dataOf<{ id: string }>(
      await ask("POST", "/conversations", key, 201, { twinId: "echo" }, retried),
    );
    const again = await ask("POST", "/conversations", key, 201, { twinId: "echo" }, retried);
    assert.equal((await dataOf<{ id: string }>(again)).id, first.id);
    await ask("POST", "/conversations", key, 422, { twinId: "slow" }, retried);
    const path = `/conversations/${first.id}`;
    await ask("PATCH", path, key, 200, { title: "Either" });
    await ask("GET", "/conversations", key, 200);
    await ask("GET", path, key, 200);
    const once = { "Idempotency-Key": `message ${round}` };
    const sent = await dataOf<MessageResource>(
      await ask("POST", `${path}/messages`, key, 200, { content: "one" }, once),
    );
    const replayed = await ask("POST", `${path}/messages`, key, 200, { content: "one" }, once);
    assert.deepEqual(await dataOf<MessageResource>(replayed), sent);
    const stream = await ask("POST", `${path}/messages/stream`, key, 200, { content: "two" });
    assert.equal(textOf(parseEvents(await stream.text())), "two");
    const resumed = await ask("GET", `${path}/messages/${sent.id}/stream?after=1`, key, 200);
    assert.equal(textOf(parseEvents(await resumed.text())), "ne");
    await ask("GET", `${path}/messages/${sent.id}`, key, 200);
    await ask("GET", `${path}/messages?order=desc&after=${sent.id}`, key, 200);
    assert.deepEqual(await dataOf(await ask("POST", `${path}/messages/${sent.id}/cancel`, key, 200)), sent);
    assert.deepEqual(
      (await historyOf(either(servers), key, path)).map(({ content }) => content),
      ["one", "one", "two", "two"],
    );
    await ask("GET", "/usage", key, 200);
    await useEndUsers(ask, key, `ann/${round}`);
    await ask("DELETE", path, key, 204);
    await ask("GET", path, key, 404);
    await ask("DELETE", `/auth/api-keys/${keyId}`, owner, 204);
  }
}

/** Calls every endpoint of the people behind a key, for one who is then erased. */
async function useEndUsers(ask: Ask, key: string, endUser: string): Promise<void> {
  const made = await ask("POST", "/client-tokens", key, 201, { endUser, twinIds: ["echo"] });
  const { token } = await dataOf<{ token: string }>(made);
  const begun = await ask("POST", "/conversations", token, 201, { twinId: "echo" });
  const path = `/conversations/${(await dataOf<{ id: string }>(begun)).id}`;
  await ask("POST", `${path}/messages`, token, 200, { content: "three" });
  const name = encodeURIComponent(endUser);
  const exported = await ask("GET", `/end-users/${name}/export`, key, 200);
  assert.equal((await exported.text()).trimEnd().split("\n").length, 3);
  const used = await ask("GET", "/usage/history?groupBy=endUser&limit=100", key, 200);
  const sums = await dataOf<{ group: string | null; replies: number }[]>(used);
  assert.equal(sums.find(({ group }) => group === endUser)?.replies, 1);
  await ask("DELETE", `/client-tokens?endUser=${name}`, key, 204);
  const erased = await ask("DELETE", `/end-users/${name}`, key, 200);
  assert.deepEqual(await dataOf(erased), { endUser, conversations: 1, messages: 2, clientTokens: 0 });
  await ask("GET", path, key, 404);
}
