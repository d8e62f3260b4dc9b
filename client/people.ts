/**
 * The client's methods for an app whose key has many people behind it: their browsers' tokens, their data, and what is
 * used. Each is one endpoint.
 *
 * @module
 */

import type {
  ClientTokenResource,
  ErasedResource,
  ExportLine,
  MemoryResource,
  UnansweredQuestionResource,
  UsageResource,
  UsageSumResource,
} from "../core/wire/schemas.ts";
import { readLongAnswer } from "./http/long-answer.ts";
import { type List, listAt, type PageQuery } from "./http/pages.ts";
import type { RequestOptions, Requests } from "./http/requests.ts";
import type { ReviewQuery } from "./review.ts";

/** What a new client token may do. */
export interface ClientTokenRequest {
  /** The app's own id of the person in whose browser it will be. */
  readonly endUser: string;
  /** Default: all twins of the key's owner. */
  readonly twinIds?: readonly string[] | null;
  /** Default `full_access`. */
  readonly scope?: "read_only" | "full_access";
  /** 60 to 3600. Default 600. */
  readonly expiresInSeconds?: number;
  /** Default 100. */
  readonly requestsPerHour?: number;
  /** How many tokens the end user's replies may take in a day and a month of UTC. Default null: no limit. */
  readonly tokensPerDay?: number | null;
  readonly tokensPerMonth?: number | null;
}

/** Client tokens: short-lived credentials of one end user, for browsers. */
export class ClientTokens {
  readonly #requests: Requests;

  constructor(requests: Requests) {
    this.#requests = requests;
  }

  /** Creates a token. Sent only once, because each time makes another. */
  create(body: ClientTokenRequest, options?: RequestOptions): Promise<ClientTokenResource> {
    return this.#requests.data({ method: "POST", path: "/client-tokens", body, once: true }, options);
  }

  /** Ends all tokens of an end user. */
  revoke(endUser: string, options?: RequestOptions): Promise<void> {
    return this.#requests.done({ method: "DELETE", path: "/client-tokens", query: { endUser } }, options);
  }
}

/** The people behind a key, by the app's own ids. */
export class EndUsers {
  readonly #requests: Requests;

  constructor(requests: Requests) {
    this.#requests = requests;
  }

  /** What twins know of an end user, then all their conversations with their messages, oldest first, line by line as they arrive. */
  export(endUser: string, options: RequestOptions = {}): AsyncIterable<ExportLine> {
    const path = `/end-users/${encodeURIComponent(endUser)}/export`;
    return readLines(this.#requests, path, options);
  }

  /** Erases all that is stored about an end user, for ever. Where the request had to be sent again, the counts may be zero. */
  erase(endUser: string, options?: RequestOptions): Promise<ErasedResource> {
    const path = `/end-users/${encodeURIComponent(endUser)}`;
    return this.#requests.data({ method: "DELETE", path }, options);
  }
}

/** What twins know of people. Each method is one endpoint. */
export class Memories {
  readonly #requests: Requests;

  constructor(requests: Requests) {
    this.#requests = requests;
  }

  /** What a twin knows of a person. Rejects with a `NotFoundError` if that is nothing. */
  get(endUser: string, twinId: string, options?: RequestOptions): Promise<MemoryResource> {
    return this.#requests.data({ method: "GET", path: pathOf(endUser, twinId) }, options);
  }

  /** Writes facts about a person, 1 to 4,000 characters, in place of those before. */
  set(endUser: string, twinId: string, content: string, options?: RequestOptions): Promise<MemoryResource> {
    return this.#requests.data({ method: "PUT", path: pathOf(endUser, twinId), body: { content } }, options);
  }

  /** Has a twin forget what it knows of a person. */
  delete(endUser: string, twinId: string, options?: RequestOptions): Promise<void> {
    return this.#requests.done({ method: "DELETE", path: pathOf(endUser, twinId) }, options);
  }
}

function pathOf(endUser: string, twinId: string): string {
  return `/end-users/${encodeURIComponent(endUser)}/memory/${encodeURIComponent(twinId)}`;
}

/** The credential's limit, and what was used. Neither call costs anything. */
export class Usage {
  readonly #requests: Requests;

  constructor(requests: Requests) {
    this.#requests = requests;
  }

  /** The credential's limit, and what remains. */
  get(options?: RequestOptions): Promise<UsageResource> {
    return this.#requests.data({ method: "GET", path: "/usage" }, options);
  }

  /** What was used from a day to another, both `YYYY-MM-DD` (UTC). Default: the last 30 days, by day, 100 on a page. */
  history(
    query: PageQuery & {
      readonly from?: string;
      readonly to?: string;
      readonly groupBy?: "day" | "twin" | "endUser";
    } = {},
    options?: RequestOptions,
  ): List<UsageSumResource> {
    return listAt(this.#requests, "/usage/history", { ...query }, options);
  }
}

/** What people ask. */
export class Questions {
  readonly #requests: Requests;

  constructor(requests: Requests) {
    this.#requests = requests;
  }

  /** Questions that a twin's knowledge had nothing for, equal ones as one, those asked most often first. */
  unanswered(query: ReviewQuery = {}, options?: RequestOptions): List<UnansweredQuestionResource> {
    return listAt(this.#requests, "/questions/unanswered", { ...query }, options);
  }
}

/** The JSON values of an answer that has one in each line. Not repeated after a failure: it cannot be resumed. */
async function* readLines<Line>(
  requests: Requests,
  path: string,
  options: RequestOptions,
): AsyncGenerator<Line, void, undefined> {
  const timeoutMs = requests.timeoutMsOf(options);
  const limits = { timeoutMs, silenceMs: timeoutMs, signal: options.signal };
  let rest = "";
  for await (const text of readLongAnswer(
    (signal) => requests.open({ method: "GET", path }, signal),
    limits,
  )) {
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) yield JSON.parse(line);
  }
}
