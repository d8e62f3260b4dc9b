/**
 * An embeddings server of words: a stand-in for a model that knows several languages.
 */

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";

/** Words that mean the same, in several languages: a dimension each. */
const meanings = [
  ["dog", "pets", "hund", "chien"],
  ["breakfast", "eggs", "frühstück", "petit déjeuner"],
  ["car", "park", "parken", "voiture"],
  ["swim", "pool", "schwimmen", "nager"],
  ["train", "station", "zug", "bahnhof"],
];

/** What a model of words would say of a text: how often each meaning is in it. */
function vectorOf(text: string): number[] {
  const found = meanings.map((words) => words.filter((word) => text.toLowerCase().includes(word)).length);
  return [...found, 0.1]; // all texts have something in common
}

const base64 = (vector: number[]) => Buffer.from(new Float32Array(vector).buffer).toString("base64");

/** The same vectors as different servers answer. */
export const shapes = {
  OpenAI: (vectors: number[][]) => ({
    object: "list",
    data: vectors.map((embedding, index) => ({ object: "embedding", index, embedding })).reverse(),
    usage: { prompt_tokens: 1, total_tokens: 1 },
  }),
  "OpenAI, Base64": (vectors: number[][]) => ({
    data: vectors.map((vector, index) => ({ index, embedding: base64(vector) })),
  }),
  Ollama: (vectors: number[][]) => ({ model: "nomic-embed-text", embeddings: vectors }),
  "Text Embeddings Inference": (vectors: number[][]) => vectors,
};

/** A server that answers word vectors, and what it was asked. */
export async function startEmbeddings(shape: (vectors: number[][]) => unknown, status = 200) {
  const asked: { model: string; input: string[] }[] = [];
  const credentials: (string | undefined)[] = [];
  const state = { status, hangs: false };
  const server = createServer(async (request, response) => {
    if (request.url !== "/v1/embeddings") return void response.writeHead(404).end();
    credentials.push(request.headers.authorization);
    const body = (await json(request)) as { model: string; input: string[] };
    asked.push(body);
    if (state.hangs) return;
    response.writeHead(state.status, { "Content-Type": "application/json" });
    response.end(JSON.stringify(shape(body.input.map(vectorOf))));
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const { port } = server.address() as AddressInfo;
  return {
    asked,
    credentials,
    state,
    baseUrl: `http://127.0.0.1:${port}/v1`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    },
  };
}
