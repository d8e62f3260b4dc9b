// The route of the AI SDK's chatbot guide, on Hono. The client sends its UI messages and gets a UI message stream.

import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { serve } from "@hono/node-server";
import { convertToModelMessages, createUIMessageStreamResponse, streamText, toUIMessageStream } from "ai";
import { Hono } from "hono";

const { MODEL_URL, PORT } = process.env;
const provider = createOpenAICompatible({ name: "scripted", baseURL: MODEL_URL });

const app = new Hono();
app.post("/api/chat", async (c) => {
  const { messages } = await c.req.json();
  const result = streamText({
    model: provider("scripted"),
    system: "You are a helpful assistant.",
    messages: await convertToModelMessages(messages),
  });
  return createUIMessageStreamResponse({ stream: toUIMessageStream({ stream: result.stream }) });
});

serve({ fetch: app.fetch, port: Number(PORT), hostname: "127.0.0.1" });
