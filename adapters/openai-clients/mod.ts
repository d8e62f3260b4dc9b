/**
 * Twins for OpenAI's clients, at `/v1`: models, chat completions and responses.
 *
 * @module
 */

import { isString } from "../../core/base/json.ts";
import { optional, type Rule, type RulesFor, requireOptions, wholeNumber } from "../../core/base/rules.ts";
import type { ApiExtension } from "../../core/http/route.ts";
import { chatRoute } from "./chat.ts";
import { errorBody } from "./errors.ts";
import { modelRoutes } from "./models.ts";
import { responseRoutes } from "./responses.ts";
import { BrokenRequests } from "./sending.ts";

/** Options of {@link createOpenAIApi}. */
export interface OpenAIApiOptions {
  /** The request header field that names the client's conversation. Default: `X-Conversation-Id`. */
  readonly conversationHeader?: string | undefined;
  /** A request header field that names the end user of a key's request. Default: none, only members of the body. */
  readonly endUserHeader?: string | undefined;
  /** How many characters a message may have, 1 to 4,194,304. Default 131,072. */
  readonly maxMessageCharacters?: number | undefined;
}

/** The minimum and maximum of {@link OpenAIApiOptions.maxMessageCharacters}, and what is usual. */
export const messageCharactersRange = [1, 4_194_304] as const;
/** The most characters of a question that clients of OpenAI may send, unless the option says otherwise. */
export const defaultMessageCharacters: number = 131_072;

const headerName: Rule = {
  expected: "the name of a header field, such as X-Conversation-Id",
  accepts: (value) => isString(value) && /^[\w!#$%&'*+.^`|~-]+$/.test(value),
};

const rules: RulesFor<OpenAIApiOptions> = {
  conversationHeader: optional(headerName),
  endUserHeader: optional(headerName),
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
  const { conversationHeader: conversation = "X-Conversation-Id", endUserHeader: endUser } = options;
  const headers = { conversation, retryCount: "X-Stainless-Retry-Count", ...(endUser && { endUser }) };
  const { maxMessageCharacters = defaultMessageCharacters } = options;
  const setting = { headers, maxMessageCharacters, broken: new BrokenRequests() };
  return {
    prefix: "/v1",
    routes: [...modelRoutes, chatRoute(setting), ...responseRoutes(setting)],
    errorBody,
  };
}
