/**
 * The model of the servers that are killed.
 */

import { setTimeout as pause } from "node:timers/promises";
import { begin, call, createModelServer, delta, endMarker, finish } from "../openai-models/model-server.ts";
import { listen } from "../support/ports.ts";
import { answerTo, callsOf, partsOf } from "./journal.ts";

/**
 * A model that streams its answers slowly enough to be caught in the middle. If it has a tool, it writes a part of the answer
 * before each call and after the last one.
 */
export async function startModel() {
  const server = createModelServer("slow", async ({ question, partial, tool, results }, response) => {
    begin(response);
    const parts = tool === undefined ? [answerTo(question)] : partsOf(question);
    const calls = tool === undefined ? [] : callsOf(question);
    for (const word of parts[results]?.slice(partial.length).match(/\S* /g) ?? []) {
      response.write(delta(word));
      await pause(Math.random() * 15);
      if (response.destroyed) return;
    }
    const number = calls[results];
    if (number !== undefined) response.write(call(`call-${number}`, tool ?? "", { number }));
    response.end(finish("stop") + endMarker);
  });
  return { port: await listen(server), server };
}
