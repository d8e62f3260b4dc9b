/**
 * The client's methods for everything but messages. Each is one endpoint.
 *
 * @module
 */

import type {
  ApiKeyResource,
  ConversationResource,
  CreatedApiKeyResource,
  TwinResource,
} from "../core/wire/schemas.ts";
import type { OpenConversation, OpenConversationOptions } from "./conversation/mod.ts";
import { type List, listAt, type PageQuery } from "./http/pages.ts";
import {
  type CreateOptions,
  conversationPath,
  newIdempotencyKey,
  type RequestOptions,
  type Requests,
} from "./http/requests.ts";
import type { Messages } from "./messages.ts";
import {
  type ConversationEvent,
  type FollowConversationOptions,
  followConversation,
} from "./reply/conversation.ts";
import type { Feedback } from "./review.ts";

/** What the calls about API keys may set. */
export interface KeyOptions extends RequestOptions {
  /** The JWT that says who the owner is. Default: what the client was given as its credential. */
  readonly token?: string | undefined;
}

/** The twins that the credential may talk to. */
export class Twins {
  readonly #requests: Requests;

  constructor(requests: Requests) {
    this.#requests = requests;
  }

  /** By name. `own`: only those that their owner has made. */
  list(query: PageQuery & { readonly own?: true } = {}, options?: RequestOptions): List<TwinResource> {
    return listAt(this.#requests, "/twins", { ...query }, options);
  }

  get(id: string, options?: RequestOptions): Promise<TwinResource> {
    return this.#requests.data({ method: "GET", path: `/twins/${encodeURIComponent(id)}` }, options);
  }
}

/** What conversations need of the client's other parts. */
interface ConversationParts {
  readonly silenceMs: number;
  readonly messages: Messages;
  readonly feedback: Feedback;
}

/** Conversations with twins. */
export class Conversations {
  readonly #requests: Requests;
  readonly #parts: ConversationParts;

  constructor(requests: Requests, parts: ConversationParts) {
    this.#requests = requests;
    this.#parts = parts;
  }

  /** `endUser`: the app's own id of the person who talks. `metadata`: up to 16 pairs of its own. */
  create(
    body: {
      readonly twinId: string;
      readonly title?: string | null;
      readonly endUser?: string;
      readonly metadata?: Readonly<Record<string, string>> | null;
    },
    { idempotencyKey = newIdempotencyKey(), ...options }: CreateOptions = {},
  ): Promise<ConversationResource> {
    return this.#requests.data({ method: "POST", path: "/conversations", body, idempotencyKey }, options);
  }

  /**
   * Newest first. `metadata`: those that have all of these pairs. `waiting`: those in which a user waits for a person, the
   * longest wait first.
   */
  list(
    {
      metadata = {},
      ...query
    }: PageQuery & {
      readonly twinId?: string;
      readonly endUser?: string;
      readonly metadata?: Readonly<Record<string, string>>;
      readonly answeredBy?: "twin" | "person";
      readonly waiting?: true;
    } = {},
    options?: RequestOptions,
  ): List<ConversationResource> {
    const pairs = Object.entries(metadata).map(([name, value]) => [`metadata.${name}`, value]);
    return listAt(this.#requests, "/conversations", { ...query, ...Object.fromEntries(pairs) }, options);
  }

  get(id: string, options?: RequestOptions): Promise<ConversationResource> {
    return this.#requests.data({ method: "GET", path: conversationPath(id) }, options);
  }

  /**
   * `lastMessageId`: an ended reply, on any branch, whose path becomes the current one. `metadata`: in place of the pairs
   * before; null: none. `answeredBy`: who answers from now on; a client token may only ask for a person, where the twin hands
   * over.
   */
  update(
    id: string,
    body: {
      readonly title?: string | null;
      readonly lastMessageId?: string;
      readonly metadata?: Readonly<Record<string, string>> | null;
      readonly answeredBy?: "twin" | "person";
    },
    options?: RequestOptions,
  ): Promise<ConversationResource> {
    return this.#requests.data({ method: "PATCH", path: conversationPath(id), body }, options);
  }

  /** All that happens in a conversation, whoever sends into it. Resumes by itself; ends after `deleted`. */
  follow(
    id: string,
    options: FollowConversationOptions = {},
  ): AsyncGenerator<ConversationEvent, void, undefined> {
    return followConversation(this.#requests, id, options, this.#parts.silenceMs);
  }

  /**
   * A conversation as it is seen on a page: its path, what is written, what can be done. It is read and followed, whoever sends
   * into it, until it is closed. In place of its id, take what `create` gave: then nothing is read.
   */
  async open(
    conversation: string | ConversationResource,
    options: OpenConversationOptions = {},
  ): Promise<OpenConversation> {
    const { OpenConversation } = await import("./conversation/mod.ts"); // who does not use it does not load it
    return OpenConversation.open({ conversations: this, ...this.#parts }, conversation, options);
  }

  /** Deletes a conversation and its messages. A running reply is cancelled. */
  delete(id: string, options?: RequestOptions): Promise<void> {
    return this.#requests.done({ method: "DELETE", path: conversationPath(id) }, options);
  }
}

/** The owner's API keys. They are managed with a JWT, not with a key. */
export class Keys {
  readonly #requests: Requests;

  constructor(requests: Requests) {
    this.#requests = requests;
  }

  /** Creates a key. Its secret, `key`, is shown this once. Sent only once, because each time makes another key. */
  create(
    body: {
      readonly name: string;
      /** Default `read_only`. */
      readonly scope?: "read_only" | "full_access";
      /** 1 to 3650; null, the default: never. */
      readonly expiresInDays?: number | null;
      /** A limit of its own; one above its scope's must be allowed by the JWT. Default: that of its scope. */
      readonly requestsPerHour?: number | null;
      /** How many tokens its replies may take in a day and a month of UTC. Default null: no limit. */
      readonly tokensPerDay?: number | null;
      readonly tokensPerMonth?: number | null;
    },
    options: KeyOptions = {},
  ): Promise<CreatedApiKeyResource> {
    const { token } = options;
    return this.#requests.data({ method: "POST", path: "/auth/api-keys", body, token, once: true }, options);
  }

  /** Newest first, without their secrets. */
  list(query: PageQuery = {}, options: KeyOptions = {}): List<ApiKeyResource> {
    return listAt(this.#requests, "/auth/api-keys", { ...query }, options);
  }

  /**
   * Gives a key another secret, `key`, which is shown this once; all else stays. The one before works for `overlapSeconds`
   * more, 0 to 604,800, by default a day. Sent only once, because each time ends the secret before the last.
   */
  rotate(
    id: string,
    body: { readonly overlapSeconds?: number } = {},
    options: KeyOptions = {},
  ): Promise<CreatedApiKeyResource> {
    const path = `/auth/api-keys/${encodeURIComponent(id)}/rotate`;
    return this.#requests.data({ method: "POST", path, body, token: options.token, once: true }, options);
  }

  /** Ends a key at once. */
  revoke(id: string, options: KeyOptions = {}): Promise<void> {
    const path = `/auth/api-keys/${encodeURIComponent(id)}`;
    return this.#requests.done({ method: "DELETE", path, token: options.token }, options);
  }
}
