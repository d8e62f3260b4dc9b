// Express: a list that is looked up, and a stream with one write per token.

import express from "express";
import { announce, deltaEvent, tokens, twinsPage } from "./reply.ts";

const app = express();
const pages = new Map([["20", twinsPage(20)]]);

app.get("/twins", (request, response) => response.json(pages.get(request.query.limit)));
app.post("/stream", (_, response) => {
  response.set("Content-Type", "text/event-stream");
  for (const token of tokens) response.write(deltaEvent(token));
  response.end();
});

const server = app.listen(0, "127.0.0.1", () => announce(server.address().port));
