/**
 * What is told of a tool's result.
 *
 * @module
 */

import { isJsonObject, isString, type JsonObject } from "../../core/base/json.ts";

/** Undefined: the result is not as the protocol has it. */
export function toldOf({ content = [], structuredContent }: JsonObject): string | undefined {
  if (!Array.isArray(content)) return undefined;
  if (content.length === 0 && structuredContent !== undefined) return JSON.stringify(structuredContent);
  const parts = content.map(partOf);
  return parts.every(isString) ? parts.join("\n") : undefined;
}

/** Texts are told, those of resources, too; what is no text is only named, as models of text can do nothing with it. */
function partOf(part: unknown): string | undefined {
  const {
    type,
    text,
    resource,
    uri,
    name,
    title = name,
    description,
  }: JsonObject = isJsonObject(part) ? part : {};
  switch (type) {
    case "text":
      return isString(text) ? text : undefined;
    case "resource":
      if (!isJsonObject(resource) || !isString(resource.uri)) return undefined;
      return isString(resource.text) ? `${resource.uri}\n${resource.text}` : `[${resource.uri}: not shown]`;
    case "resource_link":
      return isString(uri) && isString(name)
        ? [title, uri, description].filter(isString).join("\n")
        : undefined;
    case "image":
    case "audio":
      return `[${type}: not shown]`;
    default:
      return undefined;
  }
}
