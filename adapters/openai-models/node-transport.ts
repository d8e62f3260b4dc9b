/**
 * Requests to a model on Node, over undici: through a proxy if the environment names one, and without the limits that
 * Node's `fetch` has for slow responses.
 *
 * @module
 */

import type { Duplex } from "node:stream";
import { createBrotliDecompress, createUnzip } from "node:zlib";
import { type Dispatcher, EnvHttpProxyAgent } from "undici";
import { createTurns } from "../bounded-text.ts";
import type { ModelListener, ModelTransport } from "./transport.ts";

/**
 * How long unused connections are kept, in milliseconds: shorter than firewalls remember them. Does not affect
 * connections in use.
 */
const keptMs = 30_000;
/** How long connecting may take, in milliseconds. */
const connectMs = 10_000;
/** How many early responses, such as 103, may come before the one that counts: a server may send them without end. */
const mostEarly = 20;

/**
 * Creates a {@link ModelTransport} for Node. Its unused connections do not keep the process alive.
 *
 * It goes through the proxies that the environment names at the time of the call: `HTTPS_PROXY` or `https_proxy` for
 * https addresses, `HTTP_PROXY` or `http_proxy` for http ones, except for the hosts in `NO_PROXY`.
 *
 * @example
 * ```ts
 * import { createOpenAIEngine } from "twin-service/openai";
 * import { createNodeTransport } from "twin-service/openai-node";
 *
 * const openai = createOpenAIEngine({
 *   baseUrl: "https://api.openai.com/v1",
 *   apiKey,
 *   model: "gpt-4.1-mini",
 *   transport: createNodeTransport(),
 * });
 * ```
 */
export function createNodeTransport(): ModelTransport {
  const dispatcher = new EnvHttpProxyAgent({
    proxyTunnel: false, // only https needs one, and many proxies refuse others
    connect: { timeout: connectMs },
    keepAliveTimeout: keptMs,
  });

  return (url, { method, headers, body }, listener) => {
    const { origin, pathname, search } = new URL(url);
    const response = new ResponseHandler(listener);
    const path = `${pathname}${search}`;
    const options = { origin, path, method, headers, body, headersTimeout: 0, bodyTimeout: 0 };
    // Not before returning: an address that cannot be used is reported at once.
    queueMicrotask(() => dispatcher.dispatch(options, response));
    return () => response.close();
  };
}

/** Passes a response on to a listener. */
class ResponseHandler implements Dispatcher.DispatchHandler {
  readonly #listener: ModelListener;
  #controller: Dispatcher.DispatchController | undefined;
  #decompressor: Duplex | undefined;
  readonly #isTurnOver = createTurns();
  #early = 0;
  /** Not where the response ends with its connection: for an end in a pause, undici before 8 throws where nobody can catch it. */
  #canPause = true;
  #closed = false;

  constructor(listener: ModelListener) {
    this.#listener = listener;
  }

  /** Closes the connection, or does not use it once it is made. */
  close(): void {
    this.#closed = true;
    this.#controller?.abort(new Error("The reply is over."));
    this.#decompressor?.destroy(); // what it has already may become a thousand times as much
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#closed) this.close();
  }

  onResponseStart(
    controller: Dispatcher.DispatchController,
    status: number,
    headers: Readonly<Record<string, string | string[] | undefined>>,
  ): void {
    if (status < 200) {
      if (++this.#early > mostEarly)
        controller.abort(new Error("The server sends early responses without end."));
      return;
    }
    this.#canPause = !endsWithConnection(headers);
    this.#decompressor = decompressorFor(toText(headers["content-encoding"]), this.#listener);
    this.#decompressor?.on("drain", () => controller.resume());
    this.#listener.begin(status, { get: (name) => toText(headers[name.toLowerCase()]) });
  }

  /** Takes a piece. Before the next one, others have their turn, and what is compressed is unpacked: a server sends faster. */
  onResponseData(controller: Dispatcher.DispatchController, bytes: Uint8Array): void {
    if (this.#decompressor) this.#decompressor.write(bytes);
    else this.#listener.read(bytes);
    if (!(this.#canPause && this.#isTurnOver(bytes)) && !this.#decompressor?.writableNeedDrain) return;
    controller.pause();
    setImmediate(() => {
      if (!this.#decompressor?.writableNeedDrain) controller.resume();
    });
  }

  onResponseEnd(): void {
    if (this.#decompressor) this.#decompressor.end();
    else this.#listener.end();
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    if (!this.#closed) this.#listener.fail(error);
  }
}

/** Some servers compress without being asked, which `fetch` undoes by itself. Undefined: this one does not. */
function decompressorFor(encoding: string | null, listener: ModelListener): Duplex | undefined {
  if (!/^(x-)?gzip$|^deflate$|^br$/.test(encoding ?? "")) return undefined;
  const decompressor = encoding === "br" ? createBrotliDecompress() : createUnzip();
  return decompressor
    .on("data", (bytes: Uint8Array) => listener.read(bytes))
    .on("end", () => listener.end())
    .on("error", (error) => listener.fail(error));
}

/** Whether a response ends with its connection (RFC 9112, sections 6.3 and 9.6). */
function endsWithConnection(headers: Readonly<Record<string, string | string[] | undefined>>): boolean {
  const isFramed = (headers["content-length"] ?? headers["transfer-encoding"]) !== undefined;
  return !isFramed || /\bclose\b/i.test(toText(headers.connection) ?? "");
}

function toText(value: string | string[] | undefined): string | null {
  return Array.isArray(value) ? value.join(", ") : (value ?? null);
}
