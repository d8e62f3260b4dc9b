/**
 * The simulation's signals between processes: late, lost, or delivered twice.
 */

import type { SignalTopic, StoreSignals } from "../../core/mod.ts";
import type { World } from "./world.ts";

interface Listener {
  readonly topic: SignalTopic;
  readonly alive: () => boolean;
  readonly heard: (subject: string) => void;
}

/** Makes the connection between processes: `connect` gives one process its end. */
export function createSimulatedSignals(world: World): { connect(alive: () => boolean): StoreSignals } {
  const { random } = world;
  const listeners = new Set<Listener>();

  async function deliver(listener: Listener, subject: string): Promise<void> {
    await world.pause(random.between(0, 50));
    if (!listener.alive() || !listeners.has(listener)) return;
    world.trace(`signal ${listener.topic}`);
    listener.heard(subject);
  }

  return {
    connect: (alive) => ({
      notify(topic, subject) {
        if (!alive()) return;
        for (const listener of listeners) {
          if (listener.topic !== topic || random.chance(0.1)) continue;
          void deliver(listener, subject);
          if (random.chance(0.05)) void deliver(listener, subject);
        }
      },
      listen(topic, heard) {
        const listener = { topic, alive, heard };
        listeners.add(listener);
        return () => {
          listeners.delete(listener);
        };
      },
    }),
  };
}
