/**
 * Requests to the service: where they go, their credential, their time limit, and when they are sent again.
 *
 * @module
 */

import {
  AuthenticationError,
  ConnectionError,
  errorOf,
  NotFoundError,
  ReplyError,
  TwinServiceError,
} from "./errors.ts";
import { Failures, throwIfAborted, within } from "./waiting.ts";

/** A request to the service. */
export interface ServiceRequest {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** Below `/api/v1`. */
  readonly path: string;
  readonly query?: Query | undefined;
  readonly body?: unknown;
  /** Names the effect of a POST, so that it is had once however often the request is sent. */
  readonly idempotencyKey?: string | undefined;
  /** Whether it is sent only once, because each time has an effect of its own. */
  readonly once?: true;
  /** The credential, in place of the client's. */
  readonly token?: string | undefined;
}

export type Query = Readonly<Record<string, string | number | true | undefined>>;

/** What any call may set. */
export interface RequestOptions {
  /** Ends the call, which then throws the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  /** The longest wait for an answer, in milliseconds. Default: the client's. */
  readonly timeoutMs?: number | undefined;
  /** How often a request is sent again. Default: the client's. */
  readonly maxRetries?: number | undefined;
}

/** What a call that creates something may set. */
export interface CreateOptions extends RequestOptions {
  /** Calls with the same key and fields have one effect, for 24 hours. Default: a new key for each call. */
  readonly idempotencyKey?: string | undefined;
}

/** What all requests have in common. */
export interface ClientConnection {
  /** The service's address, without `/api/v1` and without a slash at the end. */
  readonly baseUrl: string;
  readonly getToken: () => string | null | Promise<string | null>;
  readonly fetch: typeof globalThis.fetch;
  readonly timeoutMs: number | undefined;
  /** Undefined: the usual number. */
  readonly maxRetries: number | undefined;
  /** Whether `fetch` gives bodies as they arrive, as far as is known. */
  readonly streamsBodies: boolean;
}

/** How often a request is sent again. */
const usualRetries = 5;

/** Sends requests. */
export class Requests {
  readonly #connection: ClientConnection;
  #token: Promise<string | null> | undefined;
  #streamsBodies: boolean;

  constructor(connection: ClientConnection) {
    this.#connection = connection;
    this.#streamsBodies = connection.streamsBodies;
  }

  /** Whether `fetch` gives bodies as they arrive. React Native's does not. */
  get streamsBodies(): boolean {
    return this.#streamsBodies;
  }

  /** How often a request may fail in a row. */
  maxRetriesOf({ maxRetries }: RequestOptions, usual = usualRetries): number {
    return maxRetries ?? this.#connection.maxRetries ?? usual;
  }

  /** The longest wait for an answer, in milliseconds. */
  timeoutMsOf({ timeoutMs }: RequestOptions, usual = 60_000): number {
    return timeoutMs ?? this.#connection.timeoutMs ?? usual;
  }

  /** The `data` of the answer to a request. */
  async data<Data>(request: ServiceRequest, options: RequestOptions = {}): Promise<Data> {
    return (await this.json<{ data: Data }>(request, options)).data;
  }

  /** The whole answer to a request. */
  json<Body>(request: ServiceRequest, options: RequestOptions = {}): Promise<Body> {
    return this.#repeatedly(request, options, async (signal) => {
      const response = await this.open(request, signal);
      return response.json().catch(failed(brokenOff));
    });
  }

  /** Sends a request whose answer says nothing. */
  async done(request: ServiceRequest, options: RequestOptions = {}): Promise<void> {
    await this.#repeatedly(request, options, async (signal, failures) => {
      try {
        const response = await this.open(request, signal);
        await response.text().catch(failed(brokenOff));
      } catch (error) {
        if (failures === 0 || !(error instanceof NotFoundError)) throw error; // else an earlier attempt has deleted it
      }
    });
  }

  async #repeatedly<Result>(
    { once }: ServiceRequest,
    options: RequestOptions,
    attempt: (signal: AbortSignal, failures: number) => Promise<Result>,
  ): Promise<Result> {
    const { signal } = options;
    const maxRetries = once ? 0 : this.maxRetriesOf(options);
    for (const failures = new Failures(); ; ) {
      try {
        return await within(this.timeoutMsOf(options), signal, (limit) => attempt(limit, failures.count));
      } catch (error) {
        await failures.wait(error, isPassing(error), maxRetries, signal);
      }
    }
  }

  /**
   * Sends a request once, and resolves with the head of its answer. After a 401 it asks for a new token, and tries once
   * more with that.
   *
   * @throws {TwinServiceError} if the service refuses or cannot be reached.
   */
  async open(request: ServiceRequest, signal: AbortSignal): Promise<Response> {
    const used = request.token ?? (await this.#currentToken());
    try {
      return await this.#fetch(request, used, signal);
    } catch (error) {
      if (!(error instanceof AuthenticationError) || request.token !== undefined) throw error;
      const renewed = await this.#renewedToken(used);
      if (renewed === used) throw error;
      return this.#fetch(request, renewed, signal);
    }
  }

  #currentToken(): Promise<string | null> {
    this.#token ??= this.#askForToken();
    return this.#token;
  }

  /** Asks once for all requests that were refused with the same token. */
  async #renewedToken(refused: string | null): Promise<string | null> {
    const current = this.#currentToken();
    if ((await current) === refused) this.#forget(current);
    return this.#currentToken();
  }

  #askForToken(): Promise<string | null> {
    const asked = (async () => this.#connection.getToken())().catch((cause: unknown) => {
      this.#forget(asked); // the next request asks again
      // As `fetch` says that it has no connection.
      throw cause instanceof TypeError
        ? new ConnectionError(`The token cannot be asked for (${cause.message}).`, { cause })
        : cause;
    });
    return asked;
  }

  /** Another request may have asked for a newer one already. */
  #forget(token: Promise<string | null>): void {
    if (this.#token === token) this.#token = undefined;
  }

  async #fetch(request: ServiceRequest, token: string | null, signal: AbortSignal): Promise<Response> {
    throwIfAborted(signal); // while the token was awaited
    const { method, body, idempotencyKey } = request;
    const headers = {
      ...(token !== null && { Authorization: `Bearer ${token}` }),
      ...(body !== undefined && { "Content-Type": "application/json" }),
      ...(idempotencyKey !== undefined && { "Idempotency-Key": idempotencyKey }),
    };
    const init = { method, headers, signal, ...(body !== undefined && { body: JSON.stringify(body) }) };
    const response = await this.#connection.fetch(this.#urlOf(request), init).catch((cause: unknown) => {
      throw new ConnectionError(this.#unreachable(cause), { cause });
    });
    // A connection broke inside the head of an answer. Browsers make an answer of what had come: with a status of fewer
    // digits, or without the type that the service gives to each body. A refusal without a type is a proxy's.
    const { status, ok } = response;
    if (status < 200 || (ok && status !== 204 && !response.headers.has("Content-Type")))
      throw new ConnectionError(brokenOff);
    if (!response.ok) throw await errorOf(response).catch(failed(brokenOff));
    if (response.status !== 204) this.#streamsBodies = Boolean(response.body);
    return response;
  }

  /** Names what a runtime says: Node in the cause of its error, Bun in a code, browsers in a few words. */
  #unreachable(error: unknown): string {
    const [{ code, message }, cause] = [errorFields(error), errorFields(errorFields(error).cause)];
    const at = this.#connection.baseUrl === "" ? "" : ` at ${this.#connection.baseUrl}`;
    return `The service${at} cannot be reached (${cause.code ?? cause.message ?? code ?? message}).`;
  }

  #urlOf({ path, query = {} }: ServiceRequest): string {
    const given = Object.entries(query).filter(([, value]) => value !== undefined);
    const search = given.map(([name, value]) => `${name}=${encodeURIComponent(String(value))}`).join("&");
    return `${this.#connection.baseUrl}/api/v1${path}${search && `?${search}`}`;
  }
}

function errorFields(error: unknown): { code?: unknown; message?: unknown; cause?: unknown } {
  return error instanceof Error ? error : {};
}

/** The message of an error about an answer without its end. */
export const brokenOff = "The answer broke off.";

/** Turns what a runtime throws about a connection into the client's own error. */
export function failed(message: string): (cause: unknown) => never {
  return (cause) => {
    throw new ConnectionError(message, { cause });
  };
}

/**
 * A key that no other call has. `crypto.randomUUID` is missing where pages come over plain HTTP, and all of `crypto` in
 * React Native: the key is no secret.
 */
export function newIdempotencyKey(): string {
  const bytes = new Uint8Array(16).map(() => Math.random() * 256);
  globalThis.crypto?.getRandomValues(bytes);
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Whether the same request may succeed a little later. */
export function isPassing(error: unknown): boolean {
  if (error instanceof ConnectionError) return true;
  if (error instanceof ReplyError) return false; // a reply that failed stays so
  return error instanceof TwinServiceError && error.status !== undefined && error.status >= 500;
}

/** The path of a conversation. */
export function conversationPath(id: string): string {
  return `/conversations/${encodeURIComponent(id)}`;
}

/** The path of a message. */
export function messagePath(conversationId: string, id: string): string {
  return `${conversationPath(conversationId)}/messages/${encodeURIComponent(id)}`;
}
