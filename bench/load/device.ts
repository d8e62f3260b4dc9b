/**
 * A device that looks on at a conversation.
 *
 * @module
 */

import assert from "node:assert/strict";
import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";

/** Opens the stream of a conversation at this address on a connection of its own, and waits for its first event. */
export async function follow(url: string, key: string) {
  const asked = request(`${url}/stream`, { agent: false, headers: { Authorization: `Bearer ${key}` } });
  asked.end();
  const [response] = (await once(asked, "response")) as [IncomingMessage];
  assert.equal(response.statusCode, 200);
  await once(response, "data");
  return { response, leave: () => asked.destroy() };
}
