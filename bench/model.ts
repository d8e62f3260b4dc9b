/**
 * A stand-in for a model behind an OpenAI-compatible address, in the load generator's process, so that both
 * ends of a relay read the same clock.
 *
 * @module
 */

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createPacer } from "./servers/pace.ts";

/** A model that gives each stream 20 tokens a second, or nothing. */
export interface PacedModel {
  readonly url: string;
  /** Makes a paced model produce tokens until it is stopped. */
  start(): void;
  stop(): void;
}

/** Starts the model. A token is the time at which it was sent, in microseconds, followed by a space. */
export async function startModel(kind: "paced" | "silent"): Promise<PacedModel> {
  const pacer = createPacer(() => `${microseconds()} `);
  const server = createServer((request, response) => {
    request.resume();
    response.writeHead(200, { "Content-Type": "text/event-stream" });
    response.flushHeaders();
    const fed = { token: (text: string) => void response.write(chunk(text)), end: () => {} };
    if (kind === "paced") pacer.add(fed);
    response.on("close", () => pacer.remove(fed));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", 4096, resolve));
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}/v1`, start: pacer.start, stop: pacer.stop };
}

/** Whole microseconds of this process's own clock. */
export function microseconds(): number {
  return Math.round(performance.now() * 1000);
}

function chunk(content: string): string {
  const choice = { index: 0, delta: { content }, finish_reason: null };
  return `data: ${JSON.stringify({ id: "chatcmpl-1", object: "chat.completion.chunk", choices: [choice] })}\n\n`;
}
