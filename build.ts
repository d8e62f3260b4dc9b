/**
 * Builds `dist/`: JavaScript and type declarations of the library, and the server as a command.
 *
 * Run as `npm run build`.
 */

import { execFileSync } from "node:child_process";
import { chmodSync, readFileSync, rmSync, writeFileSync } from "node:fs";

rmSync("dist", { recursive: true, force: true });
execFileSync("node_modules/.bin/tsc", ["-p", "tsconfig.build.json"], { stdio: "inherit" });

// The command reads its version beside itself.
const { name, version, type } = JSON.parse(readFileSync("package.json", "utf8"));
writeFileSync("dist/package.json", `${JSON.stringify({ name, version, type }, null, 2)}\n`);

const server = "dist/server.js";
writeFileSync(server, `#!/usr/bin/env node\n${readFileSync(server, "utf8")}`);
chmodSync(server, 0o755);
