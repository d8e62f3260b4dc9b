/**
 * What a route is: the single record that routing, credentials, limits, validation and the OpenAPI document of an
 * endpoint are derived from.
 *
 * @module
 */

import type { KeyLookup } from "../auth/key-lookup.ts";
import type { Clock } from "../base/clock.ts";
import type { NewId, RandomBytes, Sha256 } from "../base/ids.ts";
import type { Log } from "../base/log.ts";
import type { Held, MemoryBudget } from "../base/memory-budget.ts";
import type { NamedBucket, RateDecision, RateLimiter, RatePolicy } from "../limits/token-bucket.ts";
import type { Replies, RunningLimit } from "../replies/replies.ts";
import type { WebhookDelivery } from "../store/deliverer.ts";
import type { ApiKeyRecord, Scope } from "../store/records.ts";
import type { Reach, Store } from "../store/store.ts";
import type { TokenBudget } from "../store/token-budgets.ts";
import type { Telling } from "../store/webhooks.ts";
import type { OwnTwins } from "../twins/own-twins.ts";
import type { TwinSource } from "../twins/twins.ts";
import type { ApiError, ErrorCode } from "../wire/errors.ts";
import type { HeaderFields, IncomingRequest } from "../wire/request.ts";
import type { FromSchema, InputSchema, Pagination, Schema } from "../wire/schemas.ts";
import type { EventStream } from "../wire/sse.ts";
import type { TextStream } from "../wire/text-stream.ts";
import type { KeyedRequests } from "./keyed-requests.ts";

/** The path parameters, decoded. Those that the route's pattern does not name are empty. */
export interface PathParams {
  readonly id: string;
  readonly messageId: string;
  readonly endUser: string;
  readonly twinId: string;
  readonly version: string;
  readonly path: string;
  readonly deliveryId: string;
}

/** What handlers work with. */
export interface HandlerContext {
  readonly store: Store;
  readonly twins: TwinSource;
  /** Those that owners make. Undefined: they make none. */
  readonly ownTwins: OwnTwins | undefined;
  readonly replies: Replies;
  readonly keys: KeyLookup;
  readonly keyed: KeyedRequests;
  /** Which addresses can be told of what happens. Undefined: webhooks are off. */
  readonly webhooks: Pick<WebhookDelivery, "check"> | undefined;
  /** Lets writes tell webhooks. Undefined: webhooks are off. */
  readonly tells: Telling | undefined;
  readonly limiter: RateLimiter;
  readonly log: Log;
  readonly clock: Clock;
  /** How keys and client tokens are made. */
  readonly newKeys: {
    readonly random: RandomBytes;
    /** After how many days a key ends at the latest. Undefined: it may last for ever. */
    readonly maxDays: number | undefined;
    /** The greatest limit of its own that a key may have, in requests an hour. */
    readonly maxRequestsPerHour: number;
    /** The limits of keys without one of their own, by their scopes. */
    readonly requestsPerHour: Readonly<Record<Scope, number>>;
  };
  /** After how many days without a message a conversation is deleted. Undefined: never. */
  readonly retentionDays: number | undefined;
  /** What requests and replies hold in memory. */
  readonly memory: MemoryBudget;
  readonly sha256: Sha256;
  readonly newId: NewId;
  readonly api: {
    /** The path of this version of the API: base path and `/api/v1`. */
    readonly root: string;
    /** The OpenAPI document, as JSON. */
    describe(): Promise<StaticText>;
  };
  readonly health: {
    /** Resolves once the store has been found usable. Rejects with `unavailable`. */
    ready(): Promise<void>;
    /** Whether balancers should send their clients elsewhere, though all is served. */
    isDraining(): boolean;
  };
}

/** Who a request comes from. */
export interface Caller {
  /** Who the credential speaks for. Empty if the route needs none. */
  readonly owner: string;
  /** Which of the owner's objects the request may see. */
  readonly reach: CallerReach;
  /** What the caller may do. Undefined for a JWT, and where no credential is needed. */
  readonly scope: Scope | undefined;
  /** The key that was sent, or that the client token was made with. */
  readonly key: ApiKeyRecord | undefined;
  /** The bucket that the request takes a token of, and its size. */
  readonly bucket: NamedBucket | undefined;
  /** Another bucket that a client token's request takes a token of: its key's. */
  readonly keyBucket?: NamedBucket | undefined;
  /** The greatest limit of its own that the caller may give a key. Undefined: none. */
  readonly grantsPerHour?: number | undefined;
  /** How many tokens a day its owner's replies may take while a key lives that the caller makes. Undefined: it does not say. */
  readonly ownerTokensPerDay?: number | undefined;
  /** How many replies the caller may have running at once. */
  readonly limits: readonly RunningLimit[];
  /** The budgets of tokens that the caller's replies count towards, besides those of twins. */
  readonly budgets: readonly TokenBudget[];
  /** Those of them that it may see. Absent: none. */
  readonly ownBudgets?: readonly TokenBudget[] | undefined;
}

/** Which objects a request may see. */
export interface CallerReach extends Reach {
  /** Only these twins, and conversations with them. Absent: all that the owner may use. */
  readonly twinIds?: readonly string[] | undefined;
}

/** A request after all checks: what a handler gets. */
export interface Call<Query = unknown, Body = unknown> {
  readonly caller: Caller;
  readonly requestId: string;
  readonly request: Pick<IncomingRequest, "signal" | "headers">;
  readonly fields: HeaderFields;
  /** The further header fields that the route names. */
  readonly headers: Readonly<Record<string, string | null>>;
  readonly params: PathParams;
  readonly query: Query;
  readonly body: Body;
  /** What is held of the body, until the request is answered, or its reply takes it over. */
  readonly received: Held;
  /** What is held for the answer: texts that are read for it, and a stream, until all of it is with the client. */
  readonly memory: Held;
  /** The caller's bucket after this request. */
  readonly rate: RateDecision | undefined;
  /**
   * Finds out again who the request comes from, by a record that is at most so many milliseconds old. Rejects if the
   * credential has ended.
   */
  recheck(maxAgeMs: number): Promise<Caller>;
}

/** A page of a list. */
export interface Page {
  /** Each as JSON, or in pieces of it, which are made as they are sent. */
  readonly items: Iterable<string | Generator<string>>;
  readonly pagination: Pagination;
}

/** What a handler answers. */
export interface Result {
  /**
   * Instead of the route's own: one that its success also has; what was sent is taken note of, and has no answer (202); the
   * client has it already (304).
   */
  readonly status?: 201 | 202 | 304;
  /** The payload; sent as `{ "data": … }`. */
  readonly data?: unknown;
  /** The payload as JSON, if that is available already. */
  readonly json?: string;
  /** A page of a list instead of a payload. */
  readonly page?: Page;
  /** An event stream instead of a payload, or its whole text. */
  readonly events?: EventStream | string;
  /** Lines of JSON instead of a payload. */
  readonly lines?: TextStream;
  /** A whole document instead of a payload, or its pieces. */
  readonly document?: string | Generator<string> | Uint8Array<ArrayBuffer>;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A text, and the header fields that say what it is and what it may do. */
export interface StaticText {
  readonly content: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** What an endpoint asks for: an API key, a JWT, a JWT or a host's user who manages twins, or nothing. */
export type Credential = "api_key" | "token" | "manager" | "none";

/** How an endpoint answers when it succeeds. */
export interface Success {
  readonly status: 200 | 201 | 202 | 204;
  readonly description: string;
  /** Other statuses with the same schema, and what each means. */
  readonly also?: Readonly<Partial<Record<201 | 202, string>>>;
  /** Whether it is 202 at once for who prefers that (`Prefer: respond-async`). */
  readonly async?: true;
  /** The schema of `data`. */
  readonly schema?: Schema;
  /** Whether `data` is a list of these, with `pagination`. */
  readonly list?: true;
  /** Whether the answer has an `ETag`: a request that names it in `If-None-Match` gets 304. */
  readonly etag?: true;
  /** Whether the `Location` header says where the new object is. */
  readonly location?: true;
  /** Whether it is an event stream: a reply's, or a conversation's. Such a route does not answer HEAD. */
  readonly events?: true | "conversation";
  /** The media type of the bytes that it is instead of JSON. */
  readonly bytes?: string;
  /** The version of OpenAPI, if it is the API's description. */
  readonly document?: true;
  /** Whether it is lines of JSON, each of which `schema` describes. Such a route does not answer HEAD. */
  readonly lines?: true;
}

/** Endpoints below a prefix of their own, with errors in a form of their own. */
export interface ApiExtension {
  /** Such as `/v1`, below the base path: the path itself, and those below it. */
  readonly prefix: string;
  readonly routes: readonly Route[];
  /** An error's body. */
  errorBody(error: ApiError, requestId: string): string;
}

/** One endpoint. */
export interface Route {
  readonly operationId: string;
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** Below the base path; `{name}` stands for one segment. */
  readonly path: string;
  /** Whether it is 404, and `Allow` does not name its method, as owners make no twins here. */
  readonly absent?: true;
  /** The `Allow` of the path, where its protocol says it. Default: all that the path takes. */
  readonly allow?: string;
  readonly summary: string;
  /** Refuses a request for its header fields, before its credential is looked at. `origins`: those of the operator's list. */
  readonly admit?: (fields: HeaderFields, origins: readonly string[]) => void;
  readonly credential: Credential;
  /** The scope that a key needs. */
  readonly scope?: Scope;
  /**
   * How the audit log names what it does, such as `create_key`, and the member of the answer, body, query or path that
   * names the object. Absent: it is not audited.
   */
  readonly audit?: {
    readonly action: string;
    readonly object: "id" | "endUser";
    /** Whether the answer's `version` is named, too. */
    readonly version?: true;
  };
  /** Whether it is about all of an owner's end users, and so for none of them. */
  readonly ownersOnly?: true;
  /** Whether a request costs none of its key's tokens. */
  readonly free?: true;
  /** Whether there is such an endpoint only in a service that has webhooks. */
  readonly needsWebhooks?: true;
  /** A limit on an owner's requests to this endpoint, if it takes a JWT. Those with the same `bucket` share one. */
  readonly ownerPolicy?: RatePolicy & { readonly bucket: "owner" | "webhooks" };
  /**
   * The schema of path parameters that are not ids of this service. What it refuses is a `validation_error`; what cannot
   * be an id names no endpoint.
   */
  readonly params?: InputSchema;
  readonly query?: InputSchema;
  /** Header fields that say the same as a parameter of the query, by its name, and win over it. */
  readonly queryHeaders?: Readonly<Record<string, keyof HeaderFields>>;
  readonly body?: InputSchema;
  /** Whether a member that the body's schema does not name is refused. Default: it is ignored. */
  readonly knownMembersOnly?: true;
  /** Reads a body that is more than a schema of plain values. Throws a `validation_error`. */
  readonly readBody?: (value: unknown) => unknown;
  /** Whether a request may have no body, which is then an empty object. */
  readonly isBodyOptional?: true;
  /** A body of bytes, of one of these media types, or of any. It is handed on as it is. */
  readonly bytes?: { readonly types: readonly string[] | "any" };
  /** The longest body, in bytes. Default: {@link maxBodyBytes}. */
  readonly maxBodyBytes?: number;
  /** Further header fields that the handler reads: each one's name there, and its name on the wire. */
  readonly headers?: Readonly<Record<string, string>>;
  /** What `Idempotency-Key` does here. Absent: it is ignored. */
  readonly idempotency?: "supported" | "refused";
  readonly success: Success;
  /** The endpoint's own errors, besides those that follow from its other fields. */
  readonly errors?: readonly ErrorCode[];
  handle(call: Call, context: HandlerContext): Promise<Result>;
}

type InputOf<S> = S extends InputSchema ? FromSchema<S> : undefined;

/** Declares a route, its handler typed by its schemas, or by what reads its body. Both were checked before it is called. */
export function route<
  const Id extends string,
  const Query extends InputSchema | undefined = undefined,
  const Body extends InputSchema | undefined = undefined,
  const Bytes extends Route["bytes"] = undefined,
  Read = InputOf<Body>,
>(
  declaration: Omit<Route, "handle" | "query" | "body" | "bytes" | "readBody"> & {
    readonly operationId: Id;
    readonly query?: Query;
    readonly body?: Body;
    readonly bytes?: Bytes;
    readonly readBody?: (value: unknown) => Read;
    handle(
      call: Call<InputOf<Query>, Bytes extends object ? Uint8Array : Read>,
      context: HandlerContext,
    ): Promise<Result>;
  },
): Route & { readonly operationId: Id } {
  return declaration as unknown as Route & { readonly operationId: Id };
}
