/**
 * Whether the clients are installed, which have a package.json of their own.
 */

import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

const installed = existsSync(fileURLToPath(new URL("node_modules", import.meta.url)));

/** Why the tests of the clients cannot run here, or false. */
export const skip: string | false = !installed && "needs npm ci --prefix test/clients";
