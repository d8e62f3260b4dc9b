/**
 * The simulation's signals between processes: late, lost, or delivered twice.
 */

import type { SignalTopic, StoreSignals } from "../../core/store/mod.ts";
import type { Connected } from "./store.ts";
import type { World } from "./world.ts";

interface Listener {
  readonly topic: SignalTopic;
  readonly process: Pick<Connected, "alive" | "frozenUntil">;
  readonly heard: (subject: string) => void;
}

/** Makes the connection between processes: `connect` gives one process its end. */
export function createSimulatedSignals(world: World): {
  connect(process: Listener["process"]): StoreSignals;
} {
  const { random } = world;
  const listeners = new Set<Listener>();

  async function deliver(listener: Listener, subject: string): Promise<void> {
    const { alive, frozenUntil } = listener.process;
    await world.pause(random.between(0, 50) + Math.max(0, frozenUntil() - world.now()));
    if (!alive() || !listeners.has(listener)) return;
    world.trace(`signal ${listener.topic}`);
    listener.heard(subject);
  }

  return {
    connect: (process) => ({
      notify(topic, subject) {
        if (!process.alive()) return;
        for (const listener of listeners) {
          if (listener.topic !== topic || random.chance(0.1)) continue;
          void deliver(listener, subject);
          if (random.chance(0.05)) void deliver(listener, subject);
        }
      },
      listen(topic, heard) {
        const listener = { topic, process, heard };
        listeners.add(listener);
        return () => {
          listeners.delete(listener);
        };
      },
    }),
  };
}
