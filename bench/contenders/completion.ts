/**
 * The request of those that take a chat completion as OpenAI defines it.
 *
 * @module
 */

import type { Question } from "./contender.ts";

/** Asks for a streamed chat completion. */
export function completion(question: string, model = "scripted"): Question {
  const messages = [{ role: "user", content: question }];
  return { path: "/v1/chat/completions", body: { model, stream: true, messages } };
}
