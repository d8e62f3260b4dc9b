/**
 * Prints how well the knowledge engine finds what it is asked for, and what a large twin takes: `npm run knowledge`, on the
 * project's own smoke test. With `-- --show` it lists the questions that went wrong. With `-- --xquad <folder>` it measures
 * XQuAD instead: the reported half of the articles, or with `--tuning` the other one. `--fit <folder>` prints the coefficients
 * of the certainty, fitted on the tuning half and on further questions.
 */

import { parseArgs } from "node:util";
import { measureBounds } from "./bounds.ts";
import { fitCertainty } from "./fit.ts";
import { halves, type Measured, measureKnowledge, type Verdict } from "./measured-set.ts";
import { printXquad } from "./xquad.ts";

const { values: options } = parseArgs({
  options: {
    show: { type: "boolean" },
    xquad: { type: "string" },
    tuning: { type: "boolean" },
    fit: { type: "string" },
  },
});
if (options.xquad !== undefined) {
  if (options.fit === undefined) await printXquad(options.xquad, options.tuning ? "tuning" : "reported");
  else await fitCertainty(options.xquad, options.fit);
  process.exit();
}

const measured = await measureKnowledge();
for (const half of halves) {
  const ofHalf = measured.filter((one) => one.half === half);
  const languages = [...new Set(ofHalf.map(({ language }) => language))];
  console.log(`\n${half === "held" ? "Held out" : "Used for tuning"}: ${ofHalf.length} questions`);
  console.log("      right  wrong  not found | unanswerable: refused  answered");
  for (const language of languages)
    console.log(
      row(
        language,
        ofHalf.filter((one) => one.language === language),
      ),
    );
  console.log(row("all", ofHalf));
}

const { text, indexing, kept, question, slowQuestion, revision } = await measureBounds();
console.log(`
${megabytes(text)} of text: ${(indexing / 1000).toFixed(1)} s to index, ${megabytes(kept)} kept; ${question.toFixed(1)} ms a question, p95 ${slowQuestion.toFixed(1)} ms; ${revision.toFixed(0)} ms for the revision`);

if (options.show) {
  for (const { half, language, question, verdict, note } of measured) {
    if (half === "tuning" && (verdict === "wrong" || verdict === "refused wrongly"))
      console.log(`\n${language} ${verdict}: ${question}\n  ${note.replaceAll("\n", "\n  ")}`);
  }
}

function megabytes(bytes: number): string {
  return `${Math.round(bytes / 1_000_000)} MB`;
}

/** Shares of the answerable questions, and of those without an answer in the text. */
function row(name: string, of: readonly Measured[]): string {
  const unanswerable = of.filter((one) => !one.answerable);
  const answerable = of.filter((one) => one.answerable);
  const shares = [
    share(answerable, "right"),
    share(answerable, "wrong"),
    share(answerable, "refused wrongly"),
    share(unanswerable, "refused"),
    share(unanswerable, "wrong"),
  ];
  const [right = "", wrong = "", lost = "", refused = "", answered = ""] = shares.map((text) =>
    text.padStart(5),
  );
  return `${name.padEnd(5)} ${right}  ${wrong}  ${lost}     |               ${refused}    ${answered}`;
}

function share(of: readonly Measured[], wanted: Verdict): string {
  const count = of.filter(({ verdict }) => verdict === wanted).length;
  return `${Math.round((100 * count) / of.length)} %`;
}
