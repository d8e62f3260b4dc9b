import { builtFile } from "../../harness/build.ts";
import type { Contender } from "../contender.ts";

/** Hono on Node, in `list`. */
export const hono: Contender = {
  folder: "hono",
  name: "Hono",
  about:
    "One list in memory. Its middleware checks a key, hono-rate-limiter counts its requests in memory, Zod validates the query.",
  launch: ({ node }) => ({ command: [...node, builtFile("contenders/hono/server.mjs")], ready: "/" }),
  prepare: async () => [], // it has no conversations
};
