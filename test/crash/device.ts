/**
 * A device that looks on while servers are killed: it follows a conversation on one server after another.
 */

import assert from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";
import type { MessageResource } from "../../core/wire/schemas.ts";
import { readConversation } from "../support/event-reader.ts";
import { jsonRequest } from "../support/harness.ts";
import { Told } from "../support/told.ts";

/** Where it finds its conversation. */
export interface Followed {
  /** The address of a server, which may be gone. */
  readonly url: () => string;
  /** The path of the conversation. */
  readonly path: string;
  readonly key: string;
}

export class Device {
  /** How many streams it had, besides the first. */
  resumed = 0;
  readonly told = new Told((rule) => assert.fail(rule));
  /** The replies that ended, as it was told. */
  readonly ends = new Map<string, MessageResource>();
  /** What it was told that is wrong. */
  failure: Error | undefined;
  readonly #followed: Followed;
  readonly #left = new AbortController();
  readonly #done: Promise<void>;

  constructor(followed: Followed) {
    this.#followed = followed;
    this.#done = this.#live();
    this.#done.catch((error) => {
      this.failure = error;
    });
  }

  /** Stops looking on. Rejects if it was ever told something wrong. */
  async leave(): Promise<void> {
    this.#left.abort();
    await this.#done;
  }

  async #live(): Promise<void> {
    while (!this.#left.signal.aborted) {
      const leaves = Math.random() < 0.3 ? [AbortSignal.timeout(Math.floor(Math.random() * 1000))] : [];
      const signal = AbortSignal.any([this.#left.signal, ...leaves]);
      try {
        await this.#follow(signal);
      } catch (error) {
        // A killed server cuts the connection, or is not there.
        if (!signal.aborted && !(error instanceof TypeError)) throw error;
        if (signal.aborted && error !== signal.reason) throw error;
      }
      if (!this.#left.signal.aborted) await pause(20);
    }
  }

  async #follow(signal: AbortSignal): Promise<void> {
    const { url, path, key } = this.#followed;
    const { told } = this;
    const headers = told.id === undefined ? {} : { "Last-Event-ID": told.id };
    const init = { ...jsonRequest(key, undefined, headers), signal };
    const answer = await fetch(`${url()}/api/v1${path}/stream`, init);
    if (answer.status === 503) return;
    assert.equal(answer.status, 200, `following from ${told.id}`);
    if (told.events > 0) this.resumed++;
    told.begin();
    const stream = readConversation(answer);
    for (;;) {
      const end = told.take(await stream.next());
      if (!end) continue;
      const { message, text } = end;
      // Text that was sent but not yet saved is lost if nobody goes on with the reply.
      if (message.error?.code !== "interrupted")
        assert.equal(message.content, text, `${message.id} was told with other text`);
      this.ends.set(message.id, message);
    }
  }
}
