/**
 * The model itself, asked without a server between: what it shows is not the servers', but the benchmark's own.
 *
 * @module
 */

import { completion } from "../contenders/completion.ts";
import { type Contender, unrelated } from "../contenders/contender.ts";
import { createSession, type Session, type Stage } from "./session.ts";

const none: Contender = {
  folder: "no-server",
  name: "no server: the model itself",
  about: "What the benchmark's own model and client take.",
  launch: () => {
    throw new Error("The model runs already.");
  },
  prepare: async (_, count) => unrelated(count, completion),
};

/** A session that asks the model directly. */
export function directSession(stage: Stage): Session {
  const { port, url: modelUrl } = stage.model;
  const unused = { cpu: () => 0, memory: async () => 0, stop: async () => {} };
  return createSession(none, { ...unused, port, modelUrl, url: `http://127.0.0.1:${port}` }, stage);
}
