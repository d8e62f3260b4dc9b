/**
 * An event stream as the body of a web `Response`.
 *
 * @module
 */

import { type EventBody, EventSender, type SenderTimers } from "./event-sender.ts";
import type { EventStream } from "./sse.ts";

/**
 * An event stream as the body of a web `Response`: its whole text if the first piece is all of it, because a runtime
 * sends text faster than a stream; otherwise a web stream of its UTF-8.
 */
export function toTextOrStream(events: EventStream, timers?: SenderTimers): Promise<WebBody> {
  return new Promise((resolve) => {
    new EventSender(events, (sender) => new WebEventBody(sender, resolve), timers);
  });
}

type WebBody = string | ReadableStream<Uint8Array<ArrayBuffer>>;

const encoder = new TextEncoder();

/** Gives a piece for each that the client wants, so a slow client holds back only itself. */
class WebEventBody implements EventBody {
  readonly #sender: EventSender;
  readonly #begin: (body: WebBody) => void;
  #controller: ReadableStreamDefaultController<Uint8Array<ArrayBuffer>> | undefined;

  /** `begin`: what takes the body. */
  constructor(sender: EventSender, begin: (body: WebBody) => void) {
    this.#sender = sender;
    this.#begin = begin;
  }

  write(text: string): boolean {
    if (!this.#controller) this.#begin(this.#open());
    if (text !== "") this.#controller?.enqueue(encoder.encode(text));
    return false;
  }

  end(text: string): void {
    if (this.#controller) {
      if (text !== "") this.#controller.enqueue(encoder.encode(text));
      this.#controller.close();
    } else {
      this.#begin(text);
    }
    this.#sender.leave(); // what the runtime does with it is not seen
  }

  cut(): void {
    if (!this.#controller) this.#begin(this.#open());
    this.#controller?.error(
      new Error("The client took nothing for too long, or the rest could not be read."),
    );
  }

  #open(): ReadableStream<Uint8Array<ArrayBuffer>> {
    const start = (controller: ReadableStreamDefaultController<Uint8Array<ArrayBuffer>>) => {
      this.#controller = controller;
    };
    const source = { start, pull: () => this.#sender.resume(), cancel: () => this.#sender.leave() };
    return new ReadableStream(source, { highWaterMark: 0 });
  }
}
