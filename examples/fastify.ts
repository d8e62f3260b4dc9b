/** In a Fastify 5 app, as a plugin: what it says of bodies holds only inside it. */

import fastify, { type FastifyInstance } from "fastify";
import { toNodeHandler } from "../adapters/node.ts";
import type { TwinEngine } from "../core/mod.ts";
import { basePath, createTwins } from "./twins.ts";

/** An engine of the host's own. */
const shouting: TwinEngine = {
  async reply(turn, output) {
    for (const word of turn.content.split(/(?<= )/)) {
      await new Promise((resolve) => setTimeout(resolve, 20));
      if (output.signal.aborted) break;
      output.write(word.toUpperCase());
    }
    return { finishReason: "stop", usage: null };
  },
};

async function twins(app: FastifyInstance): Promise<void> {
  const handle = toNodeHandler(createTwins({ engines: { parrot: shouting } }));
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("*", (_request, _payload, done) => done(null)); // the service reads bodies by itself
  app.all("/*", (request, reply) => {
    reply.hijack();
    handle(request.raw, reply.raw);
  });
}

const app = fastify();
app.get("/", async () => "The host's own page.");
await app.register(twins, { prefix: basePath });
console.log(
  `listening on ${await app.listen({ port: Number(process.env.PORT ?? 3000), host: "127.0.0.1" })}`,
);
