// h3 as its documents show it: createEventStream, one push for each token.

import { createEventStream, H3, serve } from "h3";
import { announce, deltaOf, tokens } from "./reply.ts";

const app = new H3();

app.post("/stream", (event) => {
  const stream = createEventStream(event);
  pushAll(stream);
  return stream.send();
});

async function pushAll(stream) {
  for (const token of tokens) await stream.push(JSON.stringify(deltaOf(token)));
  await stream.close();
}

const server = serve(app, { port: 0, hostname: "127.0.0.1", silent: true });
await server.ready();
announce(Number(new URL(server.url).port));
