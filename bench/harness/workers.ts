/**
 * The benchmark's own processes, which take orders over IPC, one at a time: the load generator and the scripted model.
 *
 * @module
 */

import { type ChildProcess, spawn } from "node:child_process";
import type { LoadOrder } from "../load/process.ts";
import type { ModelOrder } from "../model/server.ts";
import { builtFile } from "./build.ts";
import { onCore } from "./pinning.ts";

/** A process that takes orders. */
export interface Worker<Order> {
  order<Report = void>(order: Order): Promise<Report>;
  stop(): Promise<void>;
}

/** The load generator. */
export type Load = Worker<LoadOrder>;

/** The scripted model, and the address at which servers ask it. */
export type Model = Worker<ModelOrder> & { readonly port: number; readonly url: string };

/** Starts the load generator. */
export function startLoad(): Load {
  return workerOf(start("load/process.ts"), "The load generator");
}

/** Starts the model and waits until it listens. */
export async function startModel(): Promise<Model> {
  const child = start("model/server.ts");
  const { port } = await nextMessage<{ port: number }>(child, "The model");
  return { ...workerOf<ModelOrder>(child, "The model"), port, url: `http://127.0.0.1:${port}/v1` };
}

function start(file: string): ChildProcess {
  const [program, parameters] = onCore(1, [process.execPath, builtFile(file)]);
  return spawn(program, parameters, { stdio: ["ignore", "inherit", "inherit", "ipc"] });
}

function workerOf<Order extends object>(child: ChildProcess, name: string): Worker<Order> {
  return {
    async order<Report>(order: Order): Promise<Report> {
      if (!child.connected) throw new Error(`${name} has ended.`);
      child.send(order);
      const answer = await nextMessage<{ report: Report; error?: string }>(child, name);
      if (answer.error !== undefined) throw new Error(answer.error);
      return answer.report;
    },
    stop: () => stop(child),
  };
}

/** The next message from a process. Rejects if the process ends instead. */
function nextMessage<Message>(child: ChildProcess, name: string): Promise<Message> {
  return new Promise((resolve, reject) => {
    const exited = () => reject(new Error(`${name} ended unexpectedly.`));
    child.once("exit", exited);
    child.once("message", (message) => {
      child.off("exit", exited);
      resolve(message as Message);
    });
  });
}

function stop(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    if (child.exitCode !== null || child.signalCode !== null) return resolve();
    child.once("exit", () => resolve());
    if (child.connected) child.disconnect();
  });
}
