/**
 * Words as the knowledge engine compares them: folded, stemmed, and weighted by how much they say.
 *
 * The word lists and the stemmer are English. Text in other languages is compared by whole words, their beginnings and
 * their spelling.
 *
 * @module
 */

// Scripts that put no spaces between words: compared by pairs of characters.
const unspaced =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}]+/u;
const unspacedRuns = new RegExp(unspaced, "gu");

// Nobody asks for longer words, and fuzzy matching needs memory quadratic in their length.
const longestWord = 40;

// More marks on a letter than any script uses. Normalizing sorts them, in quadratic time. It also turns two letters
// into marks: the halfwidth signs of voiced sounds.
const heapedMarks = /([\p{M}\uff9e\uff9f]{8})[\p{M}\uff9e\uff9f]+/gu;

/** A text in lower case, without accents. */
function fold(text: string): string {
  return text
    .replace(heapedMarks, "$1")
    .normalize("NFKD")
    .replace(/\p{M}+/gu, "")
    .toLowerCase();
}

/**
 * A key that is equal for phrases with the same words, ignoring case, punctuation and a final "please". Signs that make
 * a different name are kept, as in C, C# and C++.
 */
export function phraseKey(text: string): string {
  const words = fold(text).match(/[\p{L}\p{N}]+[+#]*/gu) ?? [text.trim()];
  return words.join(" ").replace(/ please$/u, "");
}

/** A text's words in order: lower case, without accents. Words of more than 40 characters are cut there. */
export function wordsOf(text: string): string[] {
  const spaced = fold(text).replace(unspacedRuns, (run) => ` ${pairs([...run]).join(" ")} `);
  return (spaced.match(/[\p{L}\p{N}]+/gu) ?? []).map((word) => word.slice(0, longestWord));
}

function pairs(characters: readonly string[]): readonly string[] {
  if (characters.length < 2) return characters;
  return characters.slice(1).map((character, index) => `${characters[index]}${character}`);
}

/** A text's terms: the stems of its words, without stop words. */
export function termsOf(text: string): string[] {
  return wordsOf(text).flatMap((word) => (stopWords.has(word) || /^[a-z]$/u.test(word) ? [] : stem(word)));
}

/** Whether a term is a pair of characters from a script without spaces, which may not be a word. */
export function isPair(term: string): boolean {
  return unspaced.test(term);
}

/**
 * Whether a term helps to rank, but says too little for an answer to depend on: "best" in "what is the best water?",
 * and the endings of Japanese words.
 */
export function isWeak(term: string): boolean {
  return weakTerms.has(term) || /\p{Script=Hiragana}/u.test(term);
}

/** Removes English endings, so that "grinding", "grinds" and "grind" are one term. */
export function stem(word: string): string {
  if (word.length < 4 || !/^[a-z]+$/u.test(word)) return word;
  const singular = cutPlural(word);
  const cut = /^(.*[aeiouy].*)(?:ing|ed)$/u.exec(singular)?.[1];
  const base = cut !== undefined && cut.length > 2 ? repair(cut) : singular.replace(/(?<=.{3})ly$/u, "");
  return base.length > 4 ? base.replace(/e$/u, "").replace(/(?<=.{2})y$/u, "i") : base;
}

/** Undoes what "-ing" and "-ed" do to a word: "sett" is set, "cod" is code. */
function repair(cut: string): string {
  if (/([bdfgmnprt])\1$/u.test(cut)) return cut.slice(0, -1);
  return /^[^aeiou][aeiou][^aeiouwxy]$/u.test(cut) ? `${cut}e` : cut;
}

function cutPlural(word: string): string {
  if (/(?:ss|us|is)$/u.test(word)) return word;
  if (/(?:ss|x|z|ch|sh)es$/u.test(word)) return word.slice(0, -2);
  if (/.{2}ies$/u.test(word)) return `${word.slice(0, -3)}y`;
  return word.replace(/s$/u, "");
}

/** The words of a text that has nothing but white space between them. */
export function wordSet(words: string): ReadonlySet<string> {
  return new Set(words.trim().split(/\s+/u));
}

/** Stop words, which say nothing by themselves. Nor do single letters. */
const stopWords = wordSet(`
  about after again all also am an and any anybody anyone anything are aren as at be because been before
  being between both but by can cannot could couldn did didn do does doesn doing don done during each either
  else even ever every everything for from further had hadn has hasn have haven having he her here hers him
  his how if in into is isn it its itself just ll me might mine more most must my myself no nor not of off
  on once only or other our ours out over own re same shall she should shouldn so some somebody someone
  something such than that the their theirs them themselves then there these they this those through to too
  under until up us ve very was wasn we were weren what when where whether which while who whom whose why
  will with without won would wouldn yes yet you your yours yourself
  please tell know want wanna need like get got give let say said talk speak ask hi hello hey ok okay
  explain describe question answer curious wonder wondering possible possibly really actually maybe thanks
  thank cheers per much many lot lots bit kind sort thing things stuff way ways
`);

/** Stems of words that help to rank, but say too little for an answer to depend on. */
const weakTerms: ReadonlySet<string> = new Set(
  [
    ...wordSet(`
  able add advice affect allow always amount annoying apart appear available avoid away back bad become begin
  believe best better big bring call case cause certain change check choose come common compare consider
  contain correct create day decide deal depend detail determine difference different differ difficult direct
  discover early easy enough end exactly example exist expect experience fact famous far fast fastest favorite
  favourite feel few find fine first five fix follow four full general go going good great guess hand handle
  happen hard have help high hold home idea ideal important impossible improve include increase inside instead
  interested keep kindly know large last late later learn least leave left less level life little long longer
  look low made main make matter mean method minute moment move name near necessary never new next nice normal
  nothing now number often old one opinion order part particular people perfect perhaps person place point
  popular prefer problem proper purpose put quick quite rather read real reason recommend remember right
  roughly run same see seem send set short show simple simply since six small somewhere soon special start
  step still strong suggest suitable supposed sure take teach ten think thought three time tip today together
  told tomorrow top true try turn two type typical understand use used useful user using usual view wait watch
  week well went work worse worst worth wrong year
`),
  ].map(stem),
);
