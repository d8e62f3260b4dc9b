/**
 * The requests about an owner's twins. They are not shown on the wire, which is of the twins' replies.
 *
 * @module
 */

import { AuthenticationError, TwinServiceError } from "../../../client/mod.ts";
import { baseUrl } from "../session.ts";

/** What is wrong with a file. */
export interface Fault {
  readonly path: string;
  readonly line: number;
  readonly message: string;
}

/** How the golden questions of a file are answered. */
export interface TestResults {
  readonly passed: number;
  readonly failed: readonly {
    readonly question: string;
    readonly expected: string;
    readonly answer: string | null;
  }[];
}

/** A version that a request has made, or left as it was. */
export interface MadeVersion {
  readonly version: number;
  readonly revision: string;
  readonly tests: TestResults | null;
}

/** A version in a list. */
export interface ListedVersion {
  readonly version: number;
  readonly createdAt: string;
  readonly note: string | null;
  readonly current: boolean;
}

/** A document in a list. */
export interface ListedDocument {
  readonly path: string;
  readonly bytes: number;
  readonly updatedAt: string;
}

/** A part of a list. */
export interface Listed<Item> {
  readonly data: readonly Item[];
  readonly pagination: { readonly total: number };
}

/** A file as it is stored. */
export interface StoredFile {
  readonly text: string;
  readonly revision: string;
}

/** What a file is checked for. */
export interface CheckOptions {
  /** The twin that it is for. Undefined: a new one. */
  readonly id: string | undefined;
  readonly tests: "run" | "skip";
  /** A question whose answer is told. */
  readonly ask?: string;
  readonly signal?: AbortSignal;
}

/** Which revision is changed. Null: there is none yet. */
export type Replaced = string | null;

interface Sent {
  readonly query?: Readonly<Record<string, string | undefined>>;
  readonly body?: string | Blob;
  readonly type?: string;
  readonly replaces?: Replaced;
  readonly signal?: AbortSignal | undefined;
}

const markdown = "text/markdown";

/** An owner's twins. */
export class OwnTwinRequests {
  readonly #token: string;

  /** `token`: a JWT of the owner. */
  constructor(token: string) {
    this.#token = token;
  }

  /** Whether owners make twins here. */
  async areThere(): Promise<boolean> {
    const answer = await fetch(`${baseUrl}/api/v1/twins/check`, { method: "OPTIONS" });
    return /\bPOST\b/.test(answer.headers.get("Allow") ?? "");
  }

  async file(id: string, version?: number): Promise<StoredFile> {
    const query = { version: version?.toString() };
    const response = await this.#send("GET", `${pathOf(id)}/file`, { query });
    const bytes = await response.arrayBuffer(); // as text() would drop a byte order mark
    const text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
    return { text, revision: /[0-9a-f]{16}/.exec(response.headers.get("ETag") ?? "")?.[0] ?? "" };
  }

  put(id: string, text: string, replaces: Replaced, note: string): Promise<MadeVersion> {
    const query = { note: note.trim() || undefined };
    return this.#data("PUT", `${pathOf(id)}/file`, { query, body: text, type: markdown, replaces });
  }

  check(
    text: string,
    { id, tests, ask, signal }: CheckOptions,
  ): Promise<{
    readonly faults: readonly Fault[];
    readonly tests: TestResults | null;
    readonly answer?: string | null;
  }> {
    return this.#data("POST", "/check", { query: { id, tests, ask }, body: text, type: markdown, signal });
  }

  async delete(id: string): Promise<void> {
    await this.#send("DELETE", pathOf(id));
  }

  versions(id: string, limit = 50): Promise<Listed<ListedVersion>> {
    return this.#json("GET", `${pathOf(id)}/versions`, { query: { limit: String(limit) } });
  }

  restore(id: string, version: number): Promise<MadeVersion> {
    return this.#data("POST", `${pathOf(id)}/versions/${version}/restore`);
  }

  documents(id: string, page: number): Promise<Listed<ListedDocument>> {
    return this.#json("GET", `${pathOf(id)}/documents`, { query: { limit: "100", page: String(page) } });
  }

  async document(id: string, path: string): Promise<Blob> {
    return (await this.#send("GET", documentPath(id, path))).blob();
  }

  /** Sends a document, and tells how much of it has been sent, from 0 to 1: `fetch` does not. */
  putDocument(
    id: string,
    path: string,
    file: Blob,
    { replaces, sent }: { readonly replaces: Replaced; readonly sent: (part: number) => void },
  ): Promise<MadeVersion> {
    return new Promise((resolve, reject) => {
      const request = new XMLHttpRequest();
      request.open("PUT", urlOf(documentPath(id, path), { tests: "skip" }));
      const headers = { ...this.#headers({ replaces }), "Content-Type": "application/octet-stream" };
      for (const [name, value] of Object.entries(headers)) request.setRequestHeader(name, value);
      request.upload.onprogress = ({ loaded, total }) => sent(total === 0 ? 1 : loaded / total);
      request.onerror = () => reject(new TypeError("The service cannot be reached."));
      request.onload = () => {
        const { status, responseText } = request;
        if (status < 300) resolve(JSON.parse(responseText).data);
        else reject(refusal(status, responseText));
      };
      request.send(file);
    });
  }

  async deleteDocument(id: string, path: string, replaces: Replaced): Promise<void> {
    await this.#send("DELETE", documentPath(id, path), { query: { tests: "skip" }, replaces });
  }

  teach(
    id: string,
    taught: { readonly question: string; readonly answer: string; readonly heading?: string },
  ): Promise<MadeVersion> {
    return this.#data("POST", `${pathOf(id)}/answers`, {
      body: JSON.stringify(taught),
      type: "application/json",
    });
  }

  async #data<Data>(method: string, path: string, sent?: Sent): Promise<Data> {
    return (await this.#json<{ data: Data }>(method, path, sent)).data;
  }

  async #json<Body>(method: string, path: string, sent?: Sent): Promise<Body> {
    return (await this.#send(method, path, sent)).json();
  }

  async #send(method: string, path: string, sent: Sent = {}): Promise<Response> {
    const { query = {}, body = null, signal = null } = sent;
    const response = await fetch(urlOf(path, query), { method, body, signal, headers: this.#headers(sent) });
    if (!response.ok) throw refusal(response.status, await response.text());
    return response;
  }

  #headers({ type, replaces }: Sent): Record<string, string> {
    return {
      Authorization: `Bearer ${this.#token}`,
      ...(type !== undefined && { "Content-Type": type }),
      ...(replaces === null && { "If-None-Match": "*" }),
      ...(replaces !== undefined && replaces !== null && { "If-Match": `"${replaces}"` }),
    };
  }
}

/** What a refused file's faults are. Undefined: it was refused for another reason. */
export function faultsIn(error: unknown): readonly Fault[] | undefined {
  if (!(error instanceof TwinServiceError) || error.code !== "validation_error") return undefined;
  const fields = error.details?.fields;
  const isFault = (field: unknown): field is Fault =>
    typeof field === "object" && field !== null && "line" in field;
  return Array.isArray(fields) && fields.every(isFault) ? fields : undefined;
}

export function hasCode(error: unknown, code: string): boolean {
  return error instanceof TwinServiceError && error.code === code;
}

function pathOf(id: string): string {
  return `/${encodeURIComponent(id)}`;
}

function documentPath(id: string, path: string): string {
  return `${pathOf(id)}/documents/${encodeURIComponent(path)}`;
}

function urlOf(path: string, query: Readonly<Record<string, string | undefined>>): string {
  const given = Object.entries(query).filter((pair): pair is [string, string] => pair[1] !== undefined);
  return `${baseUrl}/api/v1/twins${path}${given.length === 0 ? "" : `?${new URLSearchParams(given)}`}`;
}

function refusal(status: number, body: string): TwinServiceError {
  let error: { code?: string; message?: string; details?: Record<string, unknown>; requestId?: string } = {};
  try {
    error = JSON.parse(body).error ?? {};
  } catch {
    // a proxy's own page
  }
  const {
    code = "invalid_request",
    message = `The answer's status is ${status}.`,
    details,
    requestId,
  } = error;
  const Class = status === 401 ? AuthenticationError : TwinServiceError;
  return new Class(message, { code, status, details, requestId });
}
