/**
 * The service that the examples embed, under `/twins-api`.
 */

import {
  ApiError,
  createService,
  createTwinList,
  type Service,
  type ServiceOptions,
  type TwinEngine,
  type TwinInit,
} from "twin-service";

export const basePath = "/twins-api";

const parrot: TwinInit = {
  id: "parrot",
  name: "Parrot",
  description: "Says what you say.",
  greeting: "Hello. Hello?",
  engine: "parrot",
  instructions: "Repeat what the user says.",
};

/** The host's own engine: it writes one word at a time. */
const sayAgain: TwinEngine = {
  async reply({ content }, output) {
    for (const word of content.split(/(?<= )/)) {
      await new Promise((resolve) => setTimeout(resolve, 20));
      if (output.signal.aborted) break; // the reply was cancelled, or its last follower has left
      output.write(word);
    }
    return { finishReason: "stop", usage: null };
  },
};

/** Stands in for a host's sessions: the host decides who may create API keys, and who owns them. */
const sessions = new Map([["session-of-alice", "alice"]]);

async function verifyToken(token: string): Promise<string> {
  const user = sessions.get(token);
  if (user === undefined) throw new ApiError("invalid_token", "Log in first.");
  return user;
}

/** A service with a parrot. Each option replaces a part. */
export function createTwins(options: Partial<ServiceOptions> = {}): Service {
  return createService({
    twins: createTwinList([parrot]),
    engines: { parrot: sayAgain },
    verifyToken,
    basePath,
    onDisconnect: "cancel",
    ...options,
  });
}
