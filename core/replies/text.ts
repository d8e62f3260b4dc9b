/**
 * The text of a growing reply: cheap to append to, and cheap to read from any offset.
 *
 * @module
 */

/**
 * JavaScript engines append to a string lazily and copy all of it at the next read, so one long string would
 * cost its whole length for each token. Here only the tail is appended to; full blocks are settled.
 */
const blockLength = 4096;

/** Text in UTF-16 code units. What is read is always well-formed: no half surrogate pair, no NUL. */
export class ReplyText {
  /** What was appended since the last read: a token costs only this, however many arrive at once. */
  #fresh = "";
  readonly #blocks: string[] = [];
  /** Where each block starts in the whole text. */
  readonly #starts: number[] = [];
  #tail = "";
  #tailStart = 0;

  /** Code units that can be read. */
  get length(): number {
    this.#settle();
    return this.#tailStart + this.#tail.length;
  }

  /** Appends text that may be split anywhere. */
  append(written: string): void {
    this.#fresh += written;
  }

  /** No more text comes: half a surrogate pair will not be completed. */
  end(): void {
    this.#add(storable(this.#fresh));
    this.#fresh = "";
  }

  /** The text between two offsets. Reading near the end costs only what is read. */
  slice(from: number, to: number): string {
    this.#settle();
    if (from >= this.#tailStart) return this.#tail.slice(from - this.#tailStart, to - this.#tailStart);
    let text = "";
    for (let index = this.#blockAt(from); index < this.#blocks.length && from < to; index++) {
      const block = this.#blocks[index] ?? "";
      const start = this.#starts[index] ?? 0;
      text += block.slice(from - start, to - start);
      from = start + block.length;
    }
    return from < to ? text + this.#tail.slice(0, to - this.#tailStart) : text;
  }

  toString(): string {
    this.#settle();
    return this.#blocks.join("") + this.#tail;
  }

  /** Makes what was appended readable, as stores can keep it. A high surrogate at its end waits for its other half. */
  #settle(): void {
    if (this.#fresh === "") return;
    const last = this.#fresh.length - 1;
    const half = isHighSurrogate(this.#fresh.charCodeAt(last)) ? this.#fresh.slice(last) : "";
    this.#add(storable(half === "" ? this.#fresh : this.#fresh.slice(0, last)));
    this.#fresh = half;
  }

  #add(text: string): void {
    this.#tail += text;
    if (this.#tail.length < blockLength) return;
    this.#blocks.push(this.#tail);
    this.#starts.push(this.#tailStart);
    this.#tailStart += this.#tail.length;
    this.#tail = "";
  }

  /** The block that holds an offset before the tail. */
  #blockAt(offset: number): number {
    let low = 0;
    let high = this.#starts.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((this.#starts[middle] ?? 0) <= offset) low = middle;
      else high = middle - 1;
    }
    return low;
  }
}

/** Whether an offset lies between the halves of a surrogate pair. */
export function splitsSurrogatePair(
  text: { slice(from: number, to: number): string },
  offset: number,
): boolean {
  return offset > 0 && isHighSurrogate(text.slice(offset - 1, offset).charCodeAt(0));
}

/** A code unit that opens a surrogate pair (NaN, for "no code unit", does not). */
function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff;
}

// No database stores lone surrogates, and PostgreSQL refuses NUL.
function storable(text: string): string {
  const wellFormed = text.toWellFormed();
  return wellFormed.includes("\0") ? wellFormed.replaceAll("\0", "\ufffd") : wellFormed;
}
