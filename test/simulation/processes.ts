/**
 * The simulation's processes: services that start, crash, shut down and start again on one store.
 */

import { createService, createTwinList, type Service } from "../../core/mod.ts";
import { newTwin, unlimited } from "../support/harness.ts";
import type { EngineHouse } from "./engine.ts";
import type { SimulatedStore } from "./store.ts";
import type { World } from "./world.ts";

export const leaseMs = 6_000;
export const maxReplyMs = 20_000;

/** How long a reply whose lease ran out may stay in progress, in milliseconds. */
const noticeMs = 5_000;

/** How much longer after a store outage, which gives living holders time to renew first. */
const settlingMs = 10_000;

export interface Process {
  readonly service: Service;
  /** Whether it has not been killed. */
  readonly alive: () => boolean;
  /** Resolves when it is killed. */
  readonly died: Promise<void>;
  /** When it had first checked the store. */
  readyAt: number | undefined;
  closing: boolean;
  /** Resolves once it does not stand still. */
  awake(): Promise<void>;
  /** How many of its timers are pending. */
  readonly pendingTimers: () => number;
  kill(): void;
  /** Stands still for a while, as a process whose machine sleeps. */
  freeze(milliseconds: number): void;
  /** Cannot reach the store for a while. */
  cutOff(milliseconds: number): void;
}

export interface Processes {
  /** A process to talk to. Undefined: none is up. */
  any(): Process | undefined;
  /** Lets processes come and go from now on. */
  live(): void;
  /** No more crashes: one process stays, or is started. */
  settle(): Promise<Process>;
  /** Whether a process was ever killed or shut down. */
  readonly disturbed: boolean;
  /** A reply whose lease ran out must have been noticed in time. */
  check(): void;
}

export interface ProcessOptions {
  readonly exclusive: boolean;
  readonly onDisconnect: "continue" | "cancel";
  /** Probability that a process is disturbed in a second. */
  readonly disturbance: number;
}

export function createProcesses(
  world: World,
  store: SimulatedStore,
  engines: EngineHouse,
  options: ProcessOptions,
): Processes {
  const { random } = world;
  const slots: (Process | undefined)[] = Array(options.exclusive ? 1 : random.between(2, 3)).fill(undefined);
  const twins = createTwinList([newTwin({ id: "twin", engine: "chance" })]);
  let disturbed = false;
  let calm = false;
  let started = 0;
  let lives: Promise<unknown> = Promise.resolve();

  function start(): Process {
    let living = true;
    let die = () => {};
    let [frozenUntil, cutOffUntil] = [0, 0];
    const alive = () => living;
    const connected = { alive, frozenUntil: () => frozenUntil, cutOffUntil: () => cutOffUntil };
    const clock = world.clockOf(alive, connected.frozenUntil);
    const service = createService({
      store: store.connect(connected),
      twins,
      engines: { chance: engines.engineOf(connected) },
      limiter: unlimited,
      log(level, message) {
        if (level === "warn" || level === "error") world.trace(`log ${message}`);
      },
      verifyToken: async () => "nobody",
      clock,
      random(bytes) {
        for (let index = 0; index < bytes.length; index++) bytes[index] = random.between(0, 255);
        return bytes;
      },
      leaseMs,
      maxReplyMs,
      onDisconnect: options.onDisconnect,
    });
    const process: Process = {
      service,
      alive,
      died: new Promise((resolve) => {
        die = resolve;
      }),
      readyAt: undefined,
      closing: false,
      async awake() {
        while (frozenUntil > world.now()) await world.pause(frozenUntil - world.now());
      },
      pendingTimers: () => clock.pending,
      kill() {
        living = false;
        die();
      },
      freeze(milliseconds) {
        frozenUntil = world.now() + milliseconds;
        store.noteTrouble(frozenUntil);
        world.trace(`a process stands still for ${milliseconds} ms`);
      },
      cutOff(milliseconds) {
        cutOffUntil = world.now() + milliseconds;
        store.noteTrouble(cutOffUntil);
        world.trace(`a process is cut off for ${milliseconds} ms`);
      },
    };
    world.trace(`process ${++started} starts`);
    void becomeReady(process);
    return process;
  }

  async function becomeReady(process: Process): Promise<void> {
    const startedAt = world.now();
    while (process.alive() && process.readyAt === undefined) {
      try {
        await Promise.race([process.service.ready(), process.died]);
        if (!process.alive()) return;
        process.readyAt = world.now();
        // One that is told to stop meanwhile leaves them to the next.
        if (options.exclusive && !process.closing) requireNoOrphans(process, startedAt);
      } catch {
        await world.pause(100); // the store was unavailable; a server would exit, or try again
      }
    }
  }

  function requireNoOrphans(process: Process, before: number): void {
    for (const reply of store.busy) {
      if (reply.begunAt < before && reply.holder !== process.alive)
        world.violate(`the orphan ${reply.id} outlived the start of its store's owner`);
    }
  }

  function requireNothingLeft(process: Process): void {
    for (const { id, holder, question } of store.busy) {
      // A process need not end a reply whose beginning it was never told of.
      const produced = engines.runs.some(
        (run) => run.content === question.content && run.alive === process.alive,
      );
      if (holder === process.alive && produced) world.violate(`${id} was left in progress by a shutdown`);
    }
  }

  async function shutDown(process: Process): Promise<void> {
    process.closing = true;
    const closingAt = world.now();
    world.trace("a process shuts down");
    await Promise.race([process.service.close({ graceMs: random.pick([0, 500, 5_000]) }), process.died]);
    world.trace("a process has shut down");
    if (process.alive() && store.lastTrouble < closingAt) requireNothingLeft(process);
    await world.pause(100); // lets its last answers go out
    process.kill();
  }

  async function disturb(slot: number, process: Process): Promise<void> {
    disturbed = true;
    const dice = random.next();
    if (dice < 0.2) return process.freeze(random.between(100, 3 * leaseMs));
    if (dice < 0.4) return process.cutOff(random.between(100, 3 * leaseMs));
    if (dice < 0.7) {
      world.trace("a process is killed");
      process.kill();
    } else {
      await shutDown(process);
    }
    await world.pause(random.between(0, 3_000));
    slots[slot] = start();
  }

  async function keep(slot: number): Promise<void> {
    slots[slot] = start();
    while (!calm) {
      await world.pause(random.between(100, 1_900));
      const process = slots[slot];
      if (process && !calm && random.chance(options.disturbance)) await disturb(slot, process);
    }
  }

  return {
    any() {
      const up = slots.filter((process) => process?.alive());
      return up[random.between(0, up.length - 1)];
    },
    live() {
      lives = Promise.all(slots.map((_, slot) => keep(slot)));
      lives.catch(() => {}); // settle() rejects with it; the world reports a rule broken before that
    },
    async settle() {
      calm = true;
      await lives;
      const process = slots.find((found) => found?.alive() && !found.closing) ?? start();
      while (process.readyAt === undefined) await world.pause(100);
      return process;
    },
    get disturbed() {
      return disturbed;
    },
    check() {
      const readyAt = slots
        .filter((process) => process?.alive() && !process.closing)
        .map((process) => process?.readyAt ?? Number.POSITIVE_INFINITY);
      const since = Math.max(store.lastTrouble + settlingMs, Math.min(...readyAt));
      for (const { id, leaseUntil } of store.busy) {
        if (world.now() > Math.max(leaseUntil, since) + noticeMs) {
          world.violate(`${id} is in progress, but nobody holds it`);
        }
      }
    },
  };
}
