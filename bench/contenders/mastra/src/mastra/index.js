// An agent with message history in a file, as in Mastra's guide to memory.

import { Mastra } from "@mastra/core";
import { Agent } from "@mastra/core/agent";
import { LibSQLStore } from "@mastra/libsql";
import { Memory } from "@mastra/memory";

const { MODEL_URL, DATABASE } = process.env;

const twin = new Agent({
  id: "twin",
  name: "Twin",
  instructions: "You are a helpful assistant.",
  model: { id: "scripted/scripted", url: MODEL_URL, apiKey: "none" },
  memory: new Memory({ options: { lastMessages: 10 } }),
});

export const mastra = new Mastra({
  agents: { twin },
  storage: new LibSQLStore({ id: "storage", url: `file:${DATABASE}` }),
});
