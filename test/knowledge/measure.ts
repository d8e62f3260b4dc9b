/**
 * Prints how well the knowledge engine finds what it is asked for, and what a large twin takes: `npm run knowledge`, on the
 * project's own smoke test. With `-- --show` it lists the questions that went wrong. With `-- --xquad <folder>` or `--questions
 * <folder>` it measures XQuAD or further sets instead: their reported half, or with `--tuning` the other one. `--embeddings <address
 * up to /v1>` finds sections by their meaning, too, with the model that `--model` names. `--fit <folder>`, beside `--xquad`, prints the
 * coefficients of the certainty, fitted on the tuning half and on further questions.
 */

import { parseArgs } from "node:util";
import { createEmbeddings } from "../../adapters/openai-models/embeddings.ts";
import { measureBounds } from "./bounds.ts";
import { fitCertainty } from "./fit.ts";
import { printSets } from "./measure-sets.ts";
import { halves, type Measured, measureKnowledge, type Verdict } from "./measured-set.ts";
import { readFurther, readXquad } from "./question-sets.ts";

const { values: options } = parseArgs({
  options: {
    show: { type: "boolean" },
    xquad: { type: "string" },
    questions: { type: "string" },
    tuning: { type: "boolean" },
    embeddings: { type: "string" },
    model: { type: "string", default: "default" },
    fit: { type: "string" },
  },
});
const { xquad, questions, embeddings: baseUrl, model, fit } = options;
if (xquad !== undefined && fit !== undefined) {
  await fitCertainty(xquad, fit);
  process.exit();
}
if (xquad !== undefined || questions !== undefined) {
  const half = options.tuning ? "tuning" : "reported";
  const embed = baseUrl === undefined ? undefined : createEmbeddings({ baseUrl, model });
  if (xquad !== undefined) await printSets(readXquad(xquad, half), embed);
  if (questions !== undefined) await printSets(readFurther(questions, half), embed);
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

const { text, indexing, block, kept, question, slowQuestion, revision } = await measureBounds();
console.log(`
${megabytes(text)} of text: ${(indexing / 1000).toFixed(1)} s to index, no longer than ${block.toFixed(0)} ms without a turn for others, ${megabytes(kept)} kept; ${question.toFixed(1)} ms a question, p95 ${slowQuestion.toFixed(1)} ms; ${revision.toFixed(0)} ms for the revision`);

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
