/**
 * The wire: every request, every answer and every event, as they pass.
 *
 * @module
 */

import { followEnd, h } from "../shared/dom.ts";
import { copyButton } from "./page.ts";
import { baseUrl } from "./session.ts";

/** How many lines are kept. */
const mostLines = 2_000;

/** Shows what passes over the wire in a list, and provides the `fetch` whose traffic it is. */
export class Wire {
  readonly #list: HTMLElement;
  readonly #offset: HTMLOutputElement;
  #requests = 0;

  constructor(list: HTMLElement, offset: HTMLOutputElement) {
    this.#list = list;
    followEnd(list);
    this.#offset = offset;
  }

  clear(): void {
    this.#list.replaceChildren();
  }

  /** A `fetch` that shows what it sends and gets, and asks for words at a reader's pace. */
  readonly fetch: typeof globalThis.fetch = async (input, init) => {
    const number = ++this.#requests;
    const request = new Request(input, init);
    request.headers.set("Prefer", "reading-pace");
    const path = request.url.slice(baseUrl.length);
    const key = request.headers.get("idempotency-key");
    const what = `${request.method} ${shorten(path)}`;
    const line = this.#add("request", `${number} →`, what, key ? `Idempotency-Key: ${key}` : undefined);
    const command = curl(request, path, typeof init?.body === "string" ? init.body : undefined);
    line.append(copyButton("Copy as curl", command, "tool", `Copy as curl: ${what}`));
    try {
      const response = await fetch(request);
      const type = response.headers.get("content-type")?.split(";")[0] ?? "";
      this.#add(response.ok ? "answer" : "refusal", `${number} ←`, `${response.status} ${type}`);
      const isReply = path.includes("/messages/"); // the conversation's own stream has the same words once more
      const isWatched = response.body && type === "text/event-stream" && isReply;
      return isWatched ? this.#watched(number, response) : response;
    } catch (error) {
      this.#add("refusal", `${number} ×`, request.signal.aborted ? "left" : String(error));
      throw error;
    }
  };

  /** The same answer, whose events are shown as they arrive. */
  #watched(number: number, response: Response): Response {
    const pieces = response.body?.pipeThrough(new TextDecoderStream()).getReader();
    const encoder = new TextEncoder();
    let rest = "";
    let hasEnded = false;
    let isOpen = true;
    const end = (kind: string, what: string) => {
      if (isOpen) this.#add(kind, `${number} ×`, what);
      isOpen = false;
    };
    const body = new ReadableStream<Uint8Array>({
      pull: async (controller) => {
        const { done, value = "" } = (await pieces?.read()) ?? { done: true };
        const blocks = (rest + value).split("\n\n");
        rest = blocks.pop() ?? "";
        for (const block of blocks) hasEnded = this.#event(block) || hasEnded;
        controller.enqueue(encoder.encode(value));
        if (!done) return;
        end(hasEnded ? "answer" : "cut", hasEnded ? "the end" : "the connection broke here");
        controller.close();
      },
      cancel: (reason) => {
        end(hasEnded ? "answer" : "cut", hasEnded ? "the end" : "the connection was cut here");
        return pieces?.cancel(reason);
      },
    });
    return new Response(body, { status: response.status, headers: response.headers });
  }

  /** Shows an event or a comment. Returns whether it is the last one of its stream. */
  #event(block: string): boolean {
    const [, id = "", data] = /^id: (\d+)\ndata: (.*)$/s.exec(block) ?? [];
    if (data === undefined) {
      this.#add("comment", "", block);
      return false;
    }
    const { type, ...rest } = JSON.parse(data);
    this.#offset.value = id;
    this.#add(
      `event ${type}`,
      id,
      type,
      JSON.stringify(rest.content ?? rest.progress ?? rest.message ?? rest.error),
    );
    return type === "complete" || type === "error";
  }

  #add(kind: string, mark: string, what: string, more?: string): HTMLElement {
    const line = h(
      "li",
      { class: kind },
      h("span", { class: "mark" }, mark),
      h("span", { class: "what" }, what),
    );
    if (more !== undefined) line.append(h("span", { class: "more", title: more }, more));
    this.#list.append(line);
    if (this.#list.childElementCount > mostLines) this.#list.firstElementChild?.remove();
    return line;
  }
}

/** The same request as a command for a POSIX shell. The credential stays in the page: it is `$KEY`, or `$TOKEN` for a JWT. */
function curl({ method, url, headers }: Request, path: string, body: string | undefined): string {
  const quote = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;
  const credential = path.startsWith("/api/v1/auth/") ? "$TOKEN" : "$KEY";
  const lines = [`curl -sSN ${method === "GET" ? "" : `-X ${method} `}${quote(url)}`];
  headers.forEach((value, name) => {
    if (name !== "authorization") lines.push(`-H ${quote(`${name}: ${value}`)}`);
    else lines.push(`-H "Authorization: Bearer ${credential}"`);
  });
  if (body !== undefined) lines.push(`-d ${quote(body)}`);
  return lines.join(" \\\n  ");
}

/** A path whose ids have lost their middle. */
function shorten(path: string): string {
  return path.replace("/api/v1", "").replaceAll(/\b([a-z]+_)[0-9a-z]{16,}([0-9a-z]{5})/g, "$1…$2");
}
