/**
 * Prints a JWT for creating API keys.
 *
 * @module
 */

import process from "node:process";
import type { CommandConfig } from "../command-line.ts";
import { addressOf, foreignSecret, isRefused, makeSecret, makeToken } from "../tokens.ts";

/** Prints the token, and warns where the server that runs here refuses it. */
export async function printToken({ settings, isNew, ...request }: CommandConfig<"token">): Promise<void> {
  const address = addressOf(settings);
  if (isNew) await makeSecret(settings, address);
  const token = await makeToken(settings, request);
  process.stdout.write(`${token}\n`);
  // A warning only, because the token may be meant for another server.
  if (await isRefused(address, token))
    process.stderr.write(`${foreignSecret(`The server at ${address}`).message}\n`);
}
