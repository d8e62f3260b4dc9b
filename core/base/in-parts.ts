/**
 * Work on long texts in parts, with others in between: all at once, 20 MiB would hold the thread for a quarter of a second.
 *
 * @module
 */

/** The length of a part, in bytes or UTF-16 code units. */
const partLength = 1024 * 1024;

/** Lets what else waits for the thread have its turn. */
export function yieldThread(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve));
}

/** The text that bytes are, by a decoder that has decoded nothing before. Throws as it does. */
export async function decodeInParts(bytes: Uint8Array, decoder: TextDecoder): Promise<string> {
  let text = "";
  for (let at = 0; at < bytes.length; at += partLength) {
    if (at > 0) await yieldThread();
    text += decoder.decode(bytes.subarray(at, at + partLength), { stream: true });
  }
  return text + decoder.decode();
}

/** A well-formed text in UTF-8. */
export async function encodeInParts(text: string): Promise<Uint8Array> {
  const encoder = new TextEncoder();
  const parts: Uint8Array[] = [];
  for (let at = 0; at < text.length; ) {
    if (at > 0) await yieldThread();
    // Not within a pair.
    const end = at + partLength - (/[\ud800-\udbff]/.test(text.charAt(at + partLength - 1)) ? 1 : 0);
    parts.push(encoder.encode(text.slice(at, end)));
    at = end;
  }
  const bytes = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    if (at > 0) await yieldThread();
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}

/** Whether bytes are the same. */
export async function areEqualInParts(one: Uint8Array, other: Uint8Array): Promise<boolean> {
  if (one.length !== other.length) return false;
  for (let at = 0; at < one.length; at++) {
    if (at > 0 && at % partLength === 0) await yieldThread();
    if (one[at] !== other[at]) return false;
  }
  return true;
}
