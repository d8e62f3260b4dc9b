/**
 * The simulation's processes: services that start, crash, shut down and start again on one store.
 */

import { createTwinReader } from "../../adapters/twin-text/mod.ts";
import { createService, createTwinList, type Service } from "../../core/mod.ts";
import { newTwin, unlimited } from "../support/harness.ts";
import { type EngineHouse, theTwin } from "./engine.ts";
import type { Ledger } from "./ledger.ts";
import type { SimulatedStore } from "./store.ts";
import type { World } from "./world.ts";

export const leaseMs = 6_000;
export const maxReplyMs = 20_000;

/** How long a reply whose lease ran out may stay in progress, in milliseconds. */
const noticeMs = 5_000;

/** How much longer after a store outage, which gives living holders time to renew first. */
const settlingMs = 10_000;

export interface ProcessOptions {
  readonly exclusive: boolean;
  readonly onDisconnect: "continue" | "cancel";
  /** Probability that a process is disturbed in a second. */
  readonly disturbance: number;
}

/** What a process is made of besides its own state. */
export interface Surroundings {
  readonly world: World;
  readonly ledger: Ledger;
  readonly store: SimulatedStore;
  readonly engines: EngineHouse;
  readonly options: ProcessOptions;
}

export class Process {
  readonly service: Service;
  /** Whether it has not been killed. */
  readonly alive = (): boolean => this.#alive;
  /** Until when it stands still, as a process whose machine sleeps. */
  readonly frozenUntil = (): number => this.#frozenUntil;
  /** Until when it cannot reach the store. */
  readonly cutOffUntil = (): number => this.#cutOffUntil;
  /** How many of its timers are pending. */
  readonly pendingTimers: () => number;
  /** Resolves when it is killed. */
  readonly died: Promise<void>;
  /** When it had first checked the store. */
  readyAt: number | undefined;
  closing = false;
  readonly #world: World;
  readonly #ledger: Ledger;
  #alive = true;
  #die = () => {};
  #frozenUntil = 0;
  #cutOffUntil = 0;

  constructor({ world, ledger, store, engines, options }: Surroundings) {
    const { random } = world;
    this.#world = world;
    this.#ledger = ledger;
    this.died = new Promise((resolve) => {
      this.#die = resolve;
    });
    const clock = world.clockOf(this.alive, this.frozenUntil);
    this.pendingTimers = clock.pending;
    this.service = createService({
      store: store.connect(this),
      twins,
      engines: { chance: engines.engineOf(this) },
      limiter: unlimited,
      log(level, message) {
        if (level === "warn" || level === "error") world.trace(`log ${message}`);
      },
      verifyToken: async () => "owner",
      ownTwins: { reader },
      clock,
      random(bytes) {
        for (let index = 0; index < bytes.length; index++) bytes[index] = random.between(0, 255);
        return bytes;
      },
      leaseMs,
      maxReplyMs,
      onDisconnect: options.onDisconnect,
    });
  }

  /** Resolves once it does not stand still. */
  async awake(): Promise<void> {
    while (this.#frozenUntil > this.#world.now()) {
      await this.#world.pause(this.#frozenUntil - this.#world.now());
    }
  }

  kill(): void {
    this.#alive = false;
    this.#die();
  }

  freeze(milliseconds: number): void {
    this.#frozenUntil = this.#world.now() + milliseconds;
    this.#ledger.noteTrouble(this.#frozenUntil);
    this.#world.trace(`a process stands still for ${milliseconds} ms`);
  }

  cutOff(milliseconds: number): void {
    this.#cutOffUntil = this.#world.now() + milliseconds;
    this.#ledger.noteTrouble(this.#cutOffUntil);
    this.#world.trace(`a process is cut off for ${milliseconds} ms`);
  }
}

/** What it says of texts is not judged here, and takes turns of the machine. */
const reader = { ...createTwinReader(), faultsOf: async () => [] };

const twins = createTwinList([newTwin({ id: theTwin, engine: "chance" })]);

export class Processes {
  readonly #surroundings: Surroundings;
  readonly #world: World;
  readonly #ledger: Ledger;
  readonly #options: ProcessOptions;
  readonly #slots: (Process | undefined)[];
  /** Whether a process was ever killed or shut down. */
  disturbed = false;
  #calm = false;
  #started = 0;
  #lives: Promise<unknown> = Promise.resolve();

  constructor(surroundings: Surroundings) {
    const { world, ledger, options } = surroundings;
    this.#surroundings = surroundings;
    this.#world = world;
    this.#ledger = ledger;
    this.#options = options;
    this.#slots = Array(options.exclusive ? 1 : world.random.between(2, 3)).fill(undefined);
  }

  /** A process to talk to. Undefined: none is up. */
  any(): Process | undefined {
    const up = this.all();
    return up[this.#world.random.between(0, up.length - 1)];
  }

  /** All that are up. */
  all(): Process[] {
    return this.#slots.filter((process) => process !== undefined).filter((process) => process.alive());
  }

  /** Lets processes come and go from now on. */
  live(): void {
    this.#lives = Promise.all(this.#slots.map((_, slot) => this.#keep(slot)));
    this.#lives.catch(() => {}); // settle() rejects with it; the world reports a rule broken before that
  }

  /** No more crashes: one process stays, or is started. */
  async settle(): Promise<Process> {
    this.#calm = true;
    await this.#lives;
    const process = this.#slots.find((found) => found?.alive() && !found.closing) ?? this.#start();
    while (process.readyAt === undefined) await this.#world.pause(100);
    return process;
  }

  /** A reply whose lease ran out must have been noticed in time. */
  check(): void {
    const readyAt = this.#slots
      .filter((process) => process?.alive() && !process.closing)
      .map((process) => process?.readyAt ?? Number.POSITIVE_INFINITY);
    const since = Math.max(this.#ledger.lastTrouble + settlingMs, Math.min(...readyAt));
    for (const { id, leaseUntil } of this.#ledger.busy) {
      if (this.#world.now() > Math.max(leaseUntil, since) + noticeMs) {
        this.#world.violate(`${id} is in progress, but nobody holds it`);
      }
    }
  }

  #start(): Process {
    const process = new Process(this.#surroundings);
    this.#world.trace(`process ${++this.#started} starts`);
    void this.#becomeReady(process);
    return process;
  }

  async #becomeReady(process: Process): Promise<void> {
    const startedAt = this.#world.now();
    while (process.alive() && process.readyAt === undefined) {
      try {
        await Promise.race([process.service.ready(), process.died]);
        if (!process.alive()) return;
        process.readyAt = this.#world.now();
        // One that is told to stop meanwhile leaves them to the next.
        if (this.#options.exclusive && !process.closing) this.#requireNoOrphans(process, startedAt);
      } catch {
        await this.#world.pause(100); // the store was unavailable; a server would exit, or try again
      }
    }
  }

  #requireNoOrphans(process: Process, before: number): void {
    for (const reply of this.#ledger.busy) {
      if (reply.begunAt < before && reply.holder !== process.alive)
        this.#world.violate(`the orphan ${reply.id} outlived the start of its store's owner`);
    }
  }

  #requireNothingLeft(process: Process): void {
    for (const { id, holder, question, yielded } of this.#ledger.busy) {
      // A process need not end a reply whose beginning it was never told of.
      const produced = this.#surroundings.engines.runs.some(
        (run) => run.content === question.content && run.alive === process.alive,
      );
      const isItsOwn = holder === process.alive && !yielded; // what it has yielded, another ends
      if (isItsOwn && produced) this.#world.violate(`${id} was left in progress by a shutdown`);
    }
  }

  async #shutDown(process: Process): Promise<void> {
    const world = this.#world;
    process.closing = true;
    const closingAt = world.now();
    world.trace("a process shuts down");
    const graceMs = world.random.pick([0, 500, 5_000]);
    await Promise.race([process.service.close({ graceMs }), process.died]);
    world.trace("a process has shut down");
    if (process.alive() && this.#ledger.lastTrouble < closingAt) this.#requireNothingLeft(process);
    await world.pause(100); // lets its last answers go out
    process.kill();
  }

  async #disturb(slot: number, process: Process): Promise<void> {
    const { random } = this.#world;
    this.disturbed = true;
    const dice = random.next();
    if (dice < 0.2) return process.freeze(random.between(100, 3 * leaseMs));
    if (dice < 0.4) return process.cutOff(random.between(100, 3 * leaseMs));
    if (dice < 0.7) {
      this.#world.trace("a process is killed");
      process.kill();
    } else {
      await this.#shutDown(process);
    }
    await this.#world.pause(random.between(0, 3_000));
    this.#slots[slot] = this.#start();
  }

  async #keep(slot: number): Promise<void> {
    const { random } = this.#world;
    this.#slots[slot] = this.#start();
    while (!this.#calm) {
      await this.#world.pause(random.between(100, 1_900));
      const process = this.#slots[slot];
      if (process && !this.#calm && random.chance(this.#options.disturbance))
        await this.#disturb(slot, process);
    }
  }
}
