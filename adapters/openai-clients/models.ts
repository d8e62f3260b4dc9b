/**
 * Twins as models.
 *
 * @module
 */

import { findTwins, requireProfile } from "../../core/api/lookup.ts";
import { route } from "../../core/http/route.ts";
import type { TwinProfile } from "../../core/twins/twins.ts";
import { jsonPieces } from "../../core/wire/json.ts";

export const modelRoutes = [
  route({
    operationId: "listModels",
    method: "GET",
    path: "/v1/models",
    summary: "List the twins you may use, as models",
    credential: "api_key",
    scope: "read_only",
    free: true, // front ends ask again and again
    success: { status: 200, description: "The models." },
    async handle({ caller: { reach } }, { twins }) {
      const data = (await findTwins(twins, reach)).map(model);
      return { document: jsonPieces({ object: "list", data }) };
    },
  }),

  route({
    operationId: "getModel",
    method: "GET",
    path: "/v1/models/{id}",
    summary: "Read one twin, as a model",
    credential: "api_key",
    scope: "read_only",
    free: true,
    success: { status: 200, description: "The model." },
    async handle(call, context) {
      return {
        document: JSON.stringify(
          model(await requireProfile(context.twins, call.caller.reach, call.params.id)),
        ),
      };
    },
  }),
];

function model({ id, name, description, createdAt }: TwinProfile) {
  return {
    id,
    object: "model",
    created: Math.floor(createdAt / 1000),
    owned_by: "twin-service",
    name,
    description,
  };
}
