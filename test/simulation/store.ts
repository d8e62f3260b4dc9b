/**
 * The simulation's store: what it keeps survives every crash, but calls from a process are late, get lost, or take
 * effect without an answer.
 */

import { type Store, StoreUnavailable } from "../../core/store/mod.ts";
import type { Ledger } from "./ledger.ts";
import { createSimulatedSignals } from "./signals.ts";
import type { World } from "./world.ts";

/** How unreliable a store is. */
export interface StoreWeather {
  /** Whether one process at a time uses it. */
  readonly exclusive: boolean;
  /** Whether processes send each other signals. */
  readonly signals: boolean;
  /** Probability that a call fails: half of the failures come after it took effect. */
  readonly failure: number;
  /** Probability that a call takes long. */
  readonly delay: number;
}

/** A process, as far as its connection matters. */
export interface Connected {
  readonly alive: () => boolean;
  /** Until when it stands still, and hears of nothing. */
  readonly frozenUntil: () => number;
  /** Until when it is cut off from the store. */
  readonly cutOffUntil: () => number;
}

/** A call that takes longer than this counts as trouble, in milliseconds. */
const longCallMs = 200;

export class SimulatedStore {
  readonly #world: World;
  readonly #ledger: Ledger;
  readonly #weather: StoreWeather;
  readonly #signals: ReturnType<typeof createSimulatedSignals> | undefined;
  #calm = false;

  constructor(world: World, ledger: Ledger, weather: StoreWeather) {
    this.#world = world;
    this.#ledger = ledger;
    this.#weather = weather;
    this.#signals = weather.signals ? createSimulatedSignals(world) : undefined;
  }

  /** The store as one process sees it. Calls of a dead process may still arrive; no answer does. */
  connect(process: Connected): Store {
    const { exclusive } = this.#weather;
    const signals = this.#signals?.connect(process);
    const { truth } = this.#ledger;
    return new Proxy<Store>(
      { ...truth, ...this.#ledger.effectsOf(process.alive) },
      {
        get: (store, name: keyof Store) => {
          if (name === "exclusive") return exclusive;
          if (name === "signals") return signals;
          const method = store[name];
          if (typeof method !== "function") return method;
          return (...args: unknown[]) =>
            this.#call(name, process, () => Reflect.apply(method, undefined, args));
        },
      },
    );
  }

  /** From now on nothing fails and nothing is late. */
  calm(): void {
    this.#calm = true;
  }

  #latency(): number {
    const { random } = this.#world;
    if (this.#calm || random.chance(0.4)) return 0;
    if (random.chance(this.#weather.delay)) return random.between(longCallMs, 4_000);
    return random.between(1, 40);
  }

  async #call(name: string, process: Connected, act: () => Promise<unknown>): Promise<unknown> {
    const { failure, exclusive } = this.#weather;
    const { alive, frozenUntil, cutOffUntil } = process;
    const [there, back] = [this.#latency(), this.#latency()];
    const fate = this.#calm ? 1 : this.#world.random.next();
    const failsBefore = fate < failure / 2 || this.#world.now() < cutOffUntil();
    const failsAfter = !failsBefore && fate < failure;
    // Noted when a call begins: one that is on its way for long keeps things waiting before it arrives.
    if (failsBefore || failsAfter || there + back > longCallMs)
      this.#ledger.noteTrouble(this.#world.now() + there + back);
    if (there > 0) await this.#world.pause(there);
    // With a file, calls die with their process; a database server may still receive them.
    if (!alive() && (exclusive || this.#world.random.chance(0.5))) return new Promise(() => {});
    const result = failsBefore ? undefined : await act();
    const fateOfCall = failsBefore ? "failed" : failsAfter ? "done, but failed" : "done";
    if (name !== "findKey") this.#world.trace(`store ${name} ${fateOfCall}`);
    const thaw = frozenUntil() - this.#world.now();
    if (back > 0 || thaw > 0) await this.#world.pause(Math.max(back, thaw));
    if (!alive()) return new Promise(() => {});
    if (failsBefore || failsAfter) throw new StoreUnavailable(`${name} failed by chance`);
    return result;
  }
}
