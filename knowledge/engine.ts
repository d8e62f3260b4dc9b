/**
 * The knowledge engine: answers from the twin's own text, with no model and no network.
 *
 * @module
 */

import { systemClock } from "../core/base/clock.ts";
import { yieldThread } from "../core/base/in-parts.ts";
import { type PacingOptions, type Turn, type TwinEngine, writeWords } from "../core/twins/engine.ts";
import { asksForSomebody } from "./asking-for-a-person.ts";
import { type KnowledgeSource, toSource } from "./briefing.ts";
import { joints } from "./languages/texts.ts";
import { type KnowledgeIndex, type KnowledgeIndexOptions, withoutMiddle } from "./search/index.ts";
import { cacheIndexes } from "./search/indexes.ts";
import type { Finding, Question } from "./search/ranking.ts";
import { pointsBack, recognizeSmallTalk, refersBack, withoutSmallTalk } from "./small-talk.ts";
import { chat, rotate, say } from "./speech.ts";
import type { Passage } from "./text/passages.ts";

/** A twin's answer, and the sections that it comes from. */
interface Answer {
  readonly text: string;
  /** Null: small talk, which has none. Empty: nothing answers the question. */
  readonly sources: readonly KnowledgeSource[] | null;
  /** Whether it is a guess, or there is none. */
  readonly unsure?: boolean | undefined;
}

/** What answers a question, and whether it needs no caveat. */
interface Found {
  readonly findings: readonly [Finding, ...Finding[]];
  readonly sure: boolean;
}

/** The least score of an answer without a caveat. */
const enoughToBeSure = 0.45;
/** How much of what the question's words say must be in it, too. */
const enoughCoverage = 0.6;
/** The least score of what is offered with a caveat. */
const enough = 0.15;
/** How much of what the question says its one word must be that a passage has. */
const enoughOfOne = 0.25;
/** The least score of what is mentioned beside an answer, and of its next part. */
const enoughToMention = 0.05;
const mostRelated = 2;
/** How many sections with the same heading are looked at for them. */
const mostNamesakes = 100;
/** How many earlier questions and replies are looked at for the current subject. */
const lookBack = 4;
/** How many questions of one message are answered. */
const mostQuestions = 5;
/** From how many passages on a search takes milliseconds, so that others get a turn before each. */
const manyPassages = 10_000;
/** At how many places a question may be two. */
const mostJoints = 3;

/**
 * Creates an engine that answers from the twin's own Markdown: it ranks the sections for the question and quotes the
 * best passage, with a caveat if it is not certain, or says that it doesn't know. Text that says how the twin behaves is
 * never quoted: the text before the first heading or under the title, and the sections called Instructions, Persona and
 * Voice. The same turn always gets the same answer.
 *
 * Before the text it sends one `progress` event, `{ stage: "sources", sources: [{ heading, document, score }] }`, with the
 * sections that the answer comes from, and how certain it is that they answer the question, from 0 to 1. The list is empty
 * if nothing answers it; small talk sends no such event.
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
export function createKnowledgeEngine(
  options: PacingOptions & Pick<KnowledgeIndexOptions, "embed"> = {},
): TwinEngine {
  const { clock = systemClock, embed } = options;
  const indexes = cacheIndexes({ clock, embed });
  return {
    continues: "exact",
    asksModel: false,
    prepare: indexes.prepare,
    async reply(given, output) {
      const turn = readable(given);
      const reply = async (whole: KnowledgeIndex) => {
        const index = whole.forMessage();
        const asked = mayHandOver(turn) && wantsPerson(turn, index);
        const said: Answer = asked
          ? { text: say("person", turn, index), sources: null }
          : await answer(turn, index);
        return { asked, ...said };
      };
      const { asked, text, sources } = await indexes.ask(turn.twin, reply, ({ unsure }) => !unsure);
      if (asked) output.handOver();
      if (sources) output.progress({ stage: "sources", sources: sources.map(toSource) });
      await writeWords(text, turn, output, options);
      return { finishReason: "stop", usage: null };
    },
  };
}

/** A turn as it is read: each step takes time for all of a message, in which nothing else runs. */
function readable(turn: Turn): Turn {
  const history = turn.history.map((message) =>
    message.role === "user" ? { ...message, content: withoutMiddle(message.content) } : message,
  );
  return { ...turn, content: withoutMiddle(turn.content), history };
}

/** Whether a person may answer instead: the twin hands over, and there is a conversation in which that person can. */
function mayHandOver({ twin, origin }: Turn): boolean {
  return twin.handover && Boolean(origin?.conversationId);
}

/** Whether a message asks for a person, or says yes to the offer of one. A section that it calls by its heading is none. */
function wantsPerson(turn: Turn, index: KnowledgeIndex): boolean {
  const { content, history, twin } = turn;
  if (index.names.asked(content) || calledIn(turn, index)?.alone) return false;
  if (asksForSomebody(content)) return true;
  const isOffered = history.at(-1)?.content.endsWith(index.language.phrases.offer);
  return isOffered === true && recognizeSmallTalk(content, twin.name) === "more";
}

/** Answers a message: small talk, one question, or several. */
async function answer(turn: Turn, index: KnowledgeIndex): Promise<Answer> {
  if (!index.names.asked(turn.content) && !calledIn(turn, index)?.alone) {
    const talk = recognizeSmallTalk(turn.content, turn.twin.name);
    if (talk === "more") return await tellMore(turn, index);
    if (talk) return { text: chat(talk, turn, index), sources: null };
  }
  const content = withoutSmallTalk(turn.content, turn.twin.name);
  const messages = questionsIn(content, index);
  const [only = ""] = messages;
  const questions = messages.length === 1 ? await divide(only, turn, index) : messages;
  if (questions.length < 2) return answerQuestion({ ...turn, content }, index);
  const answers = await Promise.all(
    questions.map(async (question) => {
      const own = await answerQuestion({ ...turn, content: question, history: [] }, index);
      const text = own.sources?.length ? own.text : say("unknown", turn, index, []);
      return { text: `**${question}**\n\n${text}`, sources: own.sources ?? [], unsure: own.unsure };
    }),
  );
  const sources = answers.flatMap((one) => one.sources);
  if (sources.length === 0) return answerQuestion({ ...turn, content }, index);
  const unsure = answers.some((one) => one.unsure);
  return { text: join(...answers.map(({ text }) => text)), sources, unsure };
}

/** The questions of a message. What asks nothing by itself belongs to the one before it, or to the first. */
function questionsIn(content: string, index: KnowledgeIndex): string[] {
  const questions: string[] = [];
  let open = true;
  for (const part of content.split(/(?<=[?？؟])\s*|\n+/u)) {
    if (part.trim() === "") continue;
    const goesOn = open || refersBack(part) || index.read(part).words.size === 0;
    if (goesOn && questions.length > 0) questions.push(`${questions.pop()} ${part.trim()}`);
    else questions.push(part.trim());
    open = !/[?？؟]$/u.test(part.trim());
  }
  return questions.slice(0, mostQuestions);
}

/** The two questions that "and" joins: each finds a section of its own, more certainly than both together find one. */
async function divide(question: string, turn: Turn, index: KnowledgeIndex): Promise<string[]> {
  const joint = joints[index.language.code];
  const places = joint ? [...question.matchAll(joint)].slice(0, mostJoints) : [];
  if (places.length === 0 || index.names.asked(question)) return [question];
  const whole = await search({ ...turn, content: question }, index);
  if (whole?.sure) return [question];
  let best = { parts: [question], score: whole?.findings[0].score ?? 0 };
  for (const { index: at, 0: words } of places) {
    const parts = [question.slice(0, at), question.slice(at + words.length)];
    if (parts.some(refersBack)) continue;
    const found = await Promise.all(parts.map((content) => search({ ...turn, content, history: [] }, index)));
    const [first, second] = found.map((one) => one?.findings[0]);
    if (!first || !second || first.passage.section === second.passage.section) continue;
    const score = Math.min(first.score, second.score);
    if (score > best.score) best = { parts, score };
  }
  return best.parts;
}

async function answerQuestion(turn: Turn, index: KnowledgeIndex): Promise<Answer> {
  const asked = index.names.asked(turn.content);
  if (asked) return tell(certain(asked), turn, index);
  const whole = await search(turn, index);
  const found = whole?.sure ? whole : await searchParts(turn, index, whole);
  if (!found) return dontKnow(turn, index);
  const { findings, sure } = found;
  const [first, ...others] = findings;
  const { text, sources } = tell(first, turn, index, others, !sure);
  const before = say(sure ? "answer" : "nearest", turn, index, [first.passage.heading]);
  return { text: join(before, text), sources, unsure: !sure };
}

/** What answers one of a message's sentences, if that is more certain: words around a question never hide it. */
async function searchParts(
  turn: Turn,
  index: KnowledgeIndex,
  whole: Found | undefined,
): Promise<Found | undefined> {
  let best = whole;
  const parts = turn.content.split(/(?<=[.!?…。！？؟।])\s+|[\n;；]+|(?<=[,，،]) */u);
  const telling: string[] = [];
  for (const part of parts) {
    if (index.read(part).words.size > 0) telling.push(part);
    if (telling.length === mostQuestions) break;
  }
  for (const part of telling.length > 1 ? telling : []) {
    const found = await search({ ...turn, content: part, history: [] }, index);
    const isBetter = found && found.findings[0].score > (best?.findings[0].score ?? 0);
    if (isBetter) best = { ...found, sure: found.sure && /[?？؟]\s*$/u.test(part) };
  }
  return best;
}

/** The section that the message calls by its heading. During a conversation, "it" does not mean a section called IT. */
function calledIn({ content, history }: Turn, index: KnowledgeIndex) {
  const called = index.called(content);
  if (!called || content.includes(called.passage.heading)) return called;
  return history.length > 0 && pointsBack(called.passage.heading) ? undefined : called;
}

/** What answers the question, if necessary in the context of the conversation. */
async function search(turn: Turn, index: KnowledgeIndex): Promise<Found | undefined> {
  if (index.passages.length >= manyPassages) await yieldThread();
  const { content } = turn;
  const called = calledIn(turn, index);
  if (called?.alone) return quoteCalled(called.passage, turn, index, await lastSubject(turn, index));
  const alone = () => {
    const found = judge(index.read(content), index);
    const follows = found?.sure ? undefined : judgeInContext(turn, index);
    // A section that the question calls by its heading is an answer, certain or not.
    const best = found?.sure || !called ? (follows ?? found) : quoteCalled(called.passage, turn, index);
    return byMeaning(best && { ...best, sure: found?.sure === true }, content, index);
  };
  const joined = async () => {
    const subject = await lastSubject(turn, index);
    if (subject === undefined) return undefined;
    const question = index.read(content);
    const found = judge(index.read(`${content}\n${subject}`), index);
    const share = question.words.size === 0 ? 1 : shareOf(question, found);
    if (share < 0.5 || (share === 0.5 && !refersBack(content))) return undefined;
    return byMeaning(found && { ...found, sure: found.sure && share > 0.5 }, `${content}\n${subject}`, index);
  };
  return refersBack(content) ? ((await joined()) ?? alone()) : ((await alone()) ?? joined());
}

/** What answers a question best if it is about what was asked before. */
function judgeInContext({ content, history }: Turn, index: KnowledgeIndex): Found | undefined {
  const before = history.findLast(({ role }) => role === "user");
  if (!before) return undefined;
  const found = judge(index.read(content, before.content), index);
  // A single word of another subject may be shared by chance, as n-grams of "France" are in "insurance".
  return shareOf(index.read(content), found) > 0.5 ? found : undefined;
}

/** How many of a question's words the best passage has. */
function shareOf({ words }: Question, found: Found | undefined): number {
  const shared = [...words.keys()].filter((word) => found?.findings[0].words.has(word));
  return shared.length / (words.size || 1);
}

/** The section that a message calls by its heading: of those with the same, the one that fits message and subject best. */
function quoteCalled(called: Passage, { content }: Turn, index: KnowledgeIndex, subject?: string): Found {
  const isIts = ({ passage }: Finding) => passage.heading === called.heading;
  const inContext = subject === undefined ? [] : index.find(index.read(content, subject)).filter(isIts);
  const findings = index.find(index.read(content));
  const best = called.title === undefined ? (inContext[0] ?? findings.find(isIts)) : undefined;
  const passage = best?.passage ?? called;
  const own = findings.find((finding) => finding.passage === passage) ?? certain(passage);
  return { findings: [own, ...findings.filter((finding) => !isIts(finding))], sure: true };
}

/** What words and meaning find together where the words are not certain, or find nothing. It is never certain. */
async function byMeaning(
  found: Found | undefined,
  question: string,
  index: KnowledgeIndex,
): Promise<Found | undefined> {
  const nearest = found?.sure ? [] : await index.nearest(question);
  if (nearest.length === 0) return found;
  const findings = found?.findings ?? index.find(index.read(question));
  const [first, ...others] = index.fuse(findings, nearest);
  return first && first.score >= enough ? { findings: [first, ...others], sure: false } : undefined;
}

/** What answers a question, and whether that is certain. Undefined: nothing does. */
function judge(question: Question, index: KnowledgeIndex): Found | undefined {
  const { words } = question;
  const [first, ...others] = index.find(question);
  if (!first || first.score < enough) return undefined;
  // One word that is shared by chance is not enough.
  const isOne = first.words.size < 2 && words.size > 1;
  if (first.words.size === 0 || (isOne && first.coverage < enoughOfOne)) return undefined;
  // Another word makes another question.
  const hasMost = 4 * first.words.size >= 3 * words.size;
  const sure = first.score >= enoughToBeSure && first.coverage >= enoughCoverage && hasMost;
  return { findings: [first, ...others], sure };
}

function certain(passage: Passage): Finding {
  return { passage, score: 1, words: new Set(), coverage: 1 };
}

/** Continues with what has not been told yet about the last subject. */
async function tellMore(turn: Turn, index: KnowledgeIndex): Promise<Answer> {
  const content = await lastSubject(turn, index);
  const found = content === undefined ? undefined : await search({ ...turn, content, history: [] }, index);
  if (!found) return { text: say("topics", turn, index), sources: null, unsure: true };
  const [current, ...others] = found.findings;
  const { section } = current.passage;
  const rest = index.passages.filter((passage) => passage.section === section && passage.title === undefined);
  const near = others.filter(({ score, words }) => score >= enoughToMention || words.size > 0);
  // What introduces other sections repeats them.
  const isNew = (passage: Passage) => passage.indexed === undefined && !wasTold(passage, turn);
  const own = rest.find(isNew);
  const next = own ? certain(own) : near.find(({ passage }) => isNew(passage));
  if (next) return tell(next, turn, index, near);
  return {
    text: `${say("finished", turn, index)} ${say("topics", turn, index)}`,
    sources: null,
    unsure: true,
  };
}

/** What the conversation was about: the last of the user's messages that had an answer. */
async function lastSubject({ history, twin }: Turn, index: KnowledgeIndex): Promise<string | undefined> {
  const questions = history.filter(({ role }) => role === "user").slice(-lookBack);
  for (const { content } of questions.toReversed())
    if (await search({ twin, history: [], content }, index)) return content;
  return undefined;
}

function wasTold(passage: Passage, { history }: Turn): boolean {
  const recent = history.slice(-2 * lookBack);
  return recent.some(({ role, content }) => role === "assistant" && content.includes(passage.text));
}

/** Quotes a passage, with its heading if `isNamed` or where others have the same, and mentions related sections. */
function tell(
  { passage, score }: Finding,
  turn: Turn,
  index: KnowledgeIndex,
  others: readonly Finding[] = [],
  isNamed = false,
): Answer {
  const { names } = index;
  const namesakes = names.namesakesOf(passage);
  const isTitled = isNamed || namesakes.length > 0;
  const quote = isTitled ? `**${names.nameOf(passage)}**\n\n${passage.text}` : passage.text;
  const told = `${passage.heading}\n${quote}`;
  const near = others.filter((other) => other.score >= enoughToMention && !wasTold(other.passage, turn));
  const nearby = [...namesakes.slice(0, mostNamesakes), ...near.map((other) => other.passage)];
  const offered = [...new Set(nearby.map((other) => names.nameOf(other)))];
  const related = offered.filter((name) => !told.includes(name)).slice(0, mostRelated);
  const text = join(quote, related.length > 0 ? say("related", turn, index, related) : "");
  return { text, sources: [{ heading: passage.heading, document: passage.document, score }] };
}

function join(...parts: readonly string[]): string {
  return parts.filter((part) => part !== "").join("\n\n");
}

/** Admits not knowing, and asks whether the nearest sections are meant; where nothing is near, it offers topics. */
function dontKnow(turn: Turn, index: KnowledgeIndex): Answer {
  const near = index.find(index.read(turn.content)).filter(({ words }) => words.size > 0);
  const nearest = [...new Set(near.map(({ passage }) => index.names.nameOf(passage)))].slice(0, mostRelated);
  const offered = nearest.length > 0 ? nearest : rotate(index.topics, turn);
  const text = say("unknown", turn, index, offered);
  const isOffered = offered.length === 0 || offered.some((topic) => text.includes(`**${topic}**`));
  const offer = isOffered ? "" : say(nearest.length > 0 ? "perhaps" : "topics", turn, index, offered);
  const person = mayHandOver(turn) ? say("offer", turn, index) : "";
  return { text: [text, offer, person].filter((part) => part !== "").join(" "), sources: [], unsure: true };
}
