/**
 * Replies at a pace at which a reader sees that they stream, in the playground alone: the offline engines have theirs at
 * once.
 *
 * @module
 */

import { createEchoEngine, type TwinEngine } from "../../core/twins/engine.ts";
import type { Twin, TwinSource } from "../../core/twins/twins.ts";
import { createKnowledgeEngine } from "../../knowledge/mod.ts";

/** The owner of what is said in a playground that was opened by the server's link. */
export const playgroundOwner = "playground";

/** The pause before each word of a reply that is there at once, in milliseconds: about a model's pace. */
const pauseMs = 35;

const paced = " at a reader's pace";

/** The offline engines, paced. */
export function pacedEngines(): Readonly<Record<string, TwinEngine>> {
  return {
    [`knowledge${paced}`]: createKnowledgeEngine({ pauseMs }),
    [`echo${paced}`]: createEchoEngine({ pauseMs }),
  };
}

/** The same twins; for the playground's owner, with the engines of {@link pacedEngines}. */
export function withPacedTwins(twins: TwinSource): TwinSource {
  const known = new WeakMap<Twin, Twin>(); // a twin that has not changed stays the same object
  const pace = (twin: Twin): Twin => {
    if (twin.engine !== "knowledge" && twin.engine !== "echo") return twin;
    const slow = known.get(twin) ?? { ...twin, engine: twin.engine + paced };
    known.set(twin, slow);
    return slow;
  };
  return {
    async list(owner, slice) {
      const listing = await twins.list(owner, slice);
      return owner === playgroundOwner ? { ...listing, items: listing.items.map(pace) } : listing;
    },
    async get(owner, id) {
      const twin = await twins.get(owner, id);
      return twin && owner === playgroundOwner ? pace(twin) : twin;
    },
  };
}
