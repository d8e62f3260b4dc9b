/**
 * What every contender streams, and how a contender's process talks to the benchmark.
 *
 * @module
 */

const words = [
  "The",
  " sea",
  " takes",
  " what",
  " it",
  " wants",
  ",",
  " and",
  " gives",
  " back",
  " a",
  " shell",
  ".",
];

/** The token at a position in a reply. Tokens are about as long as a model's. */
export function tokenAt(index: number): string {
  return words[index % words.length] ?? "";
}

/** One reply: 256 tokens. */
export const tokens: readonly string[] = Array.from({ length: 256 }, (_, index) => tokenAt(index));

/** One token as all contenders send it. */
export function deltaOf(token: string): { readonly type: "delta"; readonly content: string } {
  return { type: "delta", content: token };
}

/** One token as an event, for the servers that write their own. */
export function deltaEvent(token: string): string {
  return `data: ${JSON.stringify(deltaOf(token))}\n\n`;
}

/** The first 20 of 50 twins, as `GET /twins?limit=20` answers them. */
export const twins = Array.from({ length: 50 }, (_, index) => ({
  id: `twin-${index + 10}`,
  name: `Twin ${index + 10}`,
  description: "Knows the sea, its tides and its tales.",
  avatarUrl: null,
  greeting: "Ahoy!",
  tags: ["sea", "tales"],
  createdAt: Date.UTC(2026, 0, 2),
  updatedAt: Date.UTC(2026, 0, 3),
}));

/** The body of a list answer, with the fields that the service gives. */
export function twinsPage(limit: number): object {
  const data = twins.slice(0, limit).map((twin) => ({
    ...twin,
    createdAt: new Date(twin.createdAt).toISOString(),
    updatedAt: new Date(twin.updatedAt).toISOString(),
  }));
  const total = twins.length;
  return { data, pagination: { page: 1, limit, total, totalPages: Math.ceil(total / limit), hasMore: true } };
}

/** A key, and the conversations that it may write to. */
export interface Client {
  readonly key: string;
  readonly conversations: readonly string[];
}

/** What a contender's process has used so far. */
export interface ProcessUsage {
  /** Microseconds, user and system. */
  readonly cpu: number;
  /** Bytes. */
  readonly rss: number;
  readonly peakRss: number;
  readonly heap: number;
}

/** Asks what a process has used: `collect` collects garbage first, `start` starts its paced streams. */
export type Question = "usage" | "collect" | "start";

/**
 * Tells the benchmark that the server is listening, answers its questions, and exits when the benchmark does. `start`
 * is called when paced streams should begin.
 */
export function announce(port: number, clients: readonly Client[] = [], start: () => void = () => {}): void {
  process.on("message", (question) => {
    if (question === "collect") globalThis.gc?.();
    if (question === "start") start();
    process.send?.(processUsage());
  });
  process.on("disconnect", () => process.exit(0));
  process.send?.({ port, clients });
}

function processUsage(): ProcessUsage {
  const { user, system } = process.cpuUsage();
  const { rss, heapUsed, external } = process.memoryUsage();
  return {
    cpu: user + system,
    rss,
    peakRss: process.resourceUsage().maxRSS * 1024,
    heap: heapUsed + external,
  };
}
