/**
 * The service that all examples embed, below `/twins-api`. In a project of your own the imports are
 * `twin-service`, and `twin-service/node` and its like for the adapters.
 */

import {
  ApiError,
  createMemoryLimiter,
  createMemoryStore,
  createService,
  createTwinList,
  type Service,
  type ServiceOptions,
  type Twin,
  type TwinEngine,
} from "../core/mod.ts";

export const basePath = "/twins-api";

const parrot: Twin = {
  id: "parrot",
  name: "Parrot",
  description: "Says what you say.",
  avatarUrl: null,
  greeting: "Hello. Hello?",
  tags: [],
  createdAt: Date.UTC(2026, 0, 1),
  updatedAt: Date.UTC(2026, 0, 1),
  engine: "parrot",
  model: null,
  temperature: null,
  access: null,
  instructions: "Repeat what the user says.",
};

/** An engine of the host's own: it says a word at a time. */
const sayAgain: TwinEngine = {
  async reply({ content }, output) {
    for (const word of content.split(/(?<= )/)) {
      await new Promise((resolve) => setTimeout(resolve, 20));
      if (output.signal.aborted) break; // the reply was cancelled, or its last reader has gone
      output.write(word);
    }
    return { finishReason: "stop", usage: null };
  },
};

/** Stands for the sessions that a host keeps: who may create API keys, and whose they are, is the host's to say. */
const sessions = new Map([["session-of-alice", "alice"]]);

async function verifyToken(token: string): Promise<string> {
  const user = sessions.get(token);
  if (user === undefined) throw new ApiError("invalid_token", "Log in first.");
  return user;
}

/** A service with a parrot. Each option replaces a part. */
export function createTwins(options: Partial<ServiceOptions> = {}): Service {
  return createService({
    store: createMemoryStore(),
    twins: createTwinList([parrot]),
    engines: { parrot: sayAgain },
    limiter: createMemoryLimiter(),
    verifyToken,
    basePath,
    onDisconnect: "cancel",
    ...options,
  });
}
