/**
 * The knowledge engine: answers from the twin's own text, with no model and no network.
 *
 * @module
 */

import { systemClock } from "../core/base/clock.ts";
import {
  type HistoryMessage,
  type PacingOptions,
  type Turn,
  type TwinEngine,
  writeWords,
} from "../core/twins/engine.ts";
import { cacheIndexes, toSource } from "./briefing.ts";
import { type KnowledgeIndex, longestQuestion } from "./search/index.ts";
import type { Finding, Query } from "./search/ranking.ts";
import { asksForNumber, pointsBack, recognizeSmallTalk, refersBack } from "./small-talk.ts";
import { chat, rotate, say } from "./speech.ts";
import type { Passage } from "./text/passages.ts";

/** A twin's answer, and the passages that it comes from. */
interface Answer {
  readonly text: string;
  readonly sources: readonly Finding[];
}

// The minimum confidence of an answer: below it, a passage merely shares some words with the question.
const enough = 0.5;
// The minimum confidence of a hint, a passage about a part of the question: one of two rare words is 0.44, a misspelt
// one 0.36.
const enoughForHint = 0.36;
// The same, if half of what the passage is called is in the question.
const enoughForNamedHint = 0.25;
// The minimum confidence of a related passage, when everything about a subject has been told.
const enoughForMore = 0.35;
// An answer that matches less than this, compared with the best one, is about something else.
const enoughRank = 0.6;
const mostRelated = 2;
// The number of earlier questions and replies in which the current subject is looked for.
const lookBack = 4;
const contextWeight = 0.5;

/**
 * Creates an engine that answers from the twin's own Markdown: it ranks the sections for the question and quotes the
 * best passage, or says that it doesn't know. Text that says how the twin behaves is never quoted: the text before the
 * first heading or under the title, and the sections called Instructions, Persona and Voice. The same turn always gets
 * the same answer.
 *
 * Before the text it sends one `progress` event, `{ stage: "sources", sources: [{ heading, score }] }`, with the
 * sections that the answer comes from and scores from 0 to 1. The list is empty for small talk and unanswered
 * questions.
 *
 * @example
 * ```ts
 * import { createTwinList } from "twin-service";
 * import { createKnowledgeEngine } from "twin-service/knowledge";
 *
 * const engines = { knowledge: createKnowledgeEngine() };
 * const instructions = "You are Ada.\n\n## The engine\n\nIt weaves algebraical patterns.";
 * const twins = createTwinList([{ id: "ada", name: "Ada", engine: "knowledge", instructions }]);
 * ```
 */
export function createKnowledgeEngine(options: PacingOptions = {}): TwinEngine {
  const { clock = systemClock } = options;
  const indexOf = cacheIndexes({ clock });
  return {
    continues: "exact",
    async reply(turn, output) {
      const { twin, history, content } = turn;
      const asked = { twin, history: history.map(beginningOf), content: content.slice(0, longestQuestion) };
      const { text, sources } = answer(asked, await indexOf(twin));
      const named = sources.map(({ passage, confidence }) => toSource({ ...passage, score: confidence }));
      output.progress({ stage: "sources", sources: named });
      await writeWords(text, turn, output, options);
      return { finishReason: "stop", usage: null };
    },
  };
}

/** Shortens a question; a reply stays whole, to be compared with the twin's text. */
function beginningOf(message: HistoryMessage): HistoryMessage {
  return message.role === "user"
    ? { ...message, content: message.content.slice(0, longestQuestion) }
    : message;
}

function headingsOf(passages: readonly Passage[]): string[] {
  return [...new Set(passages.map((passage) => passage.heading))];
}

function answer(turn: Turn, index: KnowledgeIndex): Answer {
  const asked = index.asked(turn.content);
  if (asked) return tell([sureOf(asked)], [], turn, index);
  const named = namedIn(turn, index);
  const talk = named ? undefined : recognizeSmallTalk(turn.content, turn.twin.name);
  if (talk === "more") return tellMore(turn, index);
  if (talk) return { text: chat(talk, turn, index), sources: [] };
  return tellFacts(turn, index, named);
}

/** The section that the message calls by its heading. During a conversation, "it" does not mean a section called IT. */
function namedIn({ content, history }: Turn, index: KnowledgeIndex): Passage | undefined {
  const named = index.named(content);
  if (!named || content.includes(named.heading)) return named;
  return history.length > 0 && pointsBack(named.heading) ? undefined : named;
}

/** Answers a message that asks for something, `named` if it has called a section by its heading. */
function tellFacts(turn: Turn, index: KnowledgeIndex, named: Passage | undefined): Answer {
  const own = index.query(turn.content);
  const findings = search(own, turn, index);
  const near = findings.filter(({ rank }) => rank >= enoughRank);
  const [best] = asksForNumber(turn.content) ? preferNumbers(near) : near;
  const first = named ? findNamed(named, findings) : best;
  if (!first) return dontKnow(own, turn, index);
  const { text, sources } = tell(complete(first, findings, own), findings, turn, index);
  const occasion = named || isSure(first) ? "answer" : "nearest";
  return { text: join(say(occasion, turn, index, [first.passage.heading]), text), sources };
}

/** Whether a finding needs no caveat: it covers the question, or has the number that was asked for, as "E21". */
function isSure({ coverage, terms }: Finding): boolean {
  return coverage >= enough || [...terms].some((term) => /\p{L}\p{Nd}|\p{Nd}\p{L}/u.test(term));
}

/** Of sections with the same heading, the one that fits the question and the conversation best. */
function findNamed(named: Passage, findings: readonly Finding[]): Finding {
  return findings.find(({ passage }) => passage.heading === named.heading) ?? sureOf(named);
}

/** What answers the message, if necessary in the context of the conversation. Empty: nothing does. */
function search(own: Query, turn: Turn, index: KnowledgeIndex): Finding[] {
  const leans = refersBack(turn.content);
  const context = lastSubject(turn, index);
  const inContext = () => {
    const found = context.size > 0 ? index.find(addContext(own, context)) : [];
    return judge(found, hasSubject(own) ? own : context);
  };
  if (leans || !hasSubject(own)) {
    const findings = inContext();
    if (findings.length > 0 || (leans && !hasSubject(own))) return findings;
  }
  const findings = judge(index.find(own), own);
  return findings.length > 0 || leans ? findings : inContext();
}

/** Continues with what has not been told yet about the last subject. */
function tellMore(turn: Turn, index: KnowledgeIndex): Answer {
  const found = index.find(lastSubject(turn, index));
  const findings = found.filter(({ confidence }) => confidence >= enoughForMore);
  const [current] = findings;
  if (!current || current.confidence < enough) return { text: say("topics", turn, index), sources: [] };
  const { section } = current.passage;
  const rest = index.passages.filter((passage) => passage.section === section && passage.title === undefined);
  const near = findings.filter(({ confidence }) => confidence >= enough);
  const next = [...rest.map(sureOf), ...near, ...findings].find(
    // What introduces other sections repeats them.
    ({ passage }) => passage.indexed === undefined && !wasTold(passage, turn),
  );
  if (next) return tell([next], findings, turn, index);
  return { text: `${say("finished", turn, index)} ${say("topics", turn, index)}`, sources: [] };
}

function sureOf(passage: Passage): Finding {
  return { passage, coverage: 1, confidence: 1, terms: new Set(), titled: true, fit: 1, rank: 1 };
}

/** Whether a query has a term with full weight, which an answer must contain. */
function hasSubject(query: Query): boolean {
  return [...query.values()].includes(1);
}

/** The findings that answer the question: they cover enough of it, including its subject. */
function judge(findings: readonly Finding[], about: Query): Finding[] {
  const subjects = [...about].flatMap(([term, weight]) => (weight === 1 ? term : []));
  return findings.filter(({ confidence, terms, titled }) => {
    const toThePoint = subjects.length > 0 ? subjects.some((term) => terms.has(term)) : titled;
    return confidence >= enough && toThePoint;
  });
}

/** Adds a second section if the first one leaves out a part of the question, as in "latte or flat white?". */
function complete(first: Finding, findings: readonly Finding[], query: Query): Finding[] {
  const missing = [...query].flatMap(([term, weight]) =>
    weight === 1 && !first.terms.has(term) ? term : [],
  );
  const second = findings.find(
    ({ passage, terms }) =>
      passage.section !== first.passage.section && missing.some((term) => terms.has(term)),
  );
  return second ? [first, second] : [first];
}

/** Puts a finding with figures first, if it is as good as the best. */
function preferNumbers(findings: readonly Finding[]): readonly Finding[] {
  const [first] = findings;
  const close = findings.slice(0, 3).filter(({ confidence }) => confidence >= (first?.confidence ?? 0));
  const numeric = close.find(({ passage }) => /\p{Nd}/u.test(passage.text));
  return numeric ? [numeric, ...findings.filter((finding) => finding !== numeric)] : findings;
}

const nothing: Query = new Map();

function addContext(own: Query, context: Query): Query {
  const weight = hasSubject(own) ? contextWeight : 1;
  return new Map([...[...context].map(([term, value]) => [term, value * weight] as const), ...own]);
}

/** What the conversation was about: the last of the user's messages that had a subject. */
function lastSubject({ history }: Turn, index: KnowledgeIndex): Query {
  const questions = history.filter((message) => message.role === "user").slice(-lookBack);
  const queries = questions.map((message) => index.query(message.content));
  return queries.findLast(hasSubject) ?? nothing;
}

function wasTold(passage: Passage, { history }: Turn): boolean {
  const recent = history.slice(-2 * lookBack);
  return recent.some(({ role, content }) => role === "assistant" && content.includes(passage.text));
}

/** Quotes the findings, and mentions related sections. */
function tell(
  found: readonly Finding[],
  others: readonly Finding[],
  turn: Turn,
  index: KnowledgeIndex,
): Answer {
  const quotes = found.map(({ passage }) =>
    found.length > 1 ? `**${passage.heading}**\n\n${passage.text}` : passage.text,
  );
  const told = [...found.map(({ passage }) => passage.heading), ...quotes].join("\n");
  const unseen = others.filter(({ passage }) => !told.includes(passage.heading) && !wasTold(passage, turn));
  const related = headingsOf(unseen.map(({ passage }) => passage)).slice(0, mostRelated);
  return {
    text: join(...quotes, related.length > 0 ? say("related", turn, index, related) : ""),
    sources: found,
  };
}

function join(...parts: readonly string[]): string {
  return parts.filter((part) => part !== "").join("\n\n");
}

/** Admits not knowing, and quotes a section about a part of the question, or offers topics, the nearest first. */
function dontKnow(own: Query, turn: Turn, index: KnowledgeIndex): Answer {
  const found = index.find(own);
  const [near] = found;
  if (near && isHint(near, own)) {
    return {
      text: join(say("nearest", turn, index, [near.passage.heading]), near.passage.text),
      sources: [near],
    };
  }
  const nearest = headingsOf(found.map(({ passage }) => passage)).slice(0, mostRelated);
  const offered = [...new Set([...nearest, ...rotate(index.topics, turn)])];
  const text = say("unknown", turn, index, offered);
  const offersTopics = offered.some((topic) => text.includes(topic));
  const offer = offersTopics || offered.length === 0 ? "" : ` ${say("topics", turn, index, offered)}`;
  return { text: text + offer, sources: [] };
}

/** Whether a passage may help although it leaves out much of the question: half of it is there, or what it is called. */
function isHint({ confidence, titled, fit, terms }: Finding, query: Query): boolean {
  if (![...terms].some((term) => query.get(term) === 1)) return false;
  return confidence >= enoughForHint || (titled && fit >= 0.5 && confidence >= enoughForNamedHint);
}
