/**
 * The parameters that both ways to ask have in common.
 *
 * @module
 */

import { requireTwin } from "../../core/api/lookup.ts";
import { isJsonObject, isString, type JsonObject } from "../../core/base/json.ts";
import type { Call, CallerReach, HandlerContext } from "../../core/http/route.ts";
import type { ReplyFormat } from "../../core/twins/engine.ts";
import type { Twin } from "../../core/twins/twins.ts";
import { endUserRule } from "../../core/wire/schemas.ts";
import { refuseParam } from "./errors.ts";
import { endUserField } from "./header-names.ts";

/** The longest body of a request, in bytes: it may have a whole conversation. */
export const maxBodyBytes: number = 4 * 1024 * 1024;

/** What names the person who talks, and the parameter that it is in. */
interface NamedUser {
  readonly path: string;
  /** Undefined: none is named. */
  readonly value: unknown;
}

/** A form of a reply, and the parameter that it is in. */
interface NamedForm {
  readonly path: string;
  readonly format: ReplyFormat;
}

/** A twin, whether the reply is streamed, and the person who talks, if the client says so. */
export interface CommonParameters {
  readonly model: string;
  readonly stream: boolean;
  /** Unchecked, as a client token's or a header's wins. */
  readonly user: NamedUser;
  /** The form that the reply is to have. Undefined: text. */
  readonly form: NamedForm | undefined;
  /** All of the body. */
  readonly whole: JsonObject;
}

/** Whether a text can be an id of ours: opaque ASCII, not long. Databases refuse some of the others. */
export function isId(id: unknown): id is string {
  return isString(id) && /^[\x21-\x7e]{1,255}$/.test(id);
}

/** The body as an object. */
export function requireBody(value: unknown): JsonObject {
  return isJsonObject(value) ? value : refuseParam("body", "must be a JSON object");
}

/** @throws {ApiError} `validation_error` for what a twin cannot do. */
export function readCommonParameters(body: JsonObject): CommonParameters {
  const { model, stream, tool_choice: toolChoice } = body;
  if (!isString(model) || model === "") return refuseParam("model", "is required: the id of a twin");
  if (demandsTool(toolChoice)) {
    return refuseParam("tool_choice", 'must be "auto" or "none"; twins call no tools');
  }
  const { response_format: responseFormat, text, safety_identifier: safetyIdentifier } = body;
  const isSafe = safetyIdentifier !== undefined && safetyIdentifier !== null;
  const form =
    readForm(responseFormat, "response_format") ??
    (isJsonObject(text) ? readForm(text.format, "text.format") : undefined);
  const isStreamed = readBoolean(stream, "stream");
  const user = isSafe
    ? { path: "safety_identifier", value: safetyIdentifier }
    : { path: "user", value: body.user ?? undefined };
  return { model, stream: isStreamed, user, form, whole: body };
}

/** Completions have the mode of allowed tools in a member `allowed_tools`, responses beside them. */
function demandsTool(choice: unknown): boolean {
  if (!isJsonObject(choice)) return choice === "required";
  const { mode } = isJsonObject(choice.allowed_tools) ? choice.allowed_tools : choice;
  return choice.type !== "allowed_tools" || mode !== "auto";
}

/** Completions have what a schema comes with in a member `json_schema`, responses beside it. */
function readForm(form: unknown, path: string): NamedForm | undefined {
  if (form === undefined || form === null || (isJsonObject(form) && form.type === "text")) return undefined;
  if (isJsonObject(form) && form.type === "json_object") return { path, format: { type: "json_object" } };
  if (!isJsonObject(form) || form.type !== "json_schema") {
    return refuseParam(`${path}.type`, "must be text, json_object or json_schema");
  }
  const isInside = isJsonObject(form.json_schema);
  const given = isJsonObject(form.json_schema) ? form.json_schema : form;
  const place = isInside ? `${path}.json_schema` : path;
  const { name, description, schema, strict } = given;
  if (!isString(name) || !/^[\w-]{1,64}$/.test(name)) {
    return refuseParam(`${place}.name`, "must be 1 to 64 letters, digits, _ and -");
  }
  if (!isJsonObject(schema)) return refuseParam(`${place}.schema`, "must be a JSON Schema");
  if (description !== undefined && description !== null && !isString(description)) {
    return refuseParam(`${place}.description`, "must be a text");
  }
  const isStrict =
    strict === undefined || strict === null ? undefined : readBoolean(strict, `${place}.strict`);
  const format = {
    type: "json_schema",
    name,
    description: description ?? undefined,
    schema,
    strict: isStrict,
  } as const;
  return { path, format };
}

/**
 * The twin that a request asks, which replies in the form that the request names. Not before an equal request is looked for: the
 * twin may be another one since, or gone.
 *
 * @throws {ApiError} `twin_not_found`; `validation_error` if the twin's engine does not reply in that form.
 */
export async function requireAsked(
  { caller: { reach }, body: { model, form } }: Call<undefined, CommonParameters>,
  { twins, replies }: HandlerContext,
): Promise<Twin> {
  const twin = await requireTwin(twins, reach, model);
  const problem = form && (await replies.formatProblem(twin, form.format));
  return form && problem !== undefined ? refuseParam(form.path, problem) : twin;
}

/** A boolean; absent and null are as usual. */
export function readBoolean(value: unknown, path: string, usual = false): boolean {
  if (value === undefined || value === null) return usual;
  return typeof value === "boolean" ? value : refuseParam(path, "must be true or false");
}

/**
 * The reach of a request: that of its credential, narrowed to the end user whom a key's request names.
 *
 * @throws {ApiError} `validation_error` for what is no name of an end user.
 */
export function reachOf(
  { caller: { reach }, headers }: Call,
  { user }: Pick<CommonParameters, "user">,
): CallerReach {
  if (reach.endUser !== undefined) return reach;
  const field = endUserField(headers);
  const { path, value: endUser } = field ? { path: field.header, value: field.value } : user;
  if (endUser === undefined) return reach;
  if (isString(endUser) && endUserRule.accepts(endUser)) return { ...reach, endUser };
  return refuseParam(path, `must be ${endUserRule.expected}`);
}
