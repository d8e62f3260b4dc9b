import { builtFile } from "../../harness/build.ts";
import { completion } from "../completion.ts";
import { type Contender, unrelated } from "../contender.ts";

/** The least that a relay can do. */
export const nodePipe: Contender = {
  folder: "node-pipe",
  name: "node:http, bytes piped",
  about: "Passes bytes on. No parsing, no storing, no keys, no limits; a reply ends with its client.",
  launch: ({ node }) => ({ command: [...node, builtFile("contenders/node-pipe/server.ts")], ready: "/" }),
  prepare: async (_, count) => unrelated(count, completion),
};
