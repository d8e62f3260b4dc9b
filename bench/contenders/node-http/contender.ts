import { builtFile } from "../../harness/build.ts";
import { completion } from "../completion.ts";
import { type Contender, unrelated } from "../contender.ts";

/** The floor of `burst`: it has its reply already. */
export const nodeHttp: Contender = {
  folder: "node-http",
  name: "node:http",
  about: "One write for each token. No storing, no keys, no limits, no validation.",
  launch: ({ node }) => ({ command: [...node, builtFile("contenders/node-http/server.ts")], ready: "/" }),
  prepare: async (_, count) => unrelated(count, completion),
};
