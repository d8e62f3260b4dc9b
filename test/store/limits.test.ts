/**
 * Nobody reads all of a text by mistake: every method of a store that returns texts is told how many characters to read.
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Store } from "../../core/store/mod.ts";

/** What a promise, a list or a record has inside. */
type Inside<Value> =
  Value extends Promise<infer Result>
    ? Inside<Result>
    : Value extends readonly (infer Item)[]
      ? Inside<Item>
      : Value extends { readonly items: readonly (infer Item)[] }
        ? Inside<Item>
        : Value;

/** The members of records that are as long as people and models write them. */
type TextMember = "content" | "question";

type HasText<Value> = Value extends object
  ? Extract<keyof Value, TextMember> extends never
    ? never
    : true
  : never;

/** Whether one of the parameters is a limit in characters, or has one. */
type IsLimited<Parameters extends readonly unknown[]> = Parameters extends readonly [
  infer First,
  ...infer Rest,
]
  ? First extends { readonly characters: number } | { readonly charactersOfEach: number }
    ? true
    : IsLimited<Rest>
  : false;

type Method = (...parameters: never[]) => unknown;

/** The methods that return texts without a limit. */
type Unlimited<Methods> = {
  [Name in keyof Methods]-?: Methods[Name] extends Method
    ? [HasText<Inside<ReturnType<Methods[Name]>>>] extends [never]
      ? never
      : IsLimited<Parameters<Methods[Name]>> extends true
        ? never
        : Name
    : never;
}[keyof Methods];

interface Mistaken {
  readDraft(owner: string, limit: number): Promise<{ readonly content: string } | undefined>;
  listDrafts(owner: string): Promise<{ readonly items: readonly { readonly question: string }[] }>;
}

test("each method that returns texts has a limit in characters, as the compiler checks", () => {
  const unlimited: Record<Unlimited<Store>, never> = {}; // does not compile if there is one
  const mistaken: Record<Unlimited<Mistaken>, number> = { readDraft: 1, listDrafts: 2 };
  assert.deepEqual([unlimited, Object.keys(mistaken)], [{}, ["readDraft", "listDrafts"]]);
});
