/**
 * Lints the OpenAPI document with the recommended rules of Redocly and of Spectral, of which a warning fails, too. Run as
 * `npm run test:openapi`, after `npm ci --prefix test/openapi`.
 */

import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { noLog } from "../../core/base/log.ts";
import { createService, createTwinList } from "../../core/mod.ts";

const here = fileURLToPath(new URL(".", import.meta.url));

/** Each linter's command, and what tells it to send nothing about its use. */
const linters = [
  {
    name: "redocly",
    args: (file: string) => ["lint", "--extends=recommended", "--format=stylish", file],
    quiet: { REDOCLY_TELEMETRY: "off", REDOCLY_SUPPRESS_UPDATE_NOTICE: "true" },
    isClean: (output: string) => !/^You have \d+ warning/m.test(output), // which end it with 0
  },
  {
    name: "spectral",
    args: (file: string) => ["lint", "--fail-severity=hint", "--ruleset", join(here, "spectral.json"), file],
    quiet: { SCARF_ANALYTICS: "false" },
    isClean: () => true,
  },
];

if (existsSync(join(here, "node_modules"))) {
  const folder = mkdtempSync(join(tmpdir(), "openapi-"));
  try {
    lint(await readDocument(), folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
} else {
  console.log("The OpenAPI document is not linted: npm ci --prefix test/openapi installs the linters.");
}

async function readDocument(): Promise<unknown> {
  const verifyToken = async () => "alice";
  const service = createService({ twins: createTwinList([]), verifyToken, log: noLog });
  return (await service.fetch(new Request("http://twins.test/api/v1/openapi.json"))).json();
}

function lint(document: unknown, folder: string): void {
  const file = join(folder, "openapi.json");
  writeFileSync(file, JSON.stringify(document));
  for (const { name: linter, args, quiet, isClean } of linters) {
    const program = join(here, "node_modules/.bin", linter);
    const env = { ...process.env, ...quiet };
    const { status, stdout, stderr } = spawnSync(program, args(file), { encoding: "utf8", env });
    const output = `${stdout}${stderr}`;
    const isGood = status === 0 && isClean(output);
    console.log(isGood ? `${linter}: no warning` : output);
    if (!isGood) process.exitCode = 1;
  }
}
