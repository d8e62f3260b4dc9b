/**
 * The runtime that the tests run on, and its own way to serve.
 */

import { serve as serveOnNode } from "../../adapters/servers/node/mod.ts";

/** Bun and Deno have `process.versions.node`, too, so they are checked for first. */
export const runtime = "Bun" in globalThis ? "bun" : "Deno" in globalThis ? "deno" : "node";

/** The running runtime's own adapter. The others' cannot run here. */
export const serve: typeof serveOnNode =
  runtime === "bun"
    ? (await import("../../adapters/servers/bun.ts")).serve
    : runtime === "deno"
      ? (await import("../../adapters/servers/deno.ts")).serve
      : serveOnNode;
