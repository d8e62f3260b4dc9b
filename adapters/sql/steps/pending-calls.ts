/**
 * Keeps the calls with which a reply has ended until the person has decided, and what was decided, for whatever process goes
 * on. Earlier processes would go on without them.
 *
 * @module
 */

import type { Step } from "./step.ts";

export const pendingCalls: Step = {
  earlierProcesses: "must end",
  statements: ({ text }) => [
    // What is shown, while nothing is decided; and what the engine needs to go on, which stays with the message.
    `ALTER TABLE messages ADD COLUMN pending_calls ${text}`,
    `ALTER TABLE messages ADD COLUMN call_state ${text}`,
    // Of a question: what it decides of the calls of the reply before it.
    `ALTER TABLE messages ADD COLUMN decisions ${text}`,
  ],
};
