/**
 * Texts that stay as they are while the process runs: pages, scripts, descriptions. Clients may keep them, and get them
 * compressed.
 *
 * @module
 */

import type { RequestHeaders } from "../wire/request.ts";
import type { Result, StaticText } from "./route.ts";

/** A shorter text is not worth it: it fits into one packet. */
const leastCompressed = 1_000;

/** Its bytes, made once: all who read a text at once share them, so that nothing is held for a request. */
const plain = new WeakMap<StaticText, Uint8Array<ArrayBuffer>>();

/** Compressed once, when a client first asks for that. */
const compressed = new WeakMap<StaticText, Promise<Uint8Array<ArrayBuffer>>>();

/** The text as the client takes it, or that what the client has is still right. `vary`: what else it was chosen by. */
export async function answerStatic(
  text: StaticText,
  request: RequestHeaders,
  vary: readonly string[] = [],
): Promise<Result> {
  const { content, headers: own } = text;
  const hasForms = content.length >= leastCompressed;
  const isCompressed = hasForms && takesGzip(request.get("Accept-Encoding"));
  // Each form has an ETag of its own, as it has other bytes.
  const etag = isCompressed ? own.ETag?.replace(/"$/, '-gzip"') : own.ETag;
  const varies = [...vary, ...(hasForms ? ["Accept-Encoding"] : [])].join(", ");
  const headers = {
    ...own,
    ...(etag !== undefined && { ETag: etag }),
    ...(varies !== "" && { Vary: varies }),
  };
  const known = request.get("If-None-Match");
  if (etag !== undefined && (known?.includes(etag) || known === "*")) return { status: 304, headers };
  const bytes = plain.get(text) ?? new TextEncoder().encode(content);
  plain.set(text, bytes);
  if (!isCompressed) return { document: bytes, headers };
  const made = compressed.get(text) ?? compress(bytes);
  compressed.set(text, made);
  return { document: await made, headers: { ...headers, "Content-Encoding": "gzip" } };
}

async function compress(bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>> {
  const stream = new Blob([bytes]).stream().pipeThrough(new CompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/**
 * Whether a client takes gzip, at least as gladly as the text itself (RFC 9110, section 12.5.3). Not Brotli, which browsers
 * take over TLS alone: it would save a seventh more, and no web standard makes it.
 */
function takesGzip(acceptEncoding: string | null): boolean {
  if (typeof CompressionStream === "undefined") return false; // Bun before 1.3
  const weights = new Map<string, number>();
  for (const part of acceptEncoding?.toLowerCase().split(",") ?? []) {
    const [coding = "", ...parameters] = part.split(";").map((word) => word.trim());
    const weight = parameters.find((parameter) => parameter.startsWith("q="))?.slice(2) ?? "1";
    weights.set(coding, /^[01](\.\d{0,3})?$/.test(weight) ? Number(weight) : 0);
  }
  const gzip = weights.get("gzip") ?? weights.get("x-gzip") ?? weights.get("*") ?? 0;
  return gzip > 0 && gzip >= (weights.get("identity") ?? 0);
}
