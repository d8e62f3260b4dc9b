/**
 * A program that has a service tell receivers, one after the other, and prints what became of the first try of each. Its
 * environment says whom it trusts.
 */

import { createWebhooks } from "../../adapters/webhooks/mod.ts";
import { inProcess, openFixture } from "../support/harness.ts";
import { hook, say, untilNewest } from "./hooks.ts";

/** Whom to tell. */
export interface Addressee {
  readonly url: string;
  /** What its host resolves to. */
  readonly address: string;
}

/** What became of a try. */
export interface Outcome {
  readonly status: string;
  readonly lastStatus: number | null;
  /** As the log has it. */
  readonly problem?: unknown;
}

async function tell({ url, address }: Addressee): Promise<Outcome> {
  let problem: unknown;
  await using fixture = await openFixture(inProcess, {
    webhooks: createWebhooks({ hosts: [new URL(url).host], lookUp: async () => [address] }),
    log: (_level, _message, fields) => {
      problem ??= fields?.problem;
    },
  });
  const { id } = await hook(fixture, url);
  const key = await fixture.key();
  await say(fixture, key, await fixture.conversation(key), { role: "assistant" });
  const { status, lastStatus } = await untilNewest(
    fixture,
    id,
    ({ status, nextAttemptAt }) =>
      status !== "pending" || Date.parse(nextAttemptAt ?? "") > fixture.clock.now(),
  );
  return { status, lastStatus, problem };
}

const outcomes: Outcome[] = [];
for (const addressee of JSON.parse(process.argv[2] ?? "[]")) outcomes.push(await tell(addressee));
console.log(JSON.stringify(outcomes));
