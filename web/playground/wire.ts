/**
 * The wire: every request, every answer and every event, as they pass, and the knife that cuts its streams.
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
  readonly #offset: HTMLElement;
  #requests = 0;
  /** What cuts each stream that is open. */
  readonly #cuts = new Set<() => void>();
  /** Where streams are cut, and are opened again once it is joined. */
  #gap: { readonly joined: Promise<void>; readonly join: () => void } | undefined;

  constructor(list: HTMLElement, offset: HTMLElement) {
    this.#list = list;
    followEnd(list);
    this.#offset = offset;
  }

  clear(): void {
    this.#list.replaceChildren();
  }

  get isCut(): boolean {
    return this.#gap !== undefined;
  }

  /** Breaks all streams. Their readers cannot go on until the wire is joined. */
  cut(): void {
    let join = () => {};
    const joined = new Promise<void>((resolve) => {
      join = resolve;
    });
    this.#gap = { joined, join };
    for (const cut of this.#cuts) cut();
  }

  /** Joins the wire where it is cut. */
  join(): void {
    if (!this.#gap) return;
    this.#gap.join();
    this.#gap = undefined;
    dispatchEvent(new Event("online")); // nobody waits any longer
  }

  /** A `fetch` that shows what it sends and gets, and asks for words at a reader's pace. */
  readonly fetch: typeof globalThis.fetch = async (input, init) => {
    const isStream = /\/stream(\?|$)/.test(String(input)) && init?.method === "GET";
    if (isStream) await this.#gap?.joined;
    const number = ++this.#requests;
    const request = new Request(input, init);
    request.headers.set("Prefer", "reading-pace");
    const path = request.url.slice(baseUrl.length);
    const key = request.headers.get("idempotency-key");
    const short = path.replace("/api/v1", "").replaceAll(/\b([a-z]+_)[0-9a-z]{16,}([0-9a-z]{5})/g, "$1…$2");
    const what = `${request.method} ${short}`; // its ids have lost their middle
    const line = this.#add("request", `${number} →`, what, key ? `Idempotency-Key: ${key}` : undefined);
    const command = curl(request, path, typeof init?.body === "string" ? init.body : undefined);
    line.append(copyButton("Copy as curl", command, "tool", `Copy as curl: ${what}`));
    try {
      const response = await fetch(request);
      const type = response.headers.get("content-type")?.split(";")[0] ?? "";
      this.#add(response.ok ? "answer" : "refusal", `${number} ←`, `${response.status} ${type}`);
      const isWatched = response.body && type === "text/event-stream";
      return isWatched ? this.#watched(number, response) : response;
    } catch (error) {
      this.#add("refusal", `${number} ×`, request.signal.aborted ? "left" : String(error));
      throw error;
    }
  };

  /** The same answer, whose events are shown as they arrive, and which may be cut. */
  #watched(number: number, response: Response): Response {
    const pieces = response.body?.pipeThrough(new TextDecoderStream()).getReader();
    const encoder = new TextEncoder();
    const isReply = response.url.includes("/messages/");
    let rest = "";
    let hasEnded = false;
    let cut = () => {};
    const end = (how: string) => {
      if (!this.#cuts.delete(cut)) return;
      const isEnd = hasEnded && how !== "the connection was cut here";
      this.#add(isEnd ? "answer" : "cut", `${number} ×`, isEnd ? "the end" : how);
    };
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => {
        cut = () => {
          end("the connection was cut here");
          controller.error(new TypeError("The connection was cut."));
          void pieces?.cancel();
        };
        this.#cuts.add(cut);
      },
      pull: async (controller) => {
        const { done, value = "" } = (await pieces?.read()) ?? { done: true };
        const blocks = (rest + value).split("\n\n");
        rest = blocks.pop() ?? "";
        for (const block of blocks) {
          const type = this.#event(block, isReply);
          hasEnded ||= type === "deleted" || (isReply && (type === "complete" || type === "error"));
        }
        if (!this.#cuts.has(cut)) return; // it was cut meanwhile
        controller.enqueue(encoder.encode(value));
        if (!done) return;
        end("the connection broke here");
        controller.close();
      },
      cancel: (reason) => {
        end("left");
        return pieces?.cancel(reason);
      },
    });
    return new Response(body, { status: response.status, headers: response.headers });
  }

  /** Shows an event or a comment. Returns an event's type. `isReply`: it is of a reply's own stream, whose ids are offsets. */
  #event(block: string, isReply: boolean): string | undefined {
    const [, id = "", data] = /^(?:id: ([\d.]+)\n)?data: (.*)$/s.exec(block) ?? [];
    if (data === undefined) {
      this.#add("comment", "", block);
      return undefined;
    }
    const { type, ...rest } = JSON.parse(data);
    if (isReply) this.#offset.textContent = id;
    else if (type === "delta") this.#offset.textContent = id.split(".")[1] ?? ""; // behind the message's place
    const { content, progress, message, error, conversation } = rest;
    this.#add(
      `event ${type}`,
      id,
      type,
      JSON.stringify(content ?? progress ?? error ?? message ?? conversation),
    );
    return type;
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
