/**
 * The parameters that both ways to ask have in common.
 *
 * @module
 */

import { isJsonObject, isString, type JsonObject } from "../base/json.ts";
import type { Call, CallerReach, HandlerContext } from "../http/route.ts";
import type { Twin } from "../twins/twins.ts";
import { twinNotFound } from "../wire/errors.ts";
import { endUserPattern } from "../wire/schemas.ts";
import { refuseParam } from "./errors.ts";

/** A twin, whether the reply is streamed, and the person who talks, if the client says so. */
export interface CommonParameters {
  readonly model: string;
  readonly stream: boolean;
  /** Checked where it counts. */
  readonly user: unknown;
}

/** The body as an object. */
export function requireBody(value: unknown): JsonObject {
  return isJsonObject(value) ? value : refuseParam("body", "must be a JSON object");
}

/** @throws {ApiError} `validation_error` for what a twin cannot do. */
export function readCommonParameters(body: JsonObject): CommonParameters {
  const { model, stream, tool_choice: toolChoice } = body;
  if (!isString(model) || model === "") return refuseParam("model", "is required: the id of a twin");
  if (toolChoice === "required" || isJsonObject(toolChoice)) {
    return refuseParam("tool_choice", 'must be "auto" or "none"; twins call no tools');
  }
  const isStreamed = readBoolean(stream, "stream");
  return { model, stream: isStreamed, user: body.safety_identifier ?? body.user ?? undefined };
}

/** The twin that a model stands for. One that the caller may not use does not exist. */
export async function requireTwin(
  { owner, reach: { twinIds } }: Pick<Call, "owner" | "reach">,
  { twins }: HandlerContext,
  id: string,
): Promise<Twin> {
  const twin = !twinIds || twinIds.includes(id) ? await twins.get(owner, id) : undefined;
  return twin ?? twinNotFound();
}

/** A boolean; absent and null are false. */
export function readBoolean(value: unknown, path: string): boolean {
  if (value === undefined || value === null) return false;
  return typeof value === "boolean" ? value : refuseParam(path, "must be true or false");
}

/** The reach of a request: that of its credential, narrowed to the end user whom a key's request names. */
export function reachOf({ reach, headers }: Call, { user }: CommonParameters): CallerReach {
  if (reach.endUser !== undefined) return reach;
  const endUser = headers.endUser ?? user;
  if (endUser === undefined) return reach;
  const isName =
    isString(endUser) && [...endUser].length <= 128 && endUser !== "" && endUserName.test(endUser);
  if (isName) return { ...reach, endUser };
  return refuseParam("user", "must be 1 to 128 characters, neither . nor .., without control characters");
}

const endUserName = new RegExp(endUserPattern, "u");
