/**
 * What the knowledge engine says besides the twin's text: small talk, and the phrases around answers.
 *
 * @module
 */

import type { Turn } from "../core/twins/engine.ts";
import type { KnowledgeIndex } from "./search/index.ts";
import type { SmallTalk } from "./small-talk.ts";
import type { Occasion } from "./text/sections.ts";

const mostTopics = 6;

/** The answer to small talk. */
export function chat(talk: Exclude<SmallTalk, "more">, turn: Turn, index: KnowledgeIndex): string {
  const { name, description, greeting } = turn.twin;
  const { phrases } = index.language;
  const topics = index.topics.length > 0 ? ` ${say("topics", turn, index)}` : "";
  const introduction = phrases.introduction.replace("{name}", () => name);
  switch (talk) {
    case "greeting":
      return greeting ?? `${phrases.hello.replace("{name}", () => name)}${topics}`;
    case "wellbeing":
      return `${phrases.wellbeing}${topics}`;
    case "about":
      return `${introduction} ${description ?? ""}`.trimEnd() + topics;
    case "topics":
      return topics.trimStart() || introduction;
    case "private":
      return say("private", turn, index) + topics;
    case "thanks":
    case "goodbye":
      return say(talk, turn, index);
  }
}

/**
 * A phrase for an occasion: one of the twin's own, which take turns, or its language's. `topics`: those to offer in it; by
 * default, the next ones of the twin.
 */
export function say(
  occasion: Occasion | "perhaps" | "offer" | "person",
  turn: Turn,
  { language, topics: all, voice }: KnowledgeIndex,
  topics: readonly string[] = rotate(all, turn),
): string {
  const own = voice.get(occasion) ?? [];
  const plain = occasion === "answer" ? "" : language.phrases[occasion];
  const list = topics.slice(0, mostTopics).map((topic) => `**${topic}**`);
  const offered = list.join(commas[language.code] ?? ", ");
  return (own[questionsBefore(turn) % own.length] ?? plain).replaceAll("{topics}", () => offered);
}

const commas: Readonly<Record<string, string>> = { ja: "、", zh: "、", ar: "، ", fa: "، " };

/** As many topics as are offered at once, others each time, so that all of a long list are shown in the end. */
export function rotate(topics: readonly string[], turn: Turn): string[] {
  const start = topics.length > mostTopics ? (questionsBefore(turn) * mostTopics) % topics.length : 0;
  const next = topics.slice(start, start + mostTopics);
  return [...next, ...topics.slice(0, Math.min(start, mostTopics - next.length))];
}

function questionsBefore({ history }: Turn): number {
  return history.filter((message) => message.role === "assistant").length;
}
