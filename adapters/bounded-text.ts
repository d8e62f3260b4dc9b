/**
 * Reads what other servers answer, which may have no end.
 *
 * @module
 */

/** The text of a response. Undefined: it has more bytes than `limit`, and is not read on. */
export async function readText(response: Response, limit: number): Promise<string | undefined> {
  const decoder = new TextDecoder();
  const reader = response.body?.getReader();
  const pieces: string[] = [];
  let length = 0;
  for (let piece = await reader?.read(); piece?.value; piece = await reader?.read()) {
    length += piece.value.length;
    if (length > limit) {
      void reader?.cancel().catch(() => undefined); // the connection is closed, whatever its server does
      return undefined;
    }
    pieces.push(decoder.decode(piece.value, { stream: true }));
  }
  return pieces.join("") + decoder.decode();
}
