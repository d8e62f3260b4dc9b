/**
 * Questions to begin with, for the playground: those that a twin's file lists as tests, else headings, where its engine
 * offers them as topics itself.
 *
 * @module
 */

import type { GoldenQuestion, TwinFiles } from "../../adapters/twin-files/mod.ts";
import type { Service } from "../../core/service.ts";
import type { Twin } from "../../core/twins/twins.ts";
import type { Answer, IncomingRequest } from "../../core/wire/request.ts";
import { splitTarget } from "../../core/wire/target.ts";
import type { TwinText } from "../../knowledge/mod.ts";
import type { Settings } from "../settings.ts";
import { isLocal, showsPages } from "./pages.ts";

/** How many there are. */
const most = 4;

/** A longer one is no button. */
const longest = 100;

/** How many documents are looked at, and how much of a text, in UTF-16 code units: reading takes time, in which nothing else runs. */
const mostDocuments = 20;
const beginning = 20_000;

/**
 * The same service, beside `GET /starters/{twinId}` where there is a playground. Who may read the twin may read them: the
 * service itself is asked for it, with the same credential.
 */
export function besideStarters(service: Service, settings: Settings, twins: TwinFiles): Service {
  if (!showsPages(settings)) return service;
  const { basePath, playground } = settings;
  const prefix = `${basePath}/starters/`;
  const made = new WeakMap<Twin, Promise<readonly string[]>>();

  async function answer({ headers }: IncomingRequest, twinId: string): Promise<Answer> {
    const url = `${basePath}/api/v1/twins/${twinId}`;
    const read = await service.answer({ method: "GET", url, headers, body: null });
    if (read.status !== 200 || typeof read.body !== "string") return read;
    const { twin, tests = [] } = twins.find(JSON.parse(read.body).data.id) ?? {};
    const starters = twin && (made.get(twin) ?? startersOf(twin, tests));
    if (twin && starters) made.set(twin, starters);
    return { ...read, body: JSON.stringify({ data: (await starters) ?? [] }) };
  }

  return {
    ...service,
    answer(request) {
      const { path } = splitTarget(request.url);
      const isAsked = request.method === "GET" && path.startsWith(prefix);
      if (!isAsked || (playground !== "on" && !isLocal(request.headers))) return service.answer(request);
      return answer(request, path.slice(prefix.length));
    },
  };
}

async function startersOf(twin: Twin, tests: readonly GoldenQuestion[]): Promise<readonly string[]> {
  const asked = tests.filter(({ source }) => source !== null).map(({ ask }) => ask);
  if (asked.length > 0 || twin.engine !== "knowledge") return select(asked); // a model may keep headings to itself
  const { readDocument, readInstructions } = await import("../../knowledge/mod.ts");
  const found = readInstructions(twin.name, twin.instructions.slice(0, beginning)).sections.map(questionOf);
  for (const { path, text } of twin.documents.slice(0, mostDocuments)) {
    if (found.length >= most) break;
    found.push(...readDocument({ path, text: text.slice(0, beginning) }).sections.map(questionOf));
  }
  return select(found);
}

/** How to ask for a section: as its twin's author says, else by its heading. */
function questionOf({ heading, askedAs }: TwinText["sections"][number]): string {
  return askedAs.find((phrase) => phrase.endsWith("?")) ?? heading;
}

function select(questions: readonly string[]): readonly string[] {
  return [...new Set(questions)].filter(({ length }) => length <= longest).slice(0, most);
}
