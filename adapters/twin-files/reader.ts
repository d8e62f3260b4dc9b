/**
 * The reader of twins that come in by HTTP, with all that a folder's documents may be.
 *
 * @module
 */

import type { TwinReader } from "../../core/twins/reader.ts";
import { extractText } from "../documents/mod.ts";
import { createTwinReader as createReader } from "../twin-text/mod.ts";

/**
 * Creates the reader of twins that owners make, which also reads Word and, where its package is installed, PDF, as from a folder:
 * in a thread of its own.
 *
 * @example
 * ```ts
 * import { createService } from "twin-service";
 * import { createTwinReader } from "twin-service/twin-files";
 *
 * const service = createService({ ...options, ownTwins: { reader: createTwinReader() } });
 * ```
 */
export function createTwinReader(): TwinReader {
  return createReader({ extractText });
}
