/**
 * What the servers of Deno and Bun have in common: they hand over a web `Request` and take a web `Response`.
 *
 * @module
 */

import { toResponse } from "../core/answer.ts";
import { ApiError } from "../core/errors.ts";
import type { Service } from "../core/service.ts";

/** How many header fields a request may have. */
const maxHeaderFields = 100;

/** How long the last answers have to reach their readers once the service is closed, in milliseconds. */
const lastAnswersMs = 5_000;

/** Refuses a request for its header section, which the service itself does not count. Undefined: it is fine. */
export function refuseHeaders(service: Service, headers: Headers): Response | undefined {
  let fields = 0;
  for (const _ of headers) fields++;
  if (fields <= maxHeaderFields) return undefined;
  const error = new ApiError("headers_too_large", `There are more than ${maxHeaderFields} header fields.`);
  return toResponse(service.refuse(error));
}

/** The address of a server, such as `http://127.0.0.1:8787`. */
export function urlOf(host: string, port: number): string {
  return `http://${host.includes(":") ? `[${host}]` : host}:${port}`;
}

/** Resolves once the runtime has sent its last answers, or they have had their time. */
export async function lastAnswers(sent: Promise<void>): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, lastAnswersMs);
  });
  await Promise.race([sent, late]);
  clearTimeout(timer);
}
