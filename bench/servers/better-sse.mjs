// better-sse on node:http, as its documentation shows it: a session, with one push per token.

import { createServer } from "node:http";
import { createSession } from "better-sse";
import { announce, deltaOf, tokens } from "./reply.ts";

const server = createServer(async (request, response) => {
  request.resume();
  const session = await createSession(request, response, { keepAlive: null });
  for (const token of tokens) session.push(deltaOf(token));
  response.end();
});
server.listen(0, "127.0.0.1", () => announce(server.address().port));
