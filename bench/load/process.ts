/**
 * The load generator, in a process of its own: it takes orders from the benchmark over IPC, one at a time.
 *
 * @module
 */

import process from "node:process";
import { messageOf } from "../command-line/errors.ts";
import { close, drain, open, watch } from "./live.ts";
import { addTarget, repeat } from "./repeat.ts";
import { askAll } from "./replies.ts";
import type { Target } from "./requests.ts";

/** What the load generator is told to do. */
export type LoadOrder =
  | { readonly order: "target"; readonly target: Target }
  | {
      readonly order: "repeat";
      readonly name: string;
      readonly connections: number;
      readonly seconds: number;
    }
  | {
      readonly order: "open";
      readonly group: string;
      readonly port: number;
      readonly requests: readonly string[];
    }
  | { readonly order: "watch"; readonly group: string; readonly seconds: number }
  | { readonly order: "drain"; readonly group: string }
  | { readonly order: "close"; readonly group: string }
  | {
      readonly order: "ask";
      readonly port: number;
      readonly requests: readonly string[];
      readonly atOnce: number;
    };

async function obey(order: LoadOrder): Promise<unknown> {
  switch (order.order) {
    case "target":
      return addTarget(order.target);
    case "repeat":
      return repeat(order.name, order.connections, order.seconds);
    case "open":
      return open(order.group, order.port, order.requests);
    case "watch":
      return watch(order.group, order.seconds);
    case "drain":
      return drain(order.group);
    case "close":
      return close(order.group);
    case "ask":
      return askAll(order.port, order.requests, order.atOnce);
  }
}

process.on("disconnect", () => process.exit(0));
process.on("message", (order: LoadOrder) => {
  obey(order).then(
    (report) => process.send?.({ report: report ?? null }),
    (error: unknown) => process.send?.({ error: messageOf(error) }),
  );
});
