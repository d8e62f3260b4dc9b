/**
 * The widget's texts. English is at hand, others are loaded where a page needs them.
 *
 * @module
 */

/** What each text is called: `text-send="Go"` replaces one. */
export const textNames = [
  "write",
  "send",
  "stop",
  "failed",
  "offline",
  "again",
  "reload",
  "fresh",
  "close",
  "expand",
  "edit",
  "long",
  "you",
  "person",
  "waiting",
  "spent",
  "allow",
  "deny",
] as const;

export type TextName = (typeof textNames)[number];

/** In the order of the names. */
const english =
  "Write a message|Send|Stop|That did not work.|You are offline.|Try again|Please reload the page.|New conversation|Close|Enlarge|Edit|Too long:|You|Talk to a person|A person will answer here.|That is all for today.|Allow|Not now";

const sameAs: Readonly<Record<string, string>> = { nb: "no", nn: "no", iw: "he", in: "id" };

/** Those that are not English, once they are loaded. */
let others: Readonly<Record<string, string>> | undefined;

/** Whether the texts of a language are at hand. */
export function hasTexts(tag: string): boolean {
  return others !== undefined || codeOf(tag) === "en";
}

/** Resolves once the texts of a language are at hand. If they cannot be had, English stands for them. */
export async function loadTexts(tag: string): Promise<void> {
  if (hasTexts(tag)) return;
  const loaded = await import("./languages.ts").catch(() => undefined);
  others ??= loaded?.languages ?? {};
}

/** The texts of a language, by its BCP 47 tag. English stands for those that are not known. */
export function textsOf(tag: string): Record<TextName, string> {
  const code = codeOf(tag);
  const texts = (others?.[sameAs[code] ?? code] ?? english).split("|");
  return Object.fromEntries(textNames.map((name, at) => [name, texts[at] ?? ""])) as Record<TextName, string>;
}

function codeOf(tag: string): string {
  return tag.toLowerCase().split("-")[0] ?? "";
}

/** Which way a language is written. */
export function directionOf(tag: string): "rtl" | "ltr" {
  return /^(ar|fa|he|iw|ur)\b/i.test(tag) ? "rtl" : "ltr";
}
