/**
 * Where tokens come from when they are not all available at once: the same for every contender.
 *
 * @module
 */

import { tokenAt, tokens } from "./reply.ts";

/** A stream that is being fed. */
export interface Fed {
  token(text: string): void;
  end(): void;
}

/** Feeds streams until they have had all tokens, or leave. */
export interface Feeder {
  add(fed: Fed): void;
  remove(fed: Fed): void;
}

/**
 * A model that works in batches: each step gives one token to each stream. Steps follow one another as fast as
 * the event loop turns. A reply has `length` tokens.
 */
export function createStepper(length: number = tokens.length): Feeder {
  const places = new Map<Fed, number>();

  function step(): void {
    for (const [fed, place] of places) {
      if (place === length) {
        places.delete(fed);
        fed.end();
      } else {
        places.set(fed, place + 1);
        fed.token(tokenAt(place));
      }
    }
    if (places.size > 0) setImmediate(step);
  }

  return {
    add(fed) {
      if (places.size === 0) setImmediate(step);
      places.set(fed, 0);
    },
    remove: (fed) => void places.delete(fed),
  };
}

const tickMs = 5;
const gapMs = 50;

/** A feeder that waits to be started. */
export interface Pacer extends Feeder {
  /** Begins to feed. Called when all streams are open: otherwise the first would slow down the opening of the rest. */
  start(): void;
  stop(): void;
}

/**
 * 20 tokens a second for each stream, without end; the streams' turns are spread over 50 ms. Each token
 * ends with a space and contains no other, so that tokens that arrive together can be counted.
 */
export function createPacer(nextToken: () => string = () => "token "): Pacer {
  const slots = Array.from({ length: gapMs / tickMs }, () => new Set<Fed>());
  let added = 0;
  let ticks = 0;
  let startedAt = 0;
  let timer: ReturnType<typeof setInterval> | undefined;

  function tick(): void {
    const due = Math.floor((performance.now() - startedAt) / tickMs);
    for (; ticks < due; ticks++) {
      for (const fed of slots[ticks % slots.length] ?? []) fed.token(nextToken());
    }
  }

  return {
    add: (fed) => void slots[added++ % slots.length]?.add(fed),
    remove(fed) {
      for (const slot of slots) slot.delete(fed);
    },
    start() {
      if (timer !== undefined) return;
      startedAt = performance.now();
      ticks = 0;
      timer = setInterval(tick, tickMs);
    },
    stop() {
      clearInterval(timer);
      timer = undefined;
    },
  };
}
