/**
 * A text of which another has saved a version meanwhile.
 *
 * @module
 */

import { mergeTexts } from "./difference.ts";
import { showDifference } from "./difference-view.ts";

/** The text to go on with, and what is said of it. */
export interface Settled {
  readonly text: string;
  readonly words: string;
}

/**
 * Shows both texts, and has the person say which to go on with. None is lost. Undefined: the person goes on writing.
 * `base`: what both began with.
 */
export async function settleConflict(
  base: string,
  mine: string,
  theirs: string,
): Promise<Settled | undefined> {
  const both = mergeTexts(base, mine, theirs);
  const [joined, kept, taken] = ["Put both together", "Keep mine", "Take theirs"];
  const chosen = await showDifference({
    title: "Another version was saved meanwhile",
    text: "Their lines have a −, yours a +. Nothing is saved yet, and theirs stays among the versions.",
    before: theirs,
    after: mine,
    actions: [...(both === undefined ? [] : [joined]), kept, taken],
    close: "Go on writing",
  });
  if (chosen === kept) return { text: mine, words: "Yours is here. Saving puts it in place of theirs." };
  if (chosen === taken) return { text: theirs, words: "Theirs is here." };
  if (chosen === joined && both !== undefined)
    return { text: both, words: "Both are here: look at it, and save." };
  return undefined;
}
