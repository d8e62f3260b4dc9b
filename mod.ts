/**
 * Conversational AI twins over HTTP, as pure `Request → Response` functions on web standards. The engine `knowledge`, which
 * answers from a twin's own text, is loaded at its first reply.
 *
 * @example
 * ```ts
 * import { createService, createTwinList } from "twin-service";
 *
 * const twins = createTwinList([{ id: "ada", name: "Ada", engine: "knowledge", instructions: "You are Ada." }]);
 * const service = createService({ twins, authenticate: (request) => userOf(request) }); // { owner: "alice" }, or null
 * const response = await service.fetch(request);
 * ```
 *
 * @module
 */

import { createService as createCoreService, type Service } from "./core/service.ts";
import type { ServiceOptions } from "./core/service-options.ts";
import { createEchoEngine, type TwinEngine } from "./core/twins/engine.ts";
import { loadedReader, type TwinReader } from "./core/twins/reader.ts";

export * from "./core/mod.ts";

/**
 * Creates the service. Nothing runs before the first request, or {@link Service.ready}. `twins` is enough: without
 * `engines`, twins may name `echo` and `knowledge`; without `store` and `limiter`, all is kept in memory, and one warning
 * says so.
 *
 * @throws {TypeError} for an invalid option; the message says what is accepted.
 */
export function createService(options: ServiceOptions): Service {
  const engines = options?.engines ?? { echo: createEchoEngine(), knowledge: loadedKnowledge() };
  const { ownTwins } = options ?? {};
  const made = ownTwins && { ownTwins: { ...ownTwins, reader: ownTwins.reader ?? loadedReader(openReader) } };
  return createCoreService({ ...options, engines, ...made });
}

/** What reads and judges the twins that owners make, loaded when the first one is. */
async function openReader(): Promise<TwinReader> {
  return (await import("./adapters/twin-text/mod.ts")).createTwinReader();
}

function loadedKnowledge(): TwinEngine {
  let engine: Promise<TwinEngine> | undefined;
  return {
    continues: "exact",
    async reply(turn, output) {
      engine ??= import("./knowledge/mod.ts").then(({ createKnowledgeEngine }) => createKnowledgeEngine());
      return (await engine).reply(turn, output);
    },
  };
}
