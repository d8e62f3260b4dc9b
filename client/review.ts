/**
 * The client's methods for what people think of replies. Each is one endpoint.
 *
 * @module
 */

import type { FeedbackResource, RatedReplyResource } from "../core/wire/schemas.ts";
import { type List, listAt, type PageQuery } from "./http/pages.ts";
import { messagePath, type RequestOptions, type Requests } from "./http/requests.ts";

/** Which of an owner's lists to read. Days are `YYYY-MM-DD` (UTC), both included. */
export interface ReviewQuery extends PageQuery {
  readonly twinId?: string;
  readonly from?: string;
  readonly to?: string;
}

/** What people think of replies. */
export class Feedback {
  readonly #requests: Requests;

  constructor(requests: Requests) {
    this.#requests = requests;
  }

  /** Says what a person thinks of a reply that has ended, instead of what was said before. */
  give(
    conversationId: string,
    messageId: string,
    body: { readonly rating: "up" | "down"; readonly comment?: string | null | undefined },
    options?: RequestOptions,
  ): Promise<FeedbackResource> {
    const path = `${messagePath(conversationId, messageId)}/feedback`;
    return this.#requests.data({ method: "PUT", path, body }, options);
  }

  /** Takes it back. */
  withdraw(conversationId: string, messageId: string, options?: RequestOptions): Promise<void> {
    const path = `${messagePath(conversationId, messageId)}/feedback`;
    return this.#requests.done({ method: "DELETE", path }, options);
  }

  /** Rated replies, latest feedback first. */
  list(
    query: ReviewQuery & { readonly rating?: "up" | "down" } = {},
    options?: RequestOptions,
  ): List<RatedReplyResource> {
    return listAt(this.#requests, "/feedback", { ...query }, options);
  }
}
