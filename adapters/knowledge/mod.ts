/**
 * The knowledge engine: answers from the twin's own text, with no model and no network.
 *
 * @module
 */

import { type Clock, systemClock } from "../../core/base/clock.ts";
import {
  type HistoryMessage,
  type PacingOptions,
  type Turn,
  type TwinEngine,
  writeWords,
} from "../../core/twins/engine.ts";
import type { Twin } from "../../core/twins/twins.ts";
import { type Knowledge, type Occasion, type Passage, readKnowledge } from "./markdown.ts";
import {
  createKnowledgeIndex,
  type Finding,
  hasSubject,
  type KnowledgeIndex,
  type Query,
  toQuery,
} from "./search.ts";
import {
  asksForNumber,
  phraseFor,
  pointsBack,
  recognizeSmallTalk,
  refersBack,
  type SmallTalk,
} from "./small-talk.ts";

/** A twin's answer, and the passages that it comes from. */
interface Answer {
  readonly text: string;
  readonly sources: readonly Finding[];
}

/** A twin's knowledge, ready to be searched. */
interface KnowledgeBase {
  readonly knowledge: Knowledge;
  readonly index: KnowledgeIndex;
  /** The topics that the twin offers. */
  readonly topics: readonly string[];
}

// The minimum confidence of an answer: below it, a passage merely shares some words with the question.
const enough = 0.5;
// The minimum confidence of a hint, a passage whose heading names a part of the question: one of two rare words is
// 0.44.
const enoughForHint = 0.4;
// The minimum confidence of a related passage, when everything about a subject has been told.
const enoughForMore = 0.35;
// The maximum length of a question, in code units; the rest is ignored. Some characters stand for a dozen others.
const longestQuestion = 4_000;
const mostTopics = 6;
const mostRelated = 2;
// The number of earlier exchanges in which the current subject is looked for.
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
  const bases = new WeakMap<Twin, Promise<KnowledgeBase>>();

  function baseOf(twin: Twin): Promise<KnowledgeBase> {
    const base = bases.get(twin) ?? readBase(twin, clock);
    bases.set(twin, base);
    return base;
  }

  return {
    async reply({ twin, history, content }, output) {
      const turn = { twin, history: history.map(beginningOf), content: content.slice(0, longestQuestion) };
      const { text, sources } = answer(turn, await baseOf(twin));
      output.progress({ stage: "sources", sources: sources.map(toSource) });
      await writeWords(text, output, options);
      return { finishReason: "stop", usage: null };
    },
  };
}

async function readBase({ name, instructions }: Twin, clock: Clock): Promise<KnowledgeBase> {
  const knowledge = readKnowledge(name, instructions);
  const index = await createKnowledgeIndex(knowledge, clock);
  return { knowledge, index, topics: topicsOf(knowledge.passages) };
}

/** Shortens a question; a reply stays whole, to be compared with the twin's text. */
function beginningOf(message: HistoryMessage): HistoryMessage {
  return message.role === "user"
    ? { ...message, content: message.content.slice(0, longestQuestion) }
    : message;
}

function toSource({ passage, confidence }: Finding): { heading: string; score: number } {
  return { heading: passage.heading, score: Math.round(confidence * 100) / 100 };
}

/** The topics that the twin offers: the headings of the outermost level that has more than one. */
function topicsOf(passages: readonly Passage[]): string[] {
  const paths = passages.map(({ parents, heading }) => [...parents, heading]);
  const deepest = Math.max(0, ...paths.map((path) => path.length));
  for (let depth = 0; depth < deepest; depth++) {
    const topics = [...new Set(paths.flatMap((path) => path[depth] ?? path.at(-1) ?? []))];
    if (topics.length > 1 || depth === deepest - 1) return topics;
  }
  return [];
}

function headingsOf(passages: readonly Passage[]): string[] {
  return [...new Set(passages.map((passage) => passage.heading))];
}

function answer(turn: Turn, base: KnowledgeBase): Answer {
  const asked = base.index.asked(turn.content);
  if (asked) return tell([sureOf(asked)], [], turn, base);
  const named = namedIn(turn, base);
  const talk = named ? undefined : recognizeSmallTalk(turn.content, turn.twin.name);
  if (talk === "more") return tellMore(turn, base);
  if (talk) return { text: chat(talk, turn, base), sources: [] };
  return tellFacts(turn, base, named);
}

/** The section that the message calls by its heading. During a conversation, "it" does not mean a section called IT. */
function namedIn({ content, history }: Turn, { index }: KnowledgeBase): Passage | undefined {
  const named = index.named(content);
  if (!named || content.includes(named.heading)) return named;
  return history.length > 0 && pointsBack(named.heading) ? undefined : named;
}

/** Answers a message that asks for something, `named` if it has called a section by its heading. */
function tellFacts(turn: Turn, base: KnowledgeBase, named: Passage | undefined): Answer {
  const own = toQuery(turn.content, turn.twin.name);
  const findings = search(own, turn, base);
  const [best] = asksForNumber(turn.content) ? preferNumbers(findings) : findings;
  const first = named ? findNamed(named, findings) : best;
  if (!first) return dontKnow(base.index.find(own), turn, base);
  const { text, sources } = tell(complete(first, findings, own), findings, turn, base);
  return { text: join(say("answer", turn, base), text), sources };
}

/** Of sections with the same heading, the one that fits the question and the conversation best. */
function findNamed(named: Passage, findings: readonly Finding[]): Finding {
  return findings.find(({ passage }) => passage.heading === named.heading) ?? sureOf(named);
}

/** What answers the message, if necessary in the context of the conversation. Empty: nothing does. */
function search(own: Query, turn: Turn, base: KnowledgeBase): Finding[] {
  const leans = refersBack(turn.content);
  if (leans || !hasSubject(own)) {
    const context = lastSubject(turn);
    const found = base.index.find(addContext(own, context));
    const findings = context.size > 0 ? judge(found, hasSubject(own) ? own : context) : [];
    if (findings.length > 0 || (leans && !hasSubject(own))) return findings;
  }
  return judge(base.index.find(own), own);
}

/** Continues with what has not been told yet about the last subject. */
function tellMore(turn: Turn, base: KnowledgeBase): Answer {
  const findings = base.index.find(lastSubject(turn)).filter(({ confidence }) => confidence >= enoughForMore);
  const [current] = findings;
  if (!current || current.confidence < enough) return { text: say("topics", turn, base), sources: [] };
  const { section } = current.passage;
  const rest = base.knowledge.passages.filter((passage) => passage.section === section);
  const near = findings.filter(({ confidence }) => confidence >= enough);
  const next = [...rest.map(sureOf), ...near, ...findings].find(({ passage }) => !wasTold(passage, turn));
  if (next) return tell([next], findings, turn, base);
  return { text: `${say("finished", turn, base)} ${say("topics", turn, base)}`, sources: [] };
}

function sureOf(passage: Passage): Finding {
  return { passage, confidence: 1, terms: new Set(), titled: true, headed: true };
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
  const numeric = close.find(({ passage }) => /\d/u.test(passage.text));
  return numeric ? [numeric, ...findings.filter((finding) => finding !== numeric)] : findings;
}

const nothing: Query = new Map();

function addContext(own: Query, context: Query): Query {
  const weight = hasSubject(own) ? contextWeight : 1;
  return new Map([...[...context].map(([term, value]) => [term, value * weight] as const), ...own]);
}

/** What the conversation was about: the last of the user's messages that had a subject. */
function lastSubject({ history, twin }: Turn): Query {
  const questions = history.filter((message) => message.role === "user").slice(-lookBack);
  const queries = questions.map((message) => toQuery(message.content, twin.name));
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
  base: KnowledgeBase,
): Answer {
  const quotes = found.map(({ passage }) =>
    found.length > 1 ? `**${passage.heading}**\n\n${passage.text}` : passage.text,
  );
  const told = new Set(found.map(({ passage }) => passage.heading));
  const unseen = others.filter(({ passage }) => !told.has(passage.heading) && !wasTold(passage, turn));
  const related = headingsOf(unseen.map(({ passage }) => passage)).slice(0, mostRelated);
  return {
    text: join(...quotes, related.length > 0 ? say("related", turn, base, related) : ""),
    sources: found,
  };
}

function join(...parts: readonly string[]): string {
  return parts.filter((part) => part !== "").join("\n\n");
}

/** Admits not knowing, and quotes a section about a part of the question, or offers topics, the nearest first. */
function dontKnow(found: readonly Finding[], turn: Turn, base: KnowledgeBase): Answer {
  const [near] = found;
  if (near?.headed && near.confidence >= enoughForHint) {
    return {
      text: join(say("nearest", turn, base, [near.passage.heading]), near.passage.text),
      sources: [near],
    };
  }
  const nearest = headingsOf(found.slice(0, mostRelated).map(({ passage }) => passage));
  const known = nearest.filter((heading) => base.topics.includes(heading));
  const offered = [...new Set([...known, ...rotate(base.topics, turn)])];
  const text = say("unknown", turn, base, offered);
  const offersTopics = offered.some((topic) => text.includes(topic));
  const offer = offersTopics || offered.length === 0 ? "" : ` ${say("topics", turn, base, offered)}`;
  return { text: text + offer, sources: [] };
}

function chat(talk: Exclude<SmallTalk, "more">, turn: Turn, base: KnowledgeBase): string {
  const { name, description, greeting } = turn.twin;
  const topics = base.topics.length > 0 ? ` ${say("topics", turn, base)}` : "";
  switch (talk) {
    case "greeting":
      return greeting ?? `Hello, I'm ${name}.${topics}`;
    case "wellbeing":
      return `Very well, thank you for asking.${topics}`;
    case "about":
      return `I'm ${name}. ${description ?? ""}`.trimEnd() + topics;
    case "topics":
      return topics.trimStart() || `I'm ${name}.`;
    case "private":
      return say("private", turn, base) + topics;
    case "thanks":
    case "goodbye":
      return say(talk, turn, base);
  }
}

function say(occasion: Occasion, turn: Turn, base: KnowledgeBase, topics?: readonly string[]): string {
  const offered = topics ?? rotate(base.topics, turn);
  const list = offered.slice(0, mostTopics).map((topic) => `**${topic}**`);
  return phraseFor(occasion, base.knowledge.voice, exchangesOf(turn), list.join(", "));
}

/** Brings other topics to the front each time, so that all of a long list are shown in the end. */
function rotate(topics: readonly string[], turn: Turn): string[] {
  const start = topics.length > mostTopics ? (exchangesOf(turn) * mostTopics) % topics.length : 0;
  return [...topics.slice(start), ...topics.slice(0, start)];
}

function exchangesOf({ history }: Turn): number {
  return history.filter((message) => message.role === "assistant").length;
}
