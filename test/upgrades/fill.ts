/**
 * What a kept database has in it: some of everything that the API can store. Whoever adds a table adds what it holds.
 */

import assert from "node:assert/strict";
import { signToken } from "../../core/auth/jwt.ts";
import { fixtureSecret, jsonRequest } from "../support/harness.ts";
import { until } from "../support/until.ts";

/** The twins of the server that is filled. */
export const keptTwins: Readonly<Record<string, string>> = {
  "echo.md": "---\nname: Echo\nengine: echo\n---\n",
  "model.md": "---\nname: Model\nengine: openai\n---\n\n", // its replies fail
  "clerk.md":
    "---\nname: Clerk\nengine: openai\ntools: [orders, stock]\nconfirm: [orders/find]\n---\n\nYou take orders.\n",
  "guide.md": "---\nname: Guide\nengine: knowledge\n---\n\n## Opening hours\n\nWe open at nine.\n",
};

/** A request whose answer must still be the same, but for members that were added. */
export interface KeptRequest {
  readonly method: string;
  readonly path: string;
  /** The name of an API key or client token, or `token` for a JWT of alice. */
  readonly credential: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A request and its answer. */
export interface KeptAnswer extends KeptRequest {
  readonly status: number;
  readonly answer: unknown;
}

/** What is known of a kept database. */
export interface KeptContents {
  /** When it was made, in milliseconds since the epoch: keys and claims were valid then. */
  readonly madeAt: number;
  /** API keys and client tokens by name. */
  readonly secrets: Readonly<Record<string, string>>;
  /** Requests that change nothing, in an order in which the first leave the buckets as they were. */
  readonly answers: readonly KeptAnswer[];
  /** The paths of conversations in which a model is told what no request reads. Absent: of a version before 111. */
  readonly told?: {
    /** One whose last reply waits for a person's yes to a call, behind a call that ran. */
    readonly waiting: string;
    /** One whose last question a guard has stopped. */
    readonly stopped: string;
  };
}

/** What the model of the server that is filled is asked, and calls. */
export const keptOrder = { question: "Find order 7.", call: "call-order", input: { number: 7 } };

/** What its moderation model flags has this word. */
export const keptWord = "forbidden";

/** Fills the database of a new server over HTTP, and reads back what is in it. */
export async function fill(url: string): Promise<KeptContents> {
  const secrets: Record<string, string> = { token: await signToken(ofAlice) };

  async function send({ method, path, credential, body, headers }: KeptRequest): Promise<KeptAnswer> {
    const init = { method, ...jsonRequest(secrets[credential] ?? "", body, headers) };
    const response = await fetch(url + path, init);
    const text = await response.text();
    assert.ok(response.ok, `${method} ${path}: ${response.status} ${text}`);
    return {
      ...{ method, path, credential, ...(body !== undefined && { body }), ...(headers && { headers }) },
      status: response.status,
      answer: parse(text),
    };
  }
  const change = async (
    method: string,
    path: string,
    body?: unknown,
    more: Partial<KeptRequest> = {},
  ): Promise<Record<string, string>> => {
    const { answer } = await send({ method, path: api + path, credential: "main", body, ...more });
    return (answer as { data: Record<string, string> } | null)?.data ?? {};
  };
  const ask = (conversation = "", content = "", more: object = {}) =>
    change("POST", `/conversations/${conversation}/messages`, { content, ...more });

  // Keys: of each kind, one that has ended, and one of another owner.
  for (const [name, body] of Object.entries({
    main: { scope: "full_access" },
    reader: { expiresInDays: 30 },
    small: { scope: "full_access", requestsPerHour: 50 },
    frugal: { scope: "full_access", tokensPerDay: 1000, tokensPerMonth: 1e12 },
    ended: {},
  })) {
    const made = await change("POST", "/auth/api-keys", { name, ...body }, { credential: "token" });
    secrets[name] = made.key ?? "";
    if (name === "ended")
      await change("DELETE", `/auth/api-keys/${made.id}`, undefined, { credential: "token" });
  }

  const rotated = await change("POST", "/auth/api-keys", { name: "rotated" }, { credential: "token" });
  secrets.previous = rotated.key ?? "";
  const rotate = `/auth/api-keys/${rotated.id}/rotate`;
  secrets.rotated = (await change("POST", rotate, {}, { credential: "token" })).key ?? "";

  // Conversations: with a title, deleted, of an end user, named by an app, and one with branches.
  const plain = await change("POST", "/conversations", { twinId: "echo", title: "Grüße 🦜" });
  await ask(plain.id, "Hello, 世界");
  const deleted = await change("POST", "/conversations", { twinId: "echo" });
  await ask(deleted.id, "Forget this.");
  await change("DELETE", `/conversations/${deleted.id}`);
  const tree = await change("POST", "/conversations", { twinId: "echo", title: "Branches" });
  const first = await ask(tree.id, "First?");
  const second = await ask(tree.id, "Second?");
  await ask(tree.id, "Another second?", { after: first.id });
  await change("PATCH", `/conversations/${tree.id}`, { lastMessageId: second.id });
  const chat: KeptRequest = {
    method: "POST",
    path: "/v1/chat/completions",
    credential: "main",
    body: { model: "echo", messages: [{ role: "user", content: "By name." }] },
    headers: { "X-Conversation-Id": "chat 1" },
  };
  await send(chat);

  // What a reply has reserved, and given back.
  const tokens = { endUser: "user 2", tokensPerDay: 20, tokensPerMonth: 30 };
  secrets.limited = (await change("POST", "/client-tokens", tokens, { credential: "frugal" })).token ?? "";
  const failing = await change("POST", "/conversations", { twinId: "model" }, { credential: "limited" });
  const question = jsonRequest(secrets.limited, { content: "Hello?" });
  const path = `${api}/conversations/${failing.id}/messages`;
  const failed = await fetch(url + path, { method: "POST", ...question });
  assert.equal(failed.status, 502);

  // A person: a client token, what the twin knows of her, what she thinks of a reply.
  const ada = "user 1";
  const person = encodeURIComponent(ada);
  secrets.browser =
    (await change("POST", "/client-tokens", { endUser: ada, twinIds: ["echo", "guide"] })).token ?? "";
  await change("PUT", `/end-users/${person}/memory/echo`, { content: "Ada likes short answers." });
  const byBrowser = { credential: "browser" };
  const hers = await change("POST", "/conversations", { twinId: "guide" }, byBrowser);
  const answered = await change(
    "POST",
    `/conversations/${hers.id}/messages`,
    { content: "When do you open?" },
    byBrowser,
  );
  const feedback = `/conversations/${hers.id}/messages/${answered.id}/feedback`;
  await change("PUT", feedback, { rating: "up", comment: "Thanks 🙂" }, byBrowser);
  const missed = await ask(hers.id, "Do you sell zeppelins?");
  await change("PUT", `/conversations/${hers.id}/messages/${missed.id}/feedback`, { rating: "down" });

  // One who was erased.
  await change("PUT", "/end-users/gone/memory/echo", { content: "Forget me." });
  await change("DELETE", "/end-users/gone");
  // A colleague: what was said, a question that waits, and one that waits for nobody.
  const inbox = await change("POST", "/conversations", { twinId: "echo" });
  await ask(inbox.id, "Is anybody there?");
  await ask(inbox.id, "I am.", { role: "assistant", author: "Eva", answeredBy: "person" });
  await ask(inbox.id, "Good.", { reply: false });
  await ask(inbox.id, "When?");

  // An app's own pairs, by which it finds conversations; those before a change find none.
  const ticket = await change("POST", "/conversations", { twinId: "echo", metadata: { ticket: "4710" } });
  await change("PATCH", `/conversations/${ticket.id}`, { metadata: { ticket: "4711", "plan 🦜": "" } });

  // A twin that its owner made, of two versions, the second one with a document.
  const markdown = { credential: "token", headers: { "content-type": "text/markdown" } };
  const own = "---\nname: Own\nengine: knowledge\n---\n\n## Opening hours\n\nWe open at ten. 🦜\n";
  await change("PUT", "/twins/own/file?note=The%20first", own, markdown);
  await change("PUT", "/twins/own/documents/prices%2F2026.md", "# Coffee\n\nThree euros.\n", markdown);
  const toOwn = await change("POST", "/conversations", { twinId: "own" });
  await ask(toOwn.id, "When do you open?");

  // Calls that ran, one that waits for a person, and one that was allowed; a question that a guard stopped.
  const waiting = await change("POST", "/conversations", { twinId: "clerk", endUser: ada });
  await ask(waiting.id, keptOrder.question);
  const decided = await change("POST", "/conversations", { twinId: "clerk" });
  await ask(decided.id, keptOrder.question);
  await ask(decided.id, "Yes, please.", { calls: { [keptOrder.call]: "approve" } });
  const stopped = await change("POST", "/conversations", { twinId: "clerk" });
  await ask(stopped.id, `Is it ${keptWord}?`);

  // A webhook that cannot be reached, and what it is still to be told.
  const byToken = { credential: "token" };
  const address = { url: "http://127.0.0.1:9/", events: ["message.said"], description: "Nobody's" };
  const hook = await change("POST", "/webhooks", address, byToken);
  await change("POST", `/webhooks/${hook.id}/rotate`, undefined, byToken);
  await ask(plain.id, "Tell this.", { role: "assistant" });
  await until("the delivery was tried", 5_000, async () => {
    const list = await send({ method: "GET", path: `${api}/webhooks/${hook.id}/deliveries`, ...byToken });
    const [delivery] = (list.answer as { data: { createdAt: string; nextAttemptAt: string }[] }).data;
    return delivery !== undefined && delivery.nextAttemptAt > delivery.createdAt;
  });

  // Claims: sent again, they are answered as before.
  const claim = (key: string) => ({ headers: { "Idempotency-Key": key } });
  const again: KeptRequest[] = [
    {
      method: "POST",
      path: `${api}/conversations`,
      credential: "main",
      body: { twinId: "echo" },
      ...claim("1"),
    },
    {
      method: "POST",
      path: `${api}/conversations/${plain.id}/messages`,
      credential: "main",
      body: { content: "Once." },
      ...claim("2"),
    },
  ];
  for (const request of again) await send(request);

  const conversations = [...[plain, tree, hers, inbox, toOwn], ...[waiting, decided, stopped]].map(
    ({ id }) => `/conversations/${id}`,
  );
  const reads = [
    "/twins/own",
    "/conversations?limit=100",
    "/conversations?waiting=true",
    "/conversations?answeredBy=person",
    ...["ticket=4710", "ticket=4711", "ticket=4711&metadata.plan%20%F0%9F%A6%9C="].map(
      (pair) => `/conversations?metadata.${pair}`,
    ),
    ...conversations.flatMap((path) => [path, `${path}/messages`, `${path}/messages?path=all`]),
    `/conversations/${hers.id}/messages/${answered.id}`,
    "/feedback",
    "/questions/unanswered",
    ...["day", "twin", "endUser"].map((group) => `/usage/history?groupBy=${group}`),
    `/end-users/${person}/memory/echo`,
    `/end-users/${person}/export`,
  ].map((path) => ({ method: "GET", path: api + path, credential: "main" }));
  const answers: KeptAnswer[] = [];
  for (const request of [
    { method: "GET", path: `${api}/auth/api-keys`, credential: "token" },
    ...["main", "reader", "small", "browser", "rotated", "previous"].map((credential) => usage(credential)),
    { method: "GET", path: `${api}/conversations`, credential: "browser" },
    ...["versions", "documents"].map((list) => ({
      method: "GET",
      path: `${api}/twins/own/${list}`,
      credential: "token",
    })),
    ...reads,
    ...again,
    { method: "GET", path: `${api}/webhooks`, credential: "token" },
    { method: "GET", path: `${api}/webhooks/${hook.id}/deliveries`, credential: "token" },
  ])
    answers.push(await send(request));
  // Requests since then took from the buckets.
  const buckets = await Promise.all(answers.slice(1, 7).map(send));
  return {
    madeAt: Date.now(),
    secrets: Object.fromEntries(Object.entries(secrets).filter(([name]) => name !== "token")),
    answers: answers.map((answer, index) => buckets[index - 1] ?? answer),
    told: { waiting: `${api}/conversations/${waiting.id}`, stopped: `${api}/conversations/${stopped.id}` },
  };
}

/** JSON, or lines of it. Null: nothing. */
export function parse(text: string): unknown {
  const lines = text.split("\n").filter(Boolean);
  return lines.length > 1 ? lines.map((line) => JSON.parse(line)) : JSON.parse(text || "null");
}

/** What signs tokens of alice. */
const ofAlice = {
  secret: fixtureSecret,
  sub: "alice",
  expiresInSeconds: 3600,
  requestsPerHour: 50,
  tokensPerDay: 10,
};

const api = "/api/v1";

function usage(credential: string): KeptRequest {
  return { method: "GET", path: `${api}/usage`, credential };
}
