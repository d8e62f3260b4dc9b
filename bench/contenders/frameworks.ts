/**
 * Frameworks that answer the second table's requests, with servers that the benchmark itself wrote for them.
 *
 * @module
 */

import { builtFile } from "../harness/build.ts";
import type { Contender } from "./contender.ts";

function framework(folder: string, name: string, about: string, file = "server.mjs"): Contender {
  return {
    folder,
    name,
    about: `${about} No storing, no keys, no limits, no validation.`,
    launch: ({ node }) => ({
      command: [...node, builtFile(`contenders/${folder}/${file}`)],
      ready: "/twins",
    }),
    prepare: () => Promise.reject(new Error(`${name} has no conversations.`)),
  };
}

export const nodeHttp: Contender = framework(
  "node-http",
  "node:http",
  "One write for each token.",
  "server.ts",
);
export const hono: Contender = framework("hono", "Hono", "`streamSSE`, one `writeSSE` for each token.");
export const fastify: Contender = framework(
  "fastify",
  "Fastify",
  "`@fastify/sse`, one `send` for each token.",
);
