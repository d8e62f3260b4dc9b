/**
 * Records as they are stored, and the pure functions on them: each subject has a file of its own.
 *
 * @module
 */

export { type IdempotencyClaim, type MadeClaim, messagesPath } from "./claims.ts";
export {
  type Answerer,
  answerers,
  type ConversationRecord,
  lastUseOf,
  mostBranches,
  newConversation,
  pairsOf,
} from "./conversations.ts";
export { dayMs, dayOf } from "./days.ts";
export { historySeen, questionsSeen, seenMessage, windowOf, withoutFailed } from "./history.ts";
export {
  type ApiKeyRecord,
  type ClientTokenRecord,
  isLiveKey,
  type KeyRotation,
  type Scope,
  scopes,
} from "./keys.ts";
export {
  type Decisions,
  decisions,
  type Feedback,
  type FinishReason,
  type MessageRecord,
  type MessageStatus,
  mostCharactersAsked,
  type PendingCall,
  type PendingCalls,
  type ReplyFailure,
  type SeenMessage,
  type Source,
  type StoredCalls,
  type Usage,
} from "./messages.ts";
export {
  contentPartBytes,
  contentParts,
  looseMs,
  mostTwinVersions,
  type OwnTwinRecord,
  type TwinFeatures,
  type TwinPart,
  type TwinVersionRecord,
} from "./own-twins.ts";
export { mostCharactersRemembered, type PersonMemory } from "./people.ts";
export { type EndReply, ended, eventOfEnd, type FinalState, nobody } from "./replies.ts";
export {
  leavesUnanswered,
  mostAnswered,
  questionKey,
  type RatedReply,
  type UnansweredQuestion,
} from "./review.ts";
export { firstCharacters, mostCharactersRead, upTo } from "./slices.ts";
export type { CountedReply } from "./usage.ts";
