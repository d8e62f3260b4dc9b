// better-sse on node:http, as its documentation shows it: a session, with one push per token, or one batch of all tokens.

import { createServer } from "node:http";
import { createSession } from "better-sse";
import { announce, deltaOf, tokens } from "./reply.ts";

const server = createServer(async (request, response) => {
  request.resume();
  const session = await createSession(request, response, { keepAlive: null });
  if (request.url === "/joined") await session.batch(pushAll);
  else pushAll(session);
  response.end();
});

function pushAll(to) {
  for (const token of tokens) to.push(deltaOf(token));
}

server.listen(0, "127.0.0.1", () => announce(server.address().port));
