/**
 * What tests ask stores for that want all of a text.
 *
 * @module
 */

import { mostCharactersRead } from "../../core/store/records.ts";

/** All characters. */
export const whole: { readonly characters: number } = { characters: mostCharactersRead };

/** All characters of each text. */
export const wholeTexts: { readonly charactersOfEach: number } = { charactersOfEach: mostCharactersRead };
