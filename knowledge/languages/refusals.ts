/**
 * What a twin says, in each language, where a text must not be told.
 *
 * @module
 */

import { type IndexedTwin, languageOfTwin } from "../search/index.ts";

const refusals: Readonly<Record<string, string>> = {
  en: "I can't talk about that.",
  de: "Darüber kann ich nicht sprechen.",
  nl: "Daar kan ik niet over praten.",
  sv: "Det kan jag inte prata om.",
  da: "Det kan jeg ikke tale om.",
  no: "Det kan jeg ikke snakke om.",
  fr: "Je ne peux pas parler de cela.",
  es: "No puedo hablar de eso.",
  it: "Non posso parlarne.",
  pt: "Não posso falar sobre isso.",
  ro: "Nu pot vorbi despre asta.",
  ru: "Я не могу об этом говорить.",
  uk: "Я не можу про це говорити.",
  bg: "Не мога да говоря за това.",
  pl: "Nie mogę o tym rozmawiać.",
  cs: "O tom nemohu mluvit.",
  ar: "لا يمكنني التحدث عن ذلك.",
  el: "Δεν μπορώ να μιλήσω γι' αυτό.",
  he: "אי אפשר לדבר כאן על זה.",
  fa: "نمی‌توانم درباره‌ی آن صحبت کنم.",
  tr: "Bu konuda konuşamam.",
  fi: "En voi puhua siitä.",
  hu: "Erről nem beszélhetek.",
  ja: "それについてはお話しできません。",
  zh: "我不能谈论这个话题。",
  ko: "그 주제에 대해서는 말씀드릴 수 없습니다.",
  hi: "इस बारे में बात नहीं की जा सकती।",
  th: "ไม่สามารถพูดถึงเรื่องนั้นได้",
  vi: "Tôi không thể nói về điều đó.",
  id: "Saya tidak bisa membicarakan itu.",
};

/**
 * A sentence in the twin's language that says that it does not talk about something.
 *
 * @example
 * ```ts
 * import { refusalOf } from "twin-service/knowledge";
 *
 * refusalOf({ name: "Ada", instructions: "", language: "de" }); // "Darüber kann ich nicht sprechen."
 * ```
 */
export function refusalOf(twin: IndexedTwin): string {
  return refusals[languageOfTwin(twin).code] ?? refusals.en ?? "";
}
