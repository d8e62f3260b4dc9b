/**
 * What the benchmark needs to know of a server that takes part. Each has a folder of its own, with this description,
 * what it runs, and the exact versions of its packages.
 *
 * @module
 */

/** Where a server is to run. */
export interface Place {
  /** How Node is run. */
  readonly node: readonly string[];
  readonly port: number;
  /** The model's address, up to `/v1`. */
  readonly modelUrl: string;
  /** A folder of its own on the project's disk, which survives a restart. */
  readonly data: string;
}

/** How a server is started. `PORT`, `MODEL_URL` and `NODE_ENV=production` are set. */
export interface Launch {
  readonly command: readonly string[];
  /** Default: {@link Place.data}. */
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** A path that answers GET once the server is ready. */
  readonly ready: string;
}

/** A server's address, and that of the model that it asks. */
export interface Running {
  readonly url: string;
  readonly modelUrl: string;
}

/** A server that takes part. */
export interface Contender {
  /** Its folder. */
  readonly folder: string;
  readonly name: string;
  /** What it does with a reply besides passing it on, and what it does not do. */
  readonly about: string;
  /** Where it differs from its documentation, or what its start needs. */
  readonly note?: string;
  /** How many streams it is given at most. Default: as many as it carries. */
  readonly mostStreams?: number;
  /** How it is started in a place. What must be built is built here. */
  launch(place: Place): Launch | Promise<Launch>;
  /** Prepares conversations on the running server, each of which takes one question at a time. */
  prepare(running: Running, count: number): Promise<readonly Conversation[]>;
}

/** A question on the wire. */
export interface Question {
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as JSON. */
  readonly body: unknown;
}

/** A conversation on a contender's server. */
export interface Conversation {
  /** The request that asks for a streamed reply. The same question is the same request, as if it were sent again. */
  ask(question: string): Question;
  /** What the server has of the last reply; "" if it has nothing. Absent: it stores nothing. */
  stored?(): Promise<string>;
}

/** Conversations of a server that keeps none: every question stands alone. */
export function unrelated(count: number, ask: (question: string) => Question): readonly Conversation[] {
  return Array.from({ length: count }, () => ({ ask }));
}

/** Sends JSON and reads JSON, for preparing conversations and for reading what is stored. */
export async function requestJson<Answer>(
  url: string,
  { method = "POST", body, key }: { method?: string; body?: unknown; key?: string } = {},
): Promise<Answer> {
  const response = await fetch(url, {
    method,
    headers: { "Content-Type": "application/json", ...(key && { Authorization: `Bearer ${key}` }) },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${url} answered ${response.status}: ${text.slice(0, 200)}`);
  return JSON.parse(text);
}

/** Runs an action for each index, a limited number of them at once. */
export async function inBatches<Result>(
  count: number,
  act: (index: number) => Promise<Result>,
  atOnce = 32,
): Promise<Result[]> {
  const results: Result[] = [];
  for (let first = 0; first < count; first += atOnce) {
    const some = Math.min(atOnce, count - first);
    results.push(...(await Promise.all(Array.from({ length: some }, (_, index) => act(first + index)))));
  }
  return results;
}
