/**
 * The address of an OpenAI-compatible API.
 *
 * @module
 */

/** The end of an address that is not that of the API, but of what it is asked for. */
export const endpointOfApi = /\/(?:(?:chat\/)?completions|embeddings|moderations|responses)\/*$/;

/**
 * The API's address without trailing slashes.
 *
 * @throws {TypeError} if it is not an HTTP address, may contain a secret, or has the end of a request's.
 */
export function requireBaseUrl(baseUrl: string): string {
  const url = URL.canParse(baseUrl) ? new URL(baseUrl) : undefined;
  if (!url || !/^https?:$/.test(url.protocol)) {
    throw new TypeError("The model's address must be an http or https URL.");
  }
  // It would be part of error messages and the log.
  if (url.username || url.password || url.search || url.hash) {
    throw new TypeError("The model's address must have no credentials, query or fragment.");
  }
  const [endpoint] = endpointOfApi.exec(url.pathname) ?? [];
  if (endpoint !== undefined) {
    throw new TypeError(`The model's address must end before ${endpoint}, which each request adds.`);
  }
  return url.href.replace(/\/+$/, "");
}
