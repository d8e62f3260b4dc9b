/**
 * The scenarios of the official conformance suite that apply to a door with tools of its own, and no prompts and resources.
 */

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { createMcpApi } from "../../adapters/mcp-clients/mod.ts";
import { collectOutput, limitedTime, surroundings } from "../support/child-process.ts";
import { openFixture, overSocket } from "../support/harness.ts";
import { runtime } from "../support/runtime.ts";

const suite = fileURLToPath(
  new URL("node_modules/@modelcontextprotocol/conformance/dist/index.js", import.meta.url),
);
const skip =
  (!existsSync(suite) && "needs npm ci --prefix test/clients") ||
  ((runtime !== "node" || Number.parseInt(process.versions.node, 10) < 22) && "needs Node 22");

describe("official MCP conformance", { skip, timeout: 120_000 }, () => {
  for (const scenario of ["server-initialize", "ping", "tools-list", "dns-rebinding-protection"]) {
    test(scenario, async () => {
      await using fixture = await openFixture(overSocket, {
        authenticate: () => ({ owner: "alice" }), // the suite sends no key
        mcpApi: createMcpApi({ loopbackOrigins: true }),
      });
      const child = spawn(
        process.execPath,
        [suite, "server", "--url", `${fixture.url}/mcp`, "--scenario", scenario],
        { env: surroundings, stdio: ["ignore", "pipe", "pipe"], ...limitedTime },
      );
      const { code, stdout, stderr } = await collectOutput(child).ended;
      assert.equal(code, 0, stdout + stderr);
      assert.match(stdout, /Passed: (\d)\/\1, 0 failed, 0 warnings/);
    });
  }
});
