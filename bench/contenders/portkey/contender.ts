import { benchFile } from "../../harness/build.ts";
import { completion } from "../completion.ts";
import { type Contender, unrelated } from "../contender.ts";

/** The Portkey AI gateway. */
export const portkey: Contender = {
  folder: "portkey",
  name: "Portkey gateway",
  about:
    "Reads each event and passes it on; routing and retries by header. No storing; keys are the model's own.",
  note:
    "Pinned to @hono/node-server 1.13.8: with the version that npm would choose today, 1.15.2 of the gateway fails " +
    'every request ("immutable").',
  launch: ({ node, port }) => ({
    command: [
      ...node,
      benchFile("contenders/portkey/node_modules/@portkey-ai/gateway/build/start-server.js"),
      `--port=${port}`,
      "--headless",
    ],
    ready: "/",
  }),
  async prepare({ modelUrl }, count) {
    const headers = {
      Authorization: "Bearer none",
      "x-portkey-provider": "openai",
      "x-portkey-custom-host": modelUrl,
    };
    return unrelated(count, (question) => ({ ...completion(question), headers }));
  },
};
