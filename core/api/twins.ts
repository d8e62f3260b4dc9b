/**
 * The endpoints of twins.
 *
 * @module
 */

import { route } from "../http/route.ts";
import { byName, createTwinList } from "../twins/twins.ts";
import { twinJson } from "../wire/resources.ts";
import { twinSchema, twinsQuerySchema } from "../wire/schemas.ts";
import { findProfile, requireProfile } from "./lookup.ts";
import { pageOfJson, sliceOf } from "./pagination.ts";

const noTwins = createTwinList([]);

export const twinRoutes = [
  route({
    operationId: "listTwins",
    method: "GET",
    path: "/api/v1/twins",
    summary: "List the twins you may use, by name",
    credential: "api_key",
    scope: "read_only",
    query: twinsQuerySchema,
    success: { status: 200, description: "A page of twins.", schema: twinSchema, list: true },
    async handle({ caller: { reach }, query }, { twins, ownTwins }) {
      const { owner, twinIds } = reach;
      const slice = sliceOf(query);
      const source = query.own ? (ownTwins?.madeByOwners ?? noTwins) : twins;
      if (!twinIds) return pageOfJson(query, await source.list(owner, slice), twinJson);
      const found = await Promise.all(twinIds.map((id) => findProfile(source, reach, id)));
      const some = found.filter((twin) => twin !== undefined).sort(byName);
      const items = some.slice(slice.offset, slice.offset + slice.limit);
      return pageOfJson(query, { items, total: some.length }, twinJson);
    },
  }),

  route({
    operationId: "getTwin",
    method: "GET",
    path: "/api/v1/twins/{id}",
    summary: "Read one twin",
    credential: "api_key",
    scope: "read_only",
    success: { status: 200, description: "The twin.", schema: twinSchema },
    errors: ["twin_not_found"],
    async handle({ caller: { reach }, params }, { twins }) {
      return { json: twinJson(await requireProfile(twins, reach, params.id)) };
    },
  }),
];
