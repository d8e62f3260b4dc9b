/**
 * What every server of the second table answers.
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

/** One reply: 256 tokens, about as long as a model's. */
export const tokens: readonly string[] = Array.from(
  { length: 256 },
  (_, index) => words[index % words.length] ?? "",
);

/** One token as all servers send it. */
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
