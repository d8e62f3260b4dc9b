/**
 * Lints the OpenAPI documents with the recommended rules of Redocly and of Spectral, of which a warning fails, too. Run as
 * `npm run test:openapi`, after `npm ci --prefix test/openapi`.
 */

import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createOpenAIApi } from "../../adapters/openai-clients/mod.ts";
import { noLog } from "../../core/base/log.ts";
import { createService, createTwinList } from "../../core/mod.ts";

const here = fileURLToPath(new URL(".", import.meta.url));
const documents = {
  "api.json": await read("/api/v1/openapi.json"),
  "openai.json": await read("/v1/openapi.json"),
};

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
    for (const [name, document] of Object.entries(documents)) lint(name, document, folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
} else {
  console.log("The OpenAPI documents are not linted: npm ci --prefix test/openapi installs the linters.");
}

async function read(path: string): Promise<unknown> {
  const verifyToken = async () => "alice";
  const service = createService({
    twins: createTwinList([]),
    openaiApi: createOpenAIApi(),
    verifyToken,
    log: noLog,
  });
  return (await service.fetch(new Request(`http://twins.test${path}`))).json();
}

function lint(name: string, document: unknown, folder: string): void {
  const file = join(folder, name);
  writeFileSync(file, JSON.stringify(document));
  for (const { name: linter, args, quiet, isClean } of linters) {
    const program = join(here, "node_modules/.bin", linter);
    const env = { ...process.env, ...quiet };
    const { status, stdout, stderr } = spawnSync(program, args(file), { encoding: "utf8", env });
    const output = `${stdout}${stderr}`;
    const isGood = status === 0 && isClean(output);
    console.log(isGood ? `${linter}: ${name} has no warning` : output);
    if (!isGood) process.exitCode = 1;
  }
}
