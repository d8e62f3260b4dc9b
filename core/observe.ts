/**
 * The observer: callbacks that metrics and traces are made of.
 *
 * @module
 */

export type {
  CredentialRefused,
  FollowedStream,
  Observer,
  RateLimited,
  ReplyBegan,
  ReplyEnded,
  ReplyEvent,
  ReplyFirstText,
  RequestBegan,
  RequestEnded,
  ToolCalled,
  WebhookTried,
} from "./base/observe.ts";
