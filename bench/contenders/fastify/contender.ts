import { builtFile } from "../../harness/build.ts";
import type { Contender } from "../contender.ts";

/** Fastify, in `list`. */
export const fastify: Contender = {
  folder: "fastify",
  name: "Fastify",
  about:
    "One list in memory. Its own plugins check a key and count its requests in memory; its own schemas validate the query and " +
    "write the answer.",
  launch: ({ node }) => ({ command: [...node, builtFile("contenders/fastify/server.mjs")], ready: "/" }),
  prepare: async () => [], // it has no conversations
};
