import { builtFile } from "../../harness/build.ts";
import { completion } from "../completion.ts";
import { type Contender, unrelated } from "../contender.ts";

/** A relay that has to understand what it passes on. */
export const nodeRelay: Contender = {
  folder: "node-relay",
  name: "node:http, parsed and re-encoded",
  about: "Reads each event and writes its own. No storing, no keys, no limits; a reply ends with its client.",
  launch: ({ node }) => ({ command: [...node, builtFile("contenders/node-relay/server.ts")], ready: "/" }),
  prepare: async (_, count) => unrelated(count, completion),
};
