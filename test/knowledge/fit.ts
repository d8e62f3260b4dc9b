/**
 * Fits the coefficients of the certainty (`knowledge/search/ranking.ts`): a logistic regression on the questions of XQuAD's
 * tuning half, and on those of a folder of further files.
 */

import { createKnowledgeIndex } from "../../knowledge/mod.ts";
import { coefficients, type Features } from "../../knowledge/search/ranking.ts";
import { type QuestionSet, readFurther, readXquad, toMarkdown } from "./question-sets.ts";

interface Example {
  readonly features: Features;
  readonly right: boolean;
  /** Questions of a set count together as much as those of another, and its foreign ones half as much. */
  readonly set: string;
  readonly weight: number;
}

/** Holds coefficients of rare features back. */
const regularization = 0.0005;

const names = Object.keys(coefficients).filter((name) => name !== "bias") as (keyof Features)[];

/** Prints the coefficients. */
export async function fitCertainty(xquad: string, further: string | undefined): Promise<void> {
  const examples: Example[] = [];
  for await (const set of readXquad(xquad, "tuning")) await collect(set, examples, 1);
  if (further !== undefined)
    for await (const set of readFurther(further, "tuning")) await collect(set, examples, 2.5);
  const counts = new Map<string, number>();
  for (const { set } of examples) counts.set(set, (counts.get(set) ?? 0) + 1);
  const weights = examples.map(({ set, weight }) => weight / (counts.get(set) ?? 1));
  console.log(fit(examples, weights));
}

async function collect({ name, twins }: QuestionSet, examples: Example[], weight: number): Promise<void> {
  for (const { sections, questions, foreign } of twins) {
    const index = await createKnowledgeIndex({ name: "Odd", instructions: toMarkdown(sections) });
    const ask = (question: string, heading: string | undefined, set: string) => {
      const [first] = index.find(index.read(question));
      const { features } = first ?? {};
      if (features) examples.push({ features, right: first?.passage.heading === heading, set, weight });
    };
    for (const question of questions) ask(question.ask, question.heading, name);
    for (const question of foreign) ask(question, undefined, `${name} foreign`);
  }
}

/** Descends the gradient of the logistic loss, on features of mean 0 and deviation 1. */
function fit(examples: readonly Example[], weights: readonly number[]): Record<string, number> {
  const columns = names.map((name) => examples.map(({ features }) => features[name]));
  const means = columns.map((column) => sum(column) / column.length);
  const deviations = columns.map(
    (column, at) =>
      Math.sqrt(sum(column.map((value) => (value - (means[at] ?? 0)) ** 2)) / column.length) || 1,
  );
  const rows = examples.map((_, row) =>
    columns.map((column, at) => ((column[row] ?? 0) - (means[at] ?? 0)) / (deviations[at] ?? 1)),
  );
  const slopes = names.map(() => 0);
  let bias = 0;
  const all = sum(weights);
  for (let step = 0; step < 1_500; step++) {
    const gradient = names.map(() => 0);
    let biasGradient = 0;
    for (const [row, values] of rows.entries()) {
      const score = bias + sum(values.map((value, at) => value * (slopes[at] ?? 0)));
      const error =
        ((1 / (1 + Math.exp(-score)) - (examples[row]?.right ? 1 : 0)) * (weights[row] ?? 0)) / all;
      for (let at = 0; at < values.length; at++)
        gradient[at] = (gradient[at] ?? 0) + error * (values[at] ?? 0);
      biasGradient += error;
    }
    for (let at = 0; at < slopes.length; at++)
      slopes[at] = (slopes[at] ?? 0) * (1 - regularization) - 3 * (gradient[at] ?? 0);
    bias -= 3 * biasGradient;
  }
  const fitted = names.map((name, at) => [name, (slopes[at] ?? 0) / (deviations[at] ?? 1)] as const);
  const shift = sum(fitted.map(([, slope], at) => slope * (means[at] ?? 0)));
  return Object.fromEntries(
    [["bias", bias - shift], ...fitted].map(([name, value]) => [name, Math.round(Number(value) * 100) / 100]),
  );
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
