/**
 * A reader of twins' texts that is loaded when it is first needed.
 *
 * @module
 */

import type { TwinReader } from "./reader.ts";

/** A reader that `open` makes at its first use, once. */
export function loadedReader(open: () => Promise<TwinReader>): TwinReader {
  let loaded: Promise<TwinReader> | undefined;
  function load(): Promise<TwinReader> {
    loaded ??= open();
    return loaded;
  }
  return {
    read: async (...given) => (await load()).read(...given),
    faultsOf: async (...given) => (await load()).faultsOf(...given),
    readDocument: async (...given) => (await load()).readDocument(...given),
    ask: async (...given) => (await load()).ask(...given),
    answer: async (...given) => (await load()).answer(...given),
    teach: async (...given) => (await load()).teach(...given),
  };
}
