/**
 * A moderation server that flags texts with the word "forbidden".
 */

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";

/** What the server is to answer besides: a status, or a body of its own. */
export interface ModerationState {
  statuses: number[];
  answer: ((flagged: boolean) => unknown) | undefined;
}

export async function startModeration() {
  const asked: { model: string; input: string }[] = [];
  const credentials: (string | undefined)[] = [];
  const state: ModerationState = { statuses: [], answer: undefined };
  const server = createServer(async (request, response) => {
    if (request.url !== "/v1/moderations") return void response.writeHead(404).end();
    credentials.push(request.headers.authorization);
    const body = (await json(request)) as { model: string; input: string };
    asked.push(body);
    const flagged = body.input.includes("forbidden");
    const usual = { id: "modr-1", model: body.model, results: [{ flagged, categories: { hate: flagged } }] };
    response.writeHead(state.statuses.shift() ?? 200, { "Content-Type": "application/json" });
    response.end(JSON.stringify(state.answer ? state.answer(flagged) : usual));
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const { port } = server.address() as AddressInfo;
  return {
    asked,
    credentials,
    state,
    baseUrl: `http://127.0.0.1:${port}/v1`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    },
  };
}
