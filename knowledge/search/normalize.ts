/**
 * Spellings of the same word in one form.
 *
 * What is the same differs from script to script: an accent on a Latin letter is often left out, but a mark on a Kana,
 * a vowel sign in Devanagari or a tone in Thai makes another letter. So there are two forms. The *normal* one differs
 * only in what no reader would call another word; it is what words are compared by. The *folded* one leaves out accents;
 * it is used only where nothing has the normal form.
 *
 * @module
 */

// More marks on a letter than any script uses. Normalizing sorts them, in quadratic time. It also turns two letters
// into marks: the halfwidth signs of voiced sounds.
const heapedMarks = /([\p{M}\uff9e\uff9f]{8})[\p{M}\uff9e\uff9f]+/gu;

// Hyphens and joiners that are not seen: soft hyphen, word joiner, zero-width (non-)joiner, byte order mark.
const invisible = "\\u00ad\\u200b-\\u200f\\u2060\\ufeff";
// Vowel signs, which Arabic and Hebrew usually leave out, with the hamza on a letter, and the stroke that stretches a word.
const pointing = "\\u0591-\\u05c7\\u0610-\\u061a\\u0640\\u064b-\\u065f\\u0670";
const nukta = "\\u093c";
const unwritten = new RegExp(`[${invisible}${pointing}${nukta}]`, "gu");

// Letters for which writers of one script use several characters.
const oneLetter: Readonly<Record<string, string>> = { ٱ: "ا", ى: "ي", ی: "ي", ک: "ك", ة: "ه", ё: "е" };
const manyWritten = new RegExp(`[${Object.keys(oneLetter).join("")}]`, "gu");

/** How long a decomposed text may be, in code units, and how many times as long as it was: one letter may become eighteen. */
const longestOfFew = 64;
const mostTimes = 4;

/** A text in lower case, in which each word has only one spelling that could be typed for it. */
export function normalize(text: string): string {
  if (!/[^\0-\x7f]/u.test(text)) return text.toLowerCase();
  return text
    .replace(heapedMarks, "$1")
    .normalize("NFKD")
    .slice(0, Math.max(longestOfFew, mostTimes * text.length))
    .toLowerCase()
    .replace(unwritten, "")
    .normalize("NFC")
    .replace(manyWritten, (letter) => oneLetter[letter] ?? letter);
}

const latinOrGreek = /[\p{Script=Latin}\p{Script=Greek}]/u;

const withoutAccent: Readonly<Record<string, string>> = {
  ß: "ss",
  æ: "ae",
  œ: "oe",
  ø: "o",
  ł: "l",
  đ: "d",
  ð: "d",
  þ: "th",
  ı: "i",
  ς: "σ",
};

/** A normal form without accents on Latin and Greek letters. Umlauts may be written as two letters: "ue". */
export function fold(normal: string): string {
  if (!latinOrGreek.test(normal)) return normal;
  return normal
    .normalize("NFD")
    .replace(/([\p{Script=Latin}\p{Script=Greek}])\p{M}+/gu, "$1")
    .replace(/[ßæœøłđðþıς]/gu, (letter) => withoutAccent[letter] ?? letter)
    .replace(/([aou])e/gu, "$1")
    .normalize("NFC");
}
