/**
 * Lints the OpenAPI document with the recommended rules of Redocly and of Spectral, of which a warning fails, too; and
 * makes clients of it with generators of others, which have to compile. Run as `npm run test:openapi`, after
 * `npm ci --prefix test/openapi`.
 */

import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createWebhooks } from "../../adapters/webhooks/mod.ts";
import { noLog } from "../../core/base/log.ts";
import { createService, createTwinList } from "../../mod.ts";

const here = fileURLToPath(new URL(".", import.meta.url));

/** Each linter's command, and what tells it to send nothing about its use. */
const linters = [
  {
    program: "redocly",
    args: ["lint", "--extends=recommended", "--format=stylish", "openapi.json"],
    quiet: { REDOCLY_TELEMETRY: "off", REDOCLY_SUPPRESS_UPDATE_NOTICE: "true" },
    isClean: (output: string) => !/^You have \d+ warning/m.test(output), // which end it with 0
  },
  {
    program: "spectral",
    args: ["lint", "--fail-severity=hint", "-r", join(here, "spectral.json"), "openapi.json"],
    quiet: { SCARF_ANALYTICS: "false" },
    // A linter that does not know the version says that no rule applies, and ends with 0, too.
    isClean: (output: string) => !output.includes("unrecognized-format"),
  },
];

/** Each generator's command, and the client that it writes. */
const generators = [
  { program: "openapi-typescript", args: ["openapi.json", "-o", "types.ts"], client: "types.ts" },
  {
    program: "openapi-ts",
    args: ["-i", "openapi.json", "-o", "hey-api", "-c", "@hey-api/client-fetch", "--no-log-file"],
    client: "hey-api/sdk.gen.ts",
  },
  {
    program: "orval",
    args: ["--input", "openapi.json", "--output", "orval.ts", "--client", "fetch"],
    client: "orval.ts",
  },
];

/** The compiler's options for a client: those of a bundler's project, as strict as they get. */
const compiled =
  "--noEmit --strict --target ES2023 --module ESNext --moduleResolution Bundler --lib ES2023,DOM,DOM.Iterable --types node";

if (existsSync(join(here, "node_modules"))) {
  const folder = mkdtempSync(join(tmpdir(), "openapi-"));
  try {
    await check(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
} else {
  console.log("The OpenAPI document is not linted: npm ci --prefix test/openapi installs the linters.");
}

async function check(folder: string): Promise<void> {
  symlinkSync(join(here, "node_modules"), join(folder, "node_modules"));
  const verifyToken = async () => "alice";
  const all = { ownTwins: {}, webhooks: createWebhooks() };
  const service = createService({ twins: createTwinList([]), verifyToken, log: noLog, ...all });
  const answer = await service.fetch(new Request("http://twins.test/api/v1/openapi.json"));
  writeFileSync(join(folder, "openapi.json"), await answer.text());
  for (const { program, args, quiet, isClean } of linters) {
    run(folder, program, args, `${program}: no warning`, quiet, isClean);
  }
  for (const { program, args, client } of generators) {
    if (!run(folder, program, args)) continue;
    run(folder, "tsc", [...compiled.split(" "), client], `${program}: the client that it makes compiles`);
  }
}

/** Runs a program of these packages. Says that it went well, or what it has said. */
function run(
  folder: string,
  program: string,
  args: readonly string[],
  good?: string,
  quiet: Readonly<Record<string, string>> = {},
  isClean: (output: string) => boolean = () => true,
): boolean {
  const { status, stdout, stderr } = spawnSync(join(here, "node_modules/.bin", program), args, {
    cwd: folder,
    encoding: "utf8",
    env: { ...process.env, ...quiet },
  });
  const output = `${stdout}${stderr}`;
  const isGood = status === 0 && isClean(output);
  if (!isGood) {
    console.log(`${program}: ${output}`);
    process.exitCode = 1;
  } else if (good !== undefined) {
    console.log(good);
  }
  return isGood;
}
