/**
 * The client of a twin service.
 *
 * @module
 */

import { Requests } from "./http/requests.ts";
import { Messages } from "./messages.ts";
import { ClientTokens, EndUsers, Memories, Questions, Usage } from "./people.ts";
import type { OnBusy } from "./reply/following.ts";
import { Conversations, Keys, Twins } from "./resources.ts";
import { Feedback } from "./review.ts";

/** Options of a {@link TwinClient}: an address, a credential, and how patient the client is. */
export interface TwinClientOptions {
  /** The service's address, without `/api/v1`: `https://twins.example.com`, or in a page a path such as `/assistant`. */
  readonly baseUrl: string;
  /** An API key or a client token; for `keys`, a JWT. Either this or `getToken`. */
  readonly apiKey?: string | undefined;
  /**
   * Gets the credential when it is first needed, and a new one after a 401, such as a client token from the app's backend.
   * Null: none is sent, as cookies of the page's own server say who talks.
   */
  readonly getToken?: (() => string | null | Promise<string | null>) | undefined;
  /** Default: the global `fetch`. */
  readonly fetch?: typeof globalThis.fetch | undefined;
  /** The longest wait for an answer, in milliseconds. Default 60,000; for `messages.send`, 330,000. */
  readonly timeoutMs?: number | undefined;
  /**
   * How often a request is sent again after a failure that may pass: no connection, a connection that breaks, a status
   * from 500 on. For streams: how many failures in a row may bring nothing new. Default 5; for a reply that the service has
   * accepted, as many as it takes to follow it for as long as it may run.
   */
  readonly maxRetries?: number | undefined;
  /** Silence after which a stream is resumed on a new connection, in milliseconds. The service writes every 5 s. Default 20,000. */
  readonly silenceMs?: number | undefined;
  /**
   * What sending into a busy conversation does: it throws (`throw`, the default), sends nothing and follows the running reply
   * (`follow`), or sends once that reply has ended (`wait`).
   */
  readonly onBusy?: OnBusy | undefined;
}

/**
 * A client of a twin service, for browsers, Node, Deno and Bun.
 *
 * @example
 * ```ts
 * import { TwinClient } from "twin-service/client";
 *
 * const client = new TwinClient({ baseUrl: "http://127.0.0.1:8787", apiKey: key });
 * const conversation = await client.conversations.create({ twinId: "ada" });
 * const reply = client.messages.stream(conversation.id, { content: "Hello!" });
 * for await (const text of reply.text) process.stdout.write(text);
 * ```
 */
export class TwinClient {
  readonly twins: Twins;
  readonly conversations: Conversations;
  readonly messages: Messages;
  readonly keys: Keys;
  readonly clientTokens: ClientTokens;
  readonly endUsers: EndUsers;
  readonly memories: Memories;
  readonly usage: Usage;
  readonly feedback: Feedback;
  readonly questions: Questions;

  /** @throws {TypeError} for an option that cannot be used. */
  constructor(options: TwinClientOptions) {
    const { timeoutMs, maxRetries, silenceMs = 20_000, onBusy = "throw" } = options;
    requireLimits(maxRetries ?? 0, { timeoutMs, silenceMs });
    // Called as a function of the global object, because browsers refuse another `this`.
    const { fetch = (input, init) => globalThis.fetch(input, init) } = options;
    const connection = {
      baseUrl: baseUrlOf(options),
      getToken: tokenOf(options),
      fetch,
      timeoutMs,
      maxRetries,
      streamsBodies: options.fetch !== undefined || "body" in Response.prototype,
    };
    const requests = new Requests(connection);
    this.twins = new Twins(requests);
    this.messages = new Messages(requests, { onBusy, silenceMs });
    this.feedback = new Feedback(requests);
    this.conversations = new Conversations(requests, {
      silenceMs,
      messages: this.messages,
      feedback: this.feedback,
    });
    this.keys = new Keys(requests);
    this.clientTokens = new ClientTokens(requests);
    this.endUsers = new EndUsers(requests);
    this.memories = new Memories(requests);
    this.usage = new Usage(requests);
    this.questions = new Questions(requests);
  }
}

function requireLimits(maxRetries: number, times: Readonly<Record<string, number | undefined>>): void {
  if (!(maxRetries >= 0)) throw new TypeError("maxRetries must be a number, 0 or more.");
  for (const [name, ms = Infinity] of Object.entries(times)) {
    if (!(ms > 0)) throw new TypeError(`${name} must be a number of milliseconds, more than 0.`);
  }
}

function baseUrlOf({ baseUrl }: TwinClientOptions): string {
  const isPath = typeof baseUrl === "string" && /^(\/(?!\/)|$)/.test(baseUrl);
  if (!isPath && !isAddress(baseUrl)) {
    throw new TypeError(
      "baseUrl must be an http: or https: address, or in a page a path such as /assistant.",
    );
  }
  const trimmed = baseUrl.replace(/\/+$/, "");
  if (trimmed.endsWith("/api/v1")) throw new TypeError("baseUrl must be without /api/v1.");
  return trimmed;
}

/** React Native has no `URL.canParse`. */
function isAddress(url: string): boolean {
  try {
    return /^https?:/.test(url) && new URL(url).host !== "";
  } catch {
    return false;
  }
}

function tokenOf({ apiKey, getToken }: TwinClientOptions): NonNullable<TwinClientOptions["getToken"]> {
  if (getToken && apiKey === undefined) return getToken;
  if (apiKey && !getToken) return () => apiKey;
  throw new TypeError("Either apiKey, a text that is not empty, or getToken must be given.");
}
