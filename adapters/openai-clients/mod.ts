/**
 * Twins for OpenAI's clients, at `/v1`: models, chat completions, responses and conversations.
 *
 * @module
 */

import { optional, type RulesFor, requireOptions, wholeNumber } from "../../core/base/rules.ts";
import type { ApiExtension } from "../../core/http/route.ts";
import { chatRoute } from "./chat.ts";
import { conversationRoutes } from "./conversation-routes.ts";
import { errorBody } from "./errors.ts";
import { defaultMessageCharacters, messageCharactersRange } from "./message-characters.ts";
import { modelRoutes } from "./models.ts";
import { responseRoutes } from "./responses.ts";
import { BrokenRequests } from "./sending.ts";

/** Options of {@link createOpenAIApi}. */
export interface OpenAIApiOptions {
  /** How many characters a message may have, 1 to 4,194,304. Default 131,072. */
  readonly maxMessageCharacters?: number | undefined;
}

const rules: RulesFor<OpenAIApiOptions> = {
  maxMessageCharacters: optional(wholeNumber(messageCharactersRange)),
};

/**
 * Creates the endpoints for OpenAI's clients.
 *
 * @example
 * ```ts
 * import { createService } from "twin-service";
 * import { createOpenAIApi } from "twin-service/openai-api";
 *
 * const service = createService({ ...options, openaiApi: createOpenAIApi() });
 * ```
 *
 * @throws {TypeError} for an option that is unknown or cannot be used.
 */
export function createOpenAIApi(options: OpenAIApiOptions = {}): ApiExtension {
  requireOptions("createOpenAIApi", options, rules);
  const { maxMessageCharacters = defaultMessageCharacters } = options;
  const setting = { maxMessageCharacters, broken: new BrokenRequests() };
  return {
    prefix: "/v1",
    routes: [...modelRoutes, chatRoute(setting), ...responseRoutes(setting), ...conversationRoutes(setting)],
    errorBody,
  };
}
