/**
 * A device with a client, whose requests a test sees and breaks.
 */

import { type Message, type OpenConversation, TwinClient } from "../../client/mod.ts";
import type { Service } from "../../core/mod.ts";

/** What a device reaches, and as whom. */
interface DeviceOptions {
  readonly service: Pick<Service, "fetch">;
  readonly key: string;
}

/** A device that has the conversation of a chat open. */
export class Device {
  /** What it reaches. */
  service: Pick<Service, "fetch">;
  readonly client: TwinClient;
  /** What was asked, in order: methods and the paths' ends. */
  readonly asked: string[] = [];
  /** The messages that were new and whole here, in order. */
  readonly heard: string[] = [];
  /** The streams that are open now. */
  streams = 0;
  /** What each request has to get through first. */
  hinder: (what: string) => unknown = () => {};
  readonly #waiting = new Set<() => void>();
  readonly #cuts = new Set<() => void>();
  #loses = false;

  /** `service`: what it reaches. `streams`: whether its `fetch` gives bodies as they arrive. */
  constructor({ service, key }: DeviceOptions, { streams = true } = {}) {
    this.service = service;
    const fetch: typeof globalThis.fetch = async (input, init) => {
      const request = new Request(input, init);
      const { pathname, search } = new URL(request.url);
      const what = `${request.method} ${pathname.replace(/^\/api\/v1/, "").replaceAll(/(conv|msg)_\w+/g, "…")}${search.replace(/msg_\w+/, "…")}`;
      this.asked.push(what);
      await this.hinder(what);
      const response = await this.service.fetch(request);
      if (this.#loses && request.method === "POST") {
        this.#loses = false;
        throw new TypeError("The answer was lost.");
      }
      if (!response.body || !response.headers.get("content-type")?.startsWith("text/event-stream"))
        return streams ? response : withoutBody(response);
      return streams ? this.#watched(response, response.body) : withoutBody(response);
    };
    this.client = new TwinClient({ baseUrl: "http://twins.test", apiKey: key, fetch });
  }

  async open(id: Parameters<TwinClient["conversations"]["open"]>[0]): Promise<OpenConversation> {
    const heard = ({ content }: Message) => void this.heard.push(content);
    return this.client.conversations.open(id, { changed: () => this.#wake(), heard });
  }

  /** Resolves once something is seen. */
  async sees(what: () => unknown): Promise<void> {
    while (!what()) await new Promise<void>((resolve) => this.#waiting.add(resolve));
  }

  /** Loses the answer to the next POST, which has arrived. */
  lose(): void {
    this.#loses = true;
  }

  /** Breaks all streams. */
  cut(): void {
    for (const cut of this.#cuts) cut();
  }

  #wake(): void {
    for (const wake of this.#waiting) wake();
    this.#waiting.clear();
  }

  #watched(response: Response, body: ReadableStream<Uint8Array>): Response {
    const reader = body.getReader();
    this.streams++;
    const end = () => {
      if (this.#cuts.delete(cut)) this.streams--;
    };
    let broken = false;
    const cut = () => {
      broken = true;
      end();
      void reader.cancel();
    };
    this.#cuts.add(cut);
    const watched = new ReadableStream<Uint8Array>({
      async pull(controller) {
        const { done, value } = await reader.read();
        if (broken) controller.error(new TypeError("cut"));
        else if (!done) return controller.enqueue(value);
        else controller.close();
        end();
      },
      cancel(reason) {
        end();
        return reader.cancel(reason);
      },
    });
    return new Response(watched, response);
  }
}

/** As React Native has it: an answer that can be read once it is whole. */
function withoutBody(response: Response): Response {
  return Object.defineProperty(response, "body", { value: undefined });
}

/** Calls a function after some milliseconds. */
export const pause = globalThis.setTimeout;

/** Has the client, which waits by the runtime's time, wait a hundredth of it. */
export function hurry(): Disposable {
  const hurried = (act: () => void, ms = 0) => pause(act, ms / 100);
  globalThis.setTimeout = hurried as typeof setTimeout;
  return {
    [Symbol.dispose]() {
      globalThis.setTimeout = pause;
    },
  };
}
