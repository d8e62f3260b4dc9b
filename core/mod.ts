/**
 * The core of the library: conversational AI twins over HTTP, on web standards alone, without any adapter.
 *
 * @module
 */

export type { OperationId, PageSource, ServedPage } from "./api/routes.ts";
export type { AuthenticateUser, HostUser } from "./auth/host-users.ts";
export {
  createJwtVerifier,
  type JwtVerifierOptions,
  type VerifiedToken,
  type VerifyToken,
} from "./auth/jwt.ts";
export { type PublicKey, readPublicKey } from "./auth/public-key.ts";
export type { Clock } from "./base/clock.ts";
export type { RandomBytes, Sha256 } from "./base/ids.ts";
export type { Log, LogLevel } from "./base/log.ts";
export type { RequestsPerHour } from "./http/rate-limit.ts";
export type { ApiExtension, PathParams } from "./http/route.ts";
export {
  createFallbackLimiter,
  type FallbackLimiter,
  type FallbackLimiterOptions,
} from "./limits/fallback-limiter.ts";
export { type BucketStore, createMemoryLimiter, type MemoryLimiterOptions } from "./limits/memory-limiter.ts";
export {
  type Bucket,
  debtAt,
  type NamedBucket,
  type RateDecision,
  type RateLimiter,
  type RatePolicy,
  takeToken,
} from "./limits/token-bucket.ts";
export { createService, type Handler, type Service } from "./service.ts";
export type { ServiceOptions } from "./service-options.ts";
export type { FinishReason, Scope, Usage } from "./store/records.ts";
export type { Listing, Slice } from "./store/store.ts";
export {
  createEchoEngine,
  type EngineProgress,
  type EngineResult,
  type HistoryMessage,
  ModelError,
  type ModelErrorOptions,
  type PacingOptions,
  type ReplyFormat,
  type ReplyOutput,
  type Turn,
  type TurnOrigin,
  type TwinEngine,
} from "./twins/engine.ts";
export type { Guard, Verdict } from "./twins/guard.ts";
export { type Tool, type ToolContext, type ToolSource, toolsOf } from "./twins/tools.ts";
export {
  createTwinList,
  type KnowledgeMode,
  type Twin,
  type TwinDocument,
  type TwinInit,
  type TwinSource,
} from "./twins/twins.ts";
export {
  ApiError,
  type ApiErrorOptions,
  type ErrorCode,
  type ErrorObject,
  type FieldError,
} from "./wire/errors.ts";
export type { Answer, ClientSignal, IncomingRequest, RequestBody, RequestHeaders } from "./wire/request.ts";
export type { EventStream } from "./wire/sse.ts";
