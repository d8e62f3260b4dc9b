/**
 * What a model is asked: the address, the header fields and the body of a request.
 *
 * @module
 */

import type { ReplyFormat, ReplyOutput, Turn } from "../../core/twins/engine.ts";
import { type ContinuationMode, continuationOf } from "./continuation.ts";
import { inTurn, type Told } from "./told.ts";
import type { DecidedRounds, ToolDefinition } from "./tools.ts";

/** What a model is asked, and where its text goes. */
export interface ModelQuestion extends Pick<ReplyOutput, "write"> {
  readonly turn: Turn;
  /** The system message: the twin's persona, or all of its text. */
  readonly instructions: string;
  /** What is told right before the question. Null: nothing. */
  readonly findings: string | null;
  readonly model: string | undefined;
  /** The tools that it knows. Empty: none are offered. */
  readonly tools: readonly ToolDefinition[];
  /** Whether a name is that of a tool that it may call. Undefined: it may call none any more. */
  readonly isTool: ((name: string) => boolean) | undefined;
  /** The rounds before, whose calls the question has decided. Undefined: there are none. */
  readonly decided: DecidedRounds | undefined;
  /** Its calls in this reply so far, and their results. */
  readonly rounds: readonly object[];
  /** The text of the reply that an earlier process has written, to go on from. Undefined: there is none. */
  readonly partial: string | undefined;
  /** Whether the completion may be without text, because the reply has some. */
  readonly hasText: boolean;
  readonly continuation: ContinuationMode;
}

/** The same, and how it is asked. */
export interface Asking extends ModelQuestion {
  /** Whether tokens are to be counted. */
  readonly counted: boolean;
}

/**
 * The request's body. It begins like the one before in the same conversation, up to that one's last message, so that a
 * model's cache serves: what depends on the question stands with it. Tokens are counted only on request, which some servers,
 * such as Mistral's, treat as an error.
 */
export function completionRequest(asking: Asking) {
  const { turn, instructions, findings, model, counted, tools, isTool, partial, continuation } = asking;
  const { twin, content, format } = turn;
  const { messages, members } = continuationOf(partial, continuation);
  const system = instructions.trim() === "" ? [] : [{ role: "system", content: instructions }];
  const question = { role: "user", content: findings === null ? content : `${findings}\n\n${content}` };
  return {
    model,
    tools: tools.length > 0 ? tools : undefined,
    // Claude's gateways refuse calls in a conversation without a list of tools.
    tool_choice: tools.length > 0 && !isTool ? "none" : undefined,
    messages: [...system, ...saidIn(asking, question), ...roundsOf(asking), ...messages],
    temperature: twin.temperature ?? undefined,
    response_format: responseFormat(format),
    stream: true,
    stream_options: counted ? { include_usage: true } : undefined,
    ...members,
  };
}

/** The form of the reply, as completions name it. */
function responseFormat(format: ReplyFormat | undefined) {
  if (format?.type !== "json_schema") return format;
  const { type, ...json_schema } = format;
  return { type, json_schema };
}

/** The history and the question, which may have no words where it decides of calls. */
function saidIn({ turn, decided, tools }: Asking, question: Told): readonly object[] {
  const asked = turn.content === "" ? [] : [question];
  if (decided && tools.length > 0) return decided.tell(turn.history, asked);
  return inTurn([...turn.history, ...(decided?.untold ?? []), ...asked]);
}

/** The calls so far and their results. Told in words to a server that is asked without tools, as it may refuse calls, too. */
function roundsOf({ rounds, decided, tools }: Asking): readonly object[] {
  if (tools.length > 0) return rounds;
  const all = decided ? [...decided.rounds, ...rounds] : rounds;
  if (all.length === 0) return all;
  const told = all.map((message) => {
    const { role, content, tool_calls: calls } = message as Readonly<Record<string, unknown>>;
    if (role === "tool") return `Result: ${content}`;
    const names = (Array.isArray(calls) ? calls : []).map(
      ({ function: { name, arguments: given } }) => `${name} ${given}`,
    );
    return [...(content ? [content] : []), `You called: ${names.join("; ")}`].join("\n");
  });
  const words = `Before your answer, you have looked this up:\n\n${told.join("\n\n")}\n\nNow answer.`;
  return [{ role: "user", content: words }];
}

/** The same question with half of the earlier questions and replies: many models accept only a question first. */
export function withLaterHalf(asking: Asking): Asking {
  const { turn } = asking;
  const history = turn.history.slice(2 * Math.ceil(turn.history.length / 4));
  return { ...asking, turn: { ...turn, history } };
}

/**
 * The header field with the API's key.
 *
 * @throws {TypeError} if no header field can carry it.
 */
export function authorization(apiKey: string | undefined): Readonly<Record<string, string>> {
  if (apiKey === undefined || apiKey === "") return {};
  if (!/^[\x21-\x7e]+$/.test(apiKey)) {
    throw new TypeError("The model's API key must be printable ASCII without spaces.");
  }
  return { authorization: `Bearer ${apiKey}` };
}

/** The other header fields of a request for a completion. */
export const completionHeaders = {
  "content-type": "application/json",
  // Some servers answer 406 to the first of these alone.
  accept: "text/event-stream, application/json, */*;q=0.5",
  // Compressed data arrives later, in larger pieces.
  "accept-encoding": "identity",
} as const;
