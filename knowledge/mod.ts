/**
 * What a twin knows: the engine that answers from the twin's own text, and the index behind it, for engines of your own.
 *
 * @module
 */

export { type Briefing, type Briefings, createBriefings, type KnowledgeSource } from "./briefing.ts";
export { createKnowledgeEngine } from "./engine.ts";
export { refusalOf } from "./languages/refusals.ts";
export {
  createKnowledgeIndex,
  type FoundSection,
  type IndexedTwin,
  type KnowledgeIndex,
  type KnowledgeIndexOptions,
  type SearchOptions,
} from "./search/index.ts";
export type { Embed, Near } from "./search/meaning.ts";
export { readHtml } from "./text/html.ts";
export { readDocument, readInstructions, type TwinText } from "./text/sections.ts";
export type { KnowledgeWarning } from "./text/source.ts";
