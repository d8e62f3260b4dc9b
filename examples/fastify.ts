/** In a Fastify 5 app, as a plugin, so that its content type parser applies only inside it. */

import fastify, { type FastifyInstance } from "fastify";
import { toNodeHandler } from "twin-service/node";
import { createMemoryStore, type Store } from "twin-service/store";
import { basePath, createTwins } from "./twins.ts";

/** The host's own store, a wrapper of the one in memory: it counts conversations, as a host might for its pages. */
function createCountingStore(counts: Map<string, number>): Store {
  const store = createMemoryStore();
  return {
    ...store,
    async createConversation(conversation, claim) {
      const repeated = await store.createConversation(conversation, claim);
      if (!repeated) counts.set(conversation.owner, (counts.get(conversation.owner) ?? 0) + 1);
      return repeated;
    },
  };
}

const counts = new Map<string, number>();

async function twins(app: FastifyInstance): Promise<void> {
  const handle = toNodeHandler(createTwins({ store: createCountingStore(counts) }));
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("*", (_request, _payload, done) => done(null)); // the service reads bodies itself
  app.all("/*", (request, reply) => {
    reply.hijack();
    handle(request.raw, reply.raw);
  });
}

const app = fastify();
app.get("/", async () => `Conversations: ${counts.get("alice") ?? 0}`);
await app.register(twins, { prefix: basePath });
console.log(
  `listening on ${await app.listen({ port: Number(process.env.PORT ?? 3000), host: "127.0.0.1" })}`,
);
