/**
 * Tokens that say when they were sent, so that whoever receives one knows how long it was under way.
 *
 * @module
 */

import process from "node:process";

/** Whole microseconds of the machine's monotonic clock, which all processes share. */
export function microseconds(): number {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1e6 + Math.floor(nanoseconds / 1000);
}

/** A token: its number in its stream and the time, both in base 36, as in `~1k:mexq3f `. No JSON escapes any of it. */
export function tokenOf(number: number, now: number): string {
  return `~${number.toString(36)}:${now.toString(36)} `;
}

const mark = "~".charCodeAt(0);
const end = " ".charCodeAt(0);

/** Finds the tokens in a stream's bytes, whatever surrounds them. */
export interface TokenReader {
  /** Calls back for each token that is complete: its number, and when it was sent. */
  read(bytes: Buffer): void;
}

/** Creates the reader of one stream. */
export function createTokenReader(onToken: (number: number, sentAt: number) => void): TokenReader {
  /** The beginning of a token, without its mark, whose end has not come yet. */
  let begun: string | undefined;

  return {
    read(bytes) {
      let at = begun === undefined ? bytes.indexOf(mark) : -1;
      while (at !== -1 || begun !== undefined) {
        const to = bytes.indexOf(end, at + 1);
        const text: string = (begun ?? "") + bytes.toString("latin1", at + 1, to === -1 ? bytes.length : to);
        begun = to === -1 ? text : undefined;
        if (to === -1) return;
        const [number = "", time = ""] = text.split(":");
        onToken(Number.parseInt(number, 36), Number.parseInt(time, 36));
        at = bytes.indexOf(mark, to);
      }
    },
  };
}
