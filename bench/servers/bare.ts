/**
 * The bare server of Deno or Bun: a `Response` of a `ReadableStream`, an event for each token. It looks at neither
 * body nor credentials, and stores nothing.
 *
 * `/each` enqueues each token separately, `/joined` all of them as one chunk.
 */

import { announce, deltaEvent, tokens } from "./reply.ts";

interface Options {
  readonly hostname: string;
  readonly port: number;
}

/** The parts of the runtimes that are used here, so that this file type-checks without their own types. */
declare const Deno: {
  serve(
    options: Options & { onListen(): void },
    handler: (request: Request) => Response,
  ): { readonly addr: { readonly port: number } };
};
declare const Bun: {
  serve(options: Options & { readonly development: boolean; fetch(request: Request): Response }): {
    readonly port: number;
  };
};

const headers = { "Content-Type": "text/event-stream", "Cache-Control": "no-store" };
const encoder = new TextEncoder();

function answer({ url }: Request): Response {
  const joined = url.endsWith("/joined");
  const stream = new ReadableStream({
    start(controller) {
      if (joined) controller.enqueue(encoder.encode(tokens.map(deltaEvent).join("")));
      else for (const token of tokens) controller.enqueue(encoder.encode(deltaEvent(token)));
      controller.close();
    },
  });
  return new Response(stream, { headers });
}

const address = { hostname: "127.0.0.1", port: 0 };

if ("Deno" in globalThis) announce(Deno.serve({ ...address, onListen() {} }, answer).addr.port);
else announce(Bun.serve({ ...address, development: false, fetch: answer }).port);
