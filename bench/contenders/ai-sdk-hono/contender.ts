import { benchFile } from "../../harness/build.ts";
import { type Contender, unrelated } from "../contender.ts";

/** The AI SDK's chatbot guide, on Hono. */
export const aiSdk: Contender = {
  folder: "ai-sdk-hono",
  name: "AI SDK on Hono",
  about:
    "Reads each event, runs the SDK's stream of parts, writes UI message events. No storing, no keys, no limits.",
  note: "Its guide shows this route. Storing and resuming are recipes with a database and Redis of one's own.",
  launch: ({ node }) => ({ command: [...node, benchFile("contenders/ai-sdk-hono/server.mjs")], ready: "/" }),
  async prepare(_, count) {
    return unrelated(count, (text) => ({
      path: "/api/chat",
      body: { messages: [{ id: "question", role: "user", parts: [{ type: "text", text }] }] },
    }));
  },
};
