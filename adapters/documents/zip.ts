/**
 * The parts of a zip file, unpacked within limits.
 *
 * @module
 */

import { inflateRawSync } from "node:zlib";
import { DocumentError } from "./text.ts";

/** The most that the parts of a document may unpack to, in bytes. */
const mostUnpacked = 50_000_000;

/** Opens a zip file. The function that it returns unpacks the part of a name. Undefined: it has none. */
export function openZip(bytes: Uint8Array): (name: string) => Uint8Array | undefined {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const parts = listParts(view, bytes);
  let left = mostUnpacked;
  return (name) => {
    const part = parts.get(name.replace(/^\//u, "").toLowerCase());
    if (!part) return undefined;
    // The name and what else stands before the data may be of other lengths than in the directory.
    const begin = part.at + 30 + view.getUint16(part.at + 26, true) + view.getUint16(part.at + 28, true);
    const packed = bytes.subarray(begin, begin + part.packedSize);
    const unpacked = part.method === 0 ? packed : inflate(packed, left);
    left -= unpacked.length;
    if (left <= 0) tooLarge();
    return unpacked;
  };
}

function inflate(packed: Uint8Array, most: number): Uint8Array {
  try {
    return inflateRawSync(packed, { maxOutputLength: most });
  } catch (error) {
    if (error instanceof RangeError) tooLarge();
    throw error;
  }
}

function tooLarge(): never {
  throw new DocumentError("unpacks to more than 50 MB.");
}

interface Part {
  readonly method: number;
  readonly packedSize: number;
  /** Where its own header begins. */
  readonly at: number;
}

/** The parts of the directory, which is at the end, by name in lower case: Word does not tell cases apart. */
function listParts(view: DataView, bytes: Uint8Array): Map<string, Part> {
  const parts = new Map<string, Part>();
  let end = bytes.length - 22;
  while (view.getUint32(end, true) !== 0x06054b50) end--;
  let at = view.getUint32(end + 16, true);
  for (let left = view.getUint16(end + 10, true); left > 0; left--) {
    if (view.getUint32(at, true) !== 0x02014b50)
      throw new RangeError("The directory of a zip file is damaged.");
    const [nameLength, extra, comment] = [28, 30, 32].map((offset) => view.getUint16(at + offset, true));
    const name = new TextDecoder().decode(bytes.subarray(at + 46, at + 46 + (nameLength ?? 0)));
    parts.set(name.replaceAll("\\", "/").toLowerCase(), {
      method: view.getUint16(at + 10, true),
      packedSize: view.getUint32(at + 20, true),
      at: view.getUint32(at + 42, true),
    });
    at += 46 + (nameLength ?? 0) + (extra ?? 0) + (comment ?? 0);
  }
  return parts;
}
