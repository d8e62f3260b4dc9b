import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { benchFile } from "../../harness/build.ts";
import { runToEnd } from "../../harness/servers.ts";
import { type Contender, type Conversation, inBatches, requestJson } from "../contender.ts";

const folder = benchFile("contenders/mastra");

/** A Mastra server with one agent that remembers. */
export const mastra: Contender = {
  folder: "mastra",
  name: "Mastra",
  about:
    "Runs an agent for each message and stores threads in SQLite (LibSQL). No keys unless configured, no limits.",
  note: "`mastra build`, then `mastra start`; an agent with memory, as its guide shows. Telemetry off.",
  launch({ node, data }) {
    const program = [...node, join(folder, "node_modules/.bin/mastra")];
    const env = { MASTRA_TELEMETRY_DISABLED: "1" };
    if (!existsSync(join(folder, ".mastra/output/index.mjs"))) {
      runToEnd([...program, "build"], { cwd: folder, env: { ...env, MODEL_URL: "http://127.0.0.1:9/v1" } });
    }
    const database = join(data, "mastra.db");
    return {
      command: [...program, "start"],
      cwd: folder,
      env: { ...env, DATABASE: database },
      ready: "/api/agents",
    };
  },
  prepare: ({ url }, count) => inBatches(count, async () => thread(url, randomUUID())),
};

interface Messages {
  readonly messages: readonly { readonly role: string; readonly content: { readonly content?: string } }[];
}

function thread(url: string, id: string): Conversation {
  const query = new URLSearchParams({ agentId: "twin", resourceId: id });
  return {
    ask: (content) => ({
      path: "/api/agents/twin/stream",
      body: { messages: [{ role: "user", content }], memory: { thread: id, resource: id } },
    }),
    async stored() {
      const path = `${url}/api/memory/threads/${id}/messages?${query}`;
      const { messages } = await requestJson<Messages>(path, { method: "GET" });
      return messages.findLast(({ role }) => role === "assistant")?.content.content ?? "";
    },
  };
}
