/**
 * The endpoints of twins.
 *
 * @module
 */

import { route } from "../http/route.ts";
import { listTwins } from "../twins/twins.ts";
import { twinJson } from "../wire/resources.ts";
import { pageQuerySchema, twinSchema } from "../wire/schemas.ts";
import { requireTwin } from "./lookup.ts";
import { pageOfJson, sliceOf } from "./pagination.ts";

export const twinRoutes = [
  route({
    operationId: "listTwins",
    method: "GET",
    path: "/api/v1/twins",
    summary: "List the twins you may use, by name",
    credential: "api_key",
    scope: "read_only",
    query: pageQuerySchema,
    success: { status: 200, description: "A page of twins.", schema: twinSchema, list: true },
    async handle({ caller: { reach }, query }, { twins }) {
      const { owner, twinIds } = reach;
      const some = twinIds && (await Promise.all(twinIds.map((id) => twins.get(owner, id))));
      const seen = some ? listTwins(some.filter((twin) => twin !== undefined)) : twins;
      return pageOfJson(query, await seen.list(owner, sliceOf(query)), twinJson);
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
      return { json: twinJson(await requireTwin(twins, reach, params.id)) };
    },
  }),
];
