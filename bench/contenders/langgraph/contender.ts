import { copyFileSync, existsSync, mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { benchFile } from "../../harness/build.ts";
import { type Contender, type Conversation, inBatches, requestJson } from "../contender.ts";

const folder = benchFile("contenders/langgraph");

/**
 * How many runs its server carries at once; more would wait. Its default is 10. Each of them polls for work and looks
 * through all runs: with 1,000, that alone uses up a core.
 */
const jobs = 250;

/** LangGraph.js' API server. */
export const langgraph: Contender = {
  folder: "langgraph",
  name: "LangGraph.js API server",
  about:
    "Runs a graph for each message, keeps threads and checkpoints in memory and in a file. No keys, no limits.",
  note:
    `\`langgraphjs dev --n-jobs-per-worker ${jobs}\`: the server that runs without Docker and a license. ` +
    "Its documentation calls it one for development.",
  mostStreams: 200,
  launch: ({ node, port, data }) => ({
    command: [...node, join(folder, "node_modules/.bin/langgraphjs"), ...argumentsFor(port)],
    cwd: project(data),
    env: { OPENAI_API_KEY: "none", LANGGRAPH_CLI_NO_ANALYTICS: "1", LANGSMITH_TRACING: "false" },
    ready: "/ok",
  }),
  prepare: ({ url }, count) => inBatches(count, () => openThread(url)),
};

function argumentsFor(port: number): string[] {
  const options = ["--host", "127.0.0.1", "--no-browser", "--no-reload", "--n-jobs-per-worker", String(jobs)];
  return ["dev", "--port", String(port), ...options];
}

/** The server keeps its threads in its project's folder, so each place has a project of its own. */
function project(data: string): string {
  mkdirSync(data, { recursive: true });
  for (const file of ["langgraph.json", "graph.mjs", "package.json"]) {
    copyFileSync(join(folder, file), join(data, file));
  }
  if (!existsSync(join(data, "node_modules"))) {
    symlinkSync(join(folder, "node_modules"), join(data, "node_modules"));
  }
  return data;
}

interface Thread {
  readonly thread_id: string;
}

interface State {
  readonly values?: { readonly messages?: readonly { readonly type: string; readonly content: string }[] };
}

async function openThread(url: string): Promise<Conversation> {
  const { thread_id: id } = await requestJson<Thread>(`${url}/threads`, { body: {} });
  return {
    ask: (content) => ({
      path: `/threads/${id}/runs/stream`,
      body: {
        assistant_id: "agent",
        input: { messages: [{ role: "user", content }] },
        stream_mode: ["messages-tuple"],
      },
    }),
    async stored() {
      const { values } = await requestJson<State>(`${url}/threads/${id}/state`, { method: "GET" });
      return values?.messages?.findLast(({ type }) => type === "ai")?.content ?? "";
    },
  };
}
