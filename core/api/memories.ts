/**
 * The endpoints of what a twin knows of a person.
 *
 * @module
 */

import { keyRequired } from "../auth/credentials.ts";
import { type CallerReach, type PathParams, route } from "../http/route.ts";
import { mostCharactersRemembered, type PersonMemory } from "../store/records.ts";
import { memoryNotFound } from "../wire/errors.ts";
import { memoryResource } from "../wire/resources.ts";
import { endUserParamsSchema, memorySchema, writeMemorySchema } from "../wire/schemas.ts";
import { isTwinInReach, requireTwin } from "./lookup.ts";

const memory = {
  path: "/api/v1/end-users/{endUser}/memory/{twinId}",
  credential: "api_key",
  params: endUserParamsSchema,
} as const;

export const memoryRoutes = [
  route({
    ...memory,
    operationId: "getMemory",
    method: "GET",
    summary: "Read what a twin knows of a person",
    scope: "read_only",
    success: { status: 200, description: "What your app wrote last.", schema: memorySchema },
    errors: ["insufficient_scope", "memory_not_found"],
    async handle({ caller: { reach }, params }, { store }) {
      const { owner, endUser, twinId } = requireOwn(reach, params);
      if (!isTwinInReach(reach, params)) return memoryNotFound();
      const slice = { twinId, limit: 1, charactersOfEach: mostCharactersRemembered };
      const [found = memoryNotFound()] = await store.listMemories(owner, endUser, slice);
      return { data: memoryResource(found) };
    },
  }),

  route({
    ...memory,
    operationId: "writeMemory",
    method: "PUT",
    summary:
      "Write what a twin knows of a person, in place of what it knew; it counts from the next reply on",
    scope: "full_access",
    ownersOnly: true,
    body: writeMemorySchema,
    success: { status: 200, description: "What the twin knows now.", schema: memorySchema },
    errors: ["twin_not_found"],
    async handle({ caller: { owner, reach }, params, body }, { store, twins, clock }) {
      const { id: twinId } = await requireTwin(twins, reach, params.twinId);
      const of = { owner, endUser: params.endUser, twinId };
      const written = { content: body.content, updatedAt: clock.now() };
      await store.setMemory(of, written);
      return { data: memoryResource({ ...of, ...written }) };
    },
  }),

  route({
    ...memory,
    operationId: "deleteMemory",
    method: "DELETE",
    summary: "Have a twin forget what it knows of a person",
    scope: "full_access",
    success: { status: 204, description: "The twin knows nothing of the person." },
    errors: ["insufficient_scope"],
    async handle({ caller: { reach }, params }, { store }) {
      const of = requireOwn(reach, params);
      if (isTwinInReach(reach, params)) await store.setMemory(of, null);
      return {};
    },
  }),
];

/** Refuses an end user who asks for another person. */
function requireOwn(
  { owner, endUser: caller }: CallerReach,
  { endUser, twinId }: PathParams,
): Pick<PersonMemory, "owner" | "endUser" | "twinId"> {
  if (caller !== undefined && caller !== endUser) throw keyRequired("it is about another person");
  return { owner, endUser, twinId };
}
