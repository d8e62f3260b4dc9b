/**
 * What people think of replies, and which questions had no answer, and the store's methods about it.
 *
 * A question is unanswered once its reply has ended and {@link leavesUnanswered}: the engine looked, and named no sources, and whoever stores
 * the end (`Saver`, or `endOfStored` for another process) marks it. That holds until a person says something, within
 * {@link mostAnswered} messages behind it: `addMessage` ({@link ReplyStore}) ends it.
 *
 * @module
 */

import type { Sha256 } from "../base/ids.ts";
import type { Feedback, MessageRecord, Source } from "./messages.ts";
import type { Listing, Reach, Slice } from "./slices.ts";
import type { Telling } from "./webhooks.ts";

/** The columns of {@link Feedback} in an owner's list: a reply, what was asked, and what is thought of it. */
export interface RatedReply extends Feedback {
  readonly messageId: string;
  readonly conversationId: string;
  readonly twinId: string;
  readonly endUser: string | null;
  readonly question: string;
  readonly content: string;
  readonly sources: readonly Source[] | null;
  readonly twinRevision: string | null;
}

/** Equal questions that the twin's knowledge had nothing for. The other fields are those of the newest one. */
export interface UnansweredQuestion {
  readonly question: string;
  readonly count: number;
  readonly lastAskedAt: number;
  readonly conversationId: string;
  /** The reply. */
  readonly messageId: string;
}

/** Whether a reply leaves its question unanswered: its twin looked in what it knows, and found nothing that answers. */
export function leavesUnanswered({ sources }: Pick<MessageRecord, "sources">): boolean {
  return sources?.length === 0;
}

/** How many messages a person's message looks back for questions that it answers. */
export const mostAnswered = 200;

/** What equal questions have in common: their words, apart from case, space and end marks. */
export function questionKey(question: string, sha256: Sha256): string {
  const words = question.normalize("NFC").toLowerCase().trim().split(/\s+/).join(" ");
  // From the end: a pattern with $ would begin anew at each mark in the midst of a long text.
  let end = words.length;
  while (end > 0 && endMark.test(lastCharacter(words, end))) end -= lastCharacter(words, end).length;
  return sha256(words.slice(0, end));
}

const endMark = /[\p{Sentence_Terminal}\u2026\s]/u;

function lastCharacter(text: string, end: number): string {
  const isPair = (text.charCodeAt(end - 1) & 0xfc00) === 0xdc00 && end > 1;
  return text.slice(end - (isPair ? 2 : 1), end);
}

/** Which of an owner's rated replies, or unanswered questions, to list. */
export interface ReviewSlice extends Slice {
  /** Those of this twin. Absent: of any. */
  readonly twinId?: string | undefined;
  /** From this moment, inclusive, to that one, exclusive. Absent: at any time. */
  readonly from?: number | undefined;
  readonly to?: number | undefined;
  /** How many characters (Unicode code points) to read of each question and reply, at most. */
  readonly charactersOfEach: number;
}

/** The store's methods about what people think of replies, and what had none. */
export interface ReviewStore {
  /** Stores what is thought of a reply that has ended. Null takes it back. Other messages stay as they are. */
  rateReply(reach: Reach, id: string, feedback: Feedback | null, tells?: Telling): Promise<void>;
  /** Rated replies, newest `updatedAt` first, then the greatest id. */
  listFeedback(
    owner: string,
    slice: ReviewSlice & { readonly rating?: Feedback["rating"] | undefined },
  ): Promise<Listing<RatedReply>>;
  /** Unanswered questions, equal ones as one: those asked most often first, then the newest. */
  listUnanswered(owner: string, slice: ReviewSlice): Promise<Listing<UnansweredQuestion>>;
}
