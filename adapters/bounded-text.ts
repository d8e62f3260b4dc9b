/**
 * Reads what other servers answer, which may have no end, and may become far more as values than it is as text.
 *
 * @module
 */

import { yieldThread } from "../core/base/in-parts.ts";
import { measureJson } from "../core/base/json.ts";

/** What all answers that are being read hold together, in bytes: 32 MiB. */
const mostAtOnce = 33_554_432;

let heldBytes = 0;

/** Others' answers that are being read are too much together. */
export class TooMuchAtOnce extends Error {
  override readonly name = "TooMuchAtOnce";

  constructor() {
    super(`the answers of all servers have more than ${mostAtOnce} bytes together.`);
  }
}

/**
 * Says after which pieces of an answer others have their turn, as its server may send faster than it is read: after 32 KiB, of which
 * each piece counts 64 bytes more.
 */
export function createTurns(): (piece: Uint8Array) => boolean {
  let bytes = 0;
  return ({ length }) => {
    bytes += length + 64;
    if (bytes < 32_768) return false;
    bytes = 0;
    return true;
  };
}

/** What is held of one answer while it is read. */
export class HeldAnswer {
  #bytes = 0;

  /** Whether there is room for so many bytes more, which are then held. */
  add(bytes: number): boolean {
    this.#bytes += bytes;
    heldBytes += bytes;
    return heldBytes <= mostAtOnce;
  }

  /** Nothing is held any more, or all of it by another holder. */
  release(): void {
    heldBytes -= this.#bytes;
    this.#bytes = 0;
  }
}

/**
 * The text of a response. Undefined: it has more bytes than `limit`, and is not read on.
 *
 * @throws {TooMuchAtOnce}
 */
export async function readText(response: Response, limit: number): Promise<string | undefined> {
  const decoder = new TextDecoder();
  const reader = response.body?.getReader();
  const held = new HeldAnswer();
  const isTurnOver = createTurns();
  let [text, pieces]: [string, string[]] = ["", []];
  let length = 0;
  let isWhole = false;
  try {
    for (let piece = await reader?.read(); piece?.value; piece = await reader?.read()) {
      length += piece.value.length;
      if (length > limit) return undefined;
      if (!held.add(piece.value.length)) throw new TooMuchAtOnce();
      pieces.push(decoder.decode(piece.value, { stream: true }));
      if (!isTurnOver(piece.value)) continue;
      // Millions of pieces would be far more than their text.
      text += pieces.join("");
      pieces = [];
      await yieldThread();
    }
    isWhole = true;
    return text + pieces.join("") + decoder.decode();
  } finally {
    held.release();
    // The connection is closed, whatever its server does.
    if (!isWhole) void reader?.cancel().catch(() => undefined);
  }
}

/** How many values a text may have, unless it is said: empty objects take twenty times their text. */
const usualValues = 50_000;

/** The value of a JSON text. Undefined: it is none, was cut off, or has more values than `most`. */
export function parseBounded(text: string, most: number = usualValues): unknown {
  try {
    return hasTooMany(text, most) ? undefined : JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Whether a JSON text has more values than `most`. A short one cannot. */
export function hasTooMany(text: string, most: number = usualValues): boolean {
  return text.length > most && measureJson(text).values > most;
}
