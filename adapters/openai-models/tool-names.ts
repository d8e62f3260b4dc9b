/**
 * The names under which models know tools.
 *
 * @module
 */

import type { Tool } from "../../core/twins/tools.ts";

/** A tool and its name for a model. */
export interface NamedTool {
  readonly tool: Tool;
  /** Letters, digits, `_` and `-`, at most 64. */
  readonly modelName: string;
}

/** Names tools so that a model's server accepts it, each differently. */
export function nameTools(tools: readonly Tool[]): NamedTool[] {
  const taken = new Set<string>();
  return tools.map((tool) => {
    const plain = plainName(tool.name) || "tool";
    let modelName = plain;
    for (let number = 2; taken.has(modelName); number++) modelName = `${plain.slice(0, 60)}_${number}`;
    taken.add(modelName);
    return { tool, modelName };
  });
}

/** A text as the name of a function. */
export function plainName(name: string): string {
  return name.replaceAll(/[^A-Za-z0-9_-]/g, "_").slice(0, 64);
}

/**
 * Finds the tool that a model means: its name as it was given, or as operators know it (`server/tool`), also with what templates
 * leave around it, such as `functions.` before, or `<|channel|>commentary`, `:0` and blanks behind. The tools are looked through
 * once: a model may say many names that are none.
 */
export function createToolFinder(tools: readonly NamedTool[]): (name: string) => NamedTool | undefined {
  const exact = new Map<string, NamedTool>();
  /** By letters. Undefined: several have them. */
  const alike = new Map<string, NamedTool | undefined>();
  let longest = 0;
  for (const named of tools) {
    const { modelName, tool } = named;
    for (const name of [modelName, tool.name]) {
      if (!exact.has(name)) exact.set(name, named);
      longest = Math.max(longest, name.length + longestAround);
    }
    const letters = lettersOf(modelName);
    alike.set(letters, alike.has(letters) ? undefined : named);
  }
  alike.delete("");
  return (name) => {
    if (name.length > longest) return undefined;
    const bare = (name.split("<|", 1)[0] ?? "").trim().replace(/:\d+$/, "");
    const candidates = [bare, bare.replace(/^[a-z_]+[.:]/i, "")];
    const [given, last] = candidates.map((each) => exact.get(each));
    return given ?? last ?? candidates.map((each) => alike.get(lettersOf(each))).find((found) => found);
  };
}

/** How much templates leave around a name at most, in UTF-16 code units. */
const longestAround = 100;

/** What is left where models put another mark between words, or none. */
function lettersOf(name: string): string {
  return name.toLowerCase().replaceAll(/[^a-z0-9]/g, "");
}
