/**
 * The largest requests that are allowed, by credential and endpoint.
 *
 * @module
 */

import { costly, pairs, receiver } from "./data.ts";

/** `t`: a client token, `r`: a read-only key, `f`: a full key, `j`: the owner's JWT. */
export type Credential = "t" | "r" | "f" | "j";

/** A request with each of some credentials. */
export interface Line {
  readonly who: string;
  readonly what: string;
  readonly method: string;
  /** `{id}`: a new conversation with the line's twin; `{p}`: the number of the end user; `{n}`: the number of the run. */
  readonly path: string;
  /** A text: Markdown. */
  readonly body?: object | string;
  readonly twin?: string;
  /** Its answer has no end: it is read until the server rests. */
  readonly endless?: true;
  /** The CPU time that it may take, in milliseconds, if it is another than usual. */
  readonly mayTake?: number;
}

/** It goes on in parts: only how long each holds the thread is limited. A page may have 8 Mi characters. */
export const inParts: number = Number.POSITIVE_INFINITY;

const period = "from=2025-09-28&to=2026-11-01&limit=100";
const long = "/conversations/conv_long_{p}/messages";
const book = "/conversations/conv_book_{p}/messages";

const gets: readonly (readonly [who: string, what: string, path: string, mayTake?: number])[] = [
  ["t", "the service's health", "/healthz"],
  ["t", "whether it is ready", "/readyz"],
  ["t", "the OpenAPI document", "/openapi.json"],
  ["trf", "100 of 1,000 twins", "/twins?limit=100"],
  ["trf", "the last 100 of 1,000 twins", "/twins?limit=100&page=10"],
  ["trf", "a twin", "/twins/twin-1"],
  ["trf", "1,000 models", "/v1/models"],
  ["trf", "a model", "/v1/models/twin-1"],
  ["trf", "100 conversations", "/conversations?limit=100"],
  ["rf", "the last 100 of 30,000 conversations", "/conversations?limit=100&page=300"],
  ["rf", "the last 100 conversations of a person", "/conversations?endUser=cleo_0&limit=100&page=100"],
  ["trf", "a conversation with a title of 200 characters", "/conversations/conv_long_{p}"],
  ["trf", "100 messages of 131,072 characters", `${long}?limit=100`, inParts],
  [
    "trf",
    "100 messages of 131,072 characters, path=all, newest first",
    `${long}?limit=100&path=all&order=desc`,
    inParts,
  ],
  ["rf", "100 of 2,000 messages, 1,000 branches", "/conversations/conv_forks/messages?limit=100&path=all"],
  ["rf", "the last 100 of 50,000 messages", "/conversations/conv_deep_0/messages?limit=100&page=500"],
  ["trf", "the longest reply, in a list", book, inParts],
  ["trf", "the longest reply", `${book}/msg_convbook{p}x1`, inParts],
  ["trf", "the longest reply, its stream replayed", `${book}/msg_convbook{p}x1/stream`, inParts],
  ["trf", "the longest reply, as a response", "/v1/responses/resp_convbook{p}x1", inParts],
  ["trf", "the longest reply, a response's stream", "/v1/responses/resp_convbook{p}x1?stream=true", inParts],
  ["trf", "a conversation, as OpenAI has it", "/v1/conversations/conv_long_{p}"],
  ["trf", "items of 131,072 characters", "/v1/conversations/conv_long_{p}/items?limit=100", inParts],
  ["rf", "the first items of 50,000", "/v1/conversations/conv_deep_0/items?limit=100&order=asc"],
  [
    "trf",
    "the longest reply, as an item",
    "/v1/conversations/conv_book_{p}/items/msg_convbook{p}x1",
    inParts,
  ],
  ["trf", "what a response was asked", "/v1/responses/resp_convlong{p}x1/input_items"],
  ["trf", "the limit", "/usage"],
  ["rf", "use by day, 400 days", `/usage/history?groupBy=day&${period}`],
  ["rf", "use by twin, 300,000 sums", `/usage/history?groupBy=twin&${period}`, inParts],
  ["rf", "use by end user, 300,000 sums", `/usage/history?groupBy=endUser&${period}`, inParts],
  ["rf", "use by end user, the last page", `/usage/history?groupBy=endUser&${period}&page=753`, inParts],
  [
    "rf",
    "use by end user, one day",
    "/usage/history?groupBy=endUser&from=2026-11-01&to=2026-11-01&limit=100",
    inParts,
  ],
  ["rf", "100 rated replies of 131,072 characters", "/feedback?limit=100"],
  [
    "rf",
    "the last 100 of a twin's 75,000 rated replies",
    "/feedback?limit=100&page=750&twinId=echo&rating=down",
  ],
  ["rf", "100 of 25,000 unanswered questions", "/questions/unanswered?limit=100"],
  ["rf", "100 unanswered questions of 131,072 characters", "/questions/unanswered?limit=100&page=251"],
  ["rf", "an export of 10,000 conversations", "/end-users/cleo_0/export", inParts],
  ["rf", "an export of 50,000 messages", "/end-users/bob_0/export", inParts],
  [
    "rf",
    "an export of messages of 131,072 characters, and the longest reply",
    "/end-users/ann_{p}/export",
    inParts,
  ],
  ["j", "the owner's keys", "/auth/api-keys?limit=100"],
  ["j", "a twin's file of 1 MiB", "/twins/own/file", inParts],
  ["j", "a twin's versions", "/twins/own/versions"],
  ["j", "a twin's documents", "/twins/own/documents?limit=100"],
  ["j", "a twin's document of 1 MiB", "/twins/own/documents/long.md", inParts],
  ["j", "the owner's webhooks", "/webhooks?limit=100"],
  ["j", "a webhook", "/webhooks/hook_0"],
  ["j", "100 deliveries", "/webhooks/hook_0/deliveries?limit=100"],
];

/** The largest file of a twin, with a golden question. */
export const ownTwin: string = `---\nname: Own\ntests:\n  - ask: What is this?\n---\n${"## Words\n\nA line of words.\n\n".repeat(36_000)}`;
/** A file whose tables become as long as may be: each cell spans a hundred columns. */
const spans = `---\nname: Own\n---\n## Tables\n\n${"<table><tr><td colspan=100>a<td>b</table>\n\n".repeat(22_000)}`;
const fifty = Array.from({ length: 50 }, (_, n) => `twin-${n}`);
const writes: readonly (readonly [
  who: string,
  method: string,
  what: string,
  path: string,
  body?: object | string | undefined,
  mayTake?: number,
])[] = [
  [
    "tf",
    "POST",
    "a title of 200 characters",
    "/conversations",
    { twinId: "echo", title: costly.repeat(200) },
  ],
  ["f", "POST", "a client token for 50 twins", "/client-tokens", { endUser: "dora", twinIds: fifty }],
  [
    "f",
    "PUT",
    "a memory of 4,000 characters",
    "/end-users/ann_{p}/memory/echo",
    { content: costly.repeat(4_000) },
  ],
  [
    "tf",
    "PUT",
    "a comment of 1,000 characters",
    `${long}/msg_convlong{p}x1/feedback`,
    { rating: "up", comment: costly.repeat(1_000) },
  ],
  [
    "tf",
    "PATCH",
    "a new title of 200 characters",
    "/conversations/conv_long_{p}",
    { title: costly.repeat(200) },
  ],
  ["tf", "DELETE", "a rating that is taken back", `${long}/msg_convlong{p}x1/feedback`],
  ["tf", "POST", "an ended reply, cancelled", `${book}/msg_convbook{p}x1/cancel`, undefined, inParts],
  [
    "tf",
    "POST",
    "an ended response, cancelled",
    "/v1/responses/resp_convbook{p}x1/cancel",
    undefined,
    inParts,
  ],
  ["tf", "DELETE", "a response among others, refused", "/v1/responses/resp_convlong{p}x1"],
  ["tf", "DELETE", "an item, refused", "/v1/conversations/conv_long_{p}/items/msg_convlong{p}x1"],
  ["tf", "POST", "a conversation with 16 pairs", "/v1/conversations", { metadata: pairs }],
  ["tf", "POST", "16 other pairs", "/v1/conversations/conv_long_{p}", { metadata: pairs }],
  ["tf", "DELETE", "a conversation, as OpenAI has it", "/v1/conversations/{id}"],
  ["f", "GET", "a memory", "/end-users/ann_{p}/memory/echo"],
  ["f", "DELETE", "a memory, deleted", "/end-users/ann_{p}/memory/echo"],
  ["f", "DELETE", "the client tokens of a person, deleted", "/client-tokens?endUser=dora"],
  ["j", "PUT", "a twin of 1 MiB", "/twins/own/file", ownTwin, inParts],
  ["j", "POST", "a file of 1 MiB, checked", "/twins/check", ownTwin, inParts],
  ["j", "POST", "a file of 22,000 tables of HTML, checked", "/twins/check", spans, inParts],
  ["j", "PUT", "a document of 1 MiB", "/twins/own/documents/long.md", ownTwin, inParts],
  [
    "j",
    "POST",
    "an answer, taught",
    "/twins/own/answers",
    { question: "Who are you {n}?", answer: costly.repeat(1_000) },
    inParts,
  ],
  ["j", "POST", "a version, restored", "/twins/own/versions/1/restore", undefined, inParts],
  ["j", "DELETE", "a document, deleted", "/twins/own/documents/long.md", undefined, inParts],
  ["j", "DELETE", "a twin, deleted", "/twins/own"],
  ["j", "POST", "a key, rotated", "/auth/api-keys/key_{n}/rotate", {}],
  ["j", "POST", "a key with a name of 100 characters", "/auth/api-keys", { name: costly.repeat(100) }],
  ["j", "DELETE", "a key, revoked", "/auth/api-keys/key_{n}"],
  [
    "j",
    "POST",
    "a webhook with an address of 2,048 characters",
    "/webhooks",
    { url: receiver.padEnd(2_048, "a"), description: costly.repeat(200) },
  ],
  ["j", "POST", "a webhook, rotated", "/webhooks/hook_0/rotate"],
  ["j", "POST", "a delivery, tried again", "/webhooks/hook_0/deliveries/dlv_0/retry"],
  ["j", "DELETE", "a webhook, deleted", "/webhooks/hook_0"],
  ["tf", "POST", "/mcp: 1,000 twins", "/mcp", toolCall("list_twins", {})],
  [
    "tf",
    "POST",
    "/mcp: 32,000 characters",
    "/mcp",
    toolCall("ask_twin", { twin: "echo", question: costly.repeat(32_000) }),
  ],
];

function toolCall(name: string, args: object) {
  return { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name, arguments: args } };
}

const cut = (text: string, length: number) =>
  [...text.repeat(Math.ceil((2 * length) / text.length))].slice(0, length).join("");
/** Words that no text has, in questions of several parts. */
const unknown = Array.from({ length: 1_600 }, (_, n) => {
  const word = `${n * 7_919}`.replaceAll(/\d/g, (digit) => "qxzwkvjyph".charAt(Number(digit)));
  return `${word.padEnd(20, "x")}${n % 40 === 39 ? "?\n" : n % 8 === 7 ? ", topic" : ""} `;
}).join("");
const scripts = {
  English: "topic 7 and words, ",
  "short sentences": "zq, ",
  "unknown words": unknown,
  "one letter": "a",
  Han: "中文字",
  "rare Han": costly,
  Kana: "かな",
  Thai: "ภาษาไทย",
  Khmer: "ភាសាខ្មែរ",
  Myanmar: "မြန်မာ",
};
const said: readonly (readonly [what: string, twin: string, content: string, mayTake?: number])[] = [
  ["32,000 characters, repeated", "echo", costly.repeat(32_000)],
  ["16,000 words, repeated", "echo", cut("a ", 31_999)],
  ...Object.entries(scripts).flatMap(([script, text]) => [
    [`a question of 4,000 characters, ${script}`, "library", cut(text, 4_000)] as const,
    // The time is linear in the length, of which 4,000 characters may take 50 ms.
    [`a question of 32,000 characters, ${script}`, "library", cut(text, 31_999), 400] as const,
  ]),
];

const spoken = [
  ...Array.from({ length: 125 }, (_, n) => ({
    role: n % 2 === 0 ? "user" : "assistant",
    content: costly.repeat(8_000),
  })),
  { role: "user", content: "And now?" },
];
const many = Array.from({ length: 20_000 }, () => ({ role: "user", content: "a word ".repeat(25) }));
const tooMany = Array.from({ length: 139_001 }, () => ({ role: "user", content: "a" }));
const bodies: readonly (readonly [what: string, messages: readonly object[], stream: boolean])[] = [
  ["4 MB of long messages", spoken, false],
  ["4 MB of 20,000 messages", many, false],
  ["4 MB of 139,000 messages, refused", tooMany, false],
  ["131,072 characters, streamed", [{ role: "user", content: cut("字", 131_072) }], true],
  ["65,536 words, streamed", [{ role: "user", content: cut("a ", 131_071) }], true],
];

/** All of them. Those that delete something are the last ones. */
export const lines: readonly Line[] = [
  ...gets.map(([who, what, path, mayTake]) => lineOf({ who, what, method: "GET", path }, mayTake)),
  {
    ...lineOf(
      {
        who: "trf",
        what: "the stream of a conversation, from its beginning",
        method: "GET",
        path: "/conversations/conv_long_{p}/stream?after=0.0",
      },
      inParts,
    ),
    endless: true,
  },
  {
    ...lineOf(
      {
        who: "rf",
        what: "the stream of a conversation of 50,000 messages, from its beginning",
        method: "GET",
        path: "/conversations/conv_deep_0/stream?after=0.0",
      },
      inParts,
    ),
    endless: true,
  },
  ...writes.map(([who, method, what, path, body, mayTake]) =>
    lineOf(
      { who, what, method, path, ...(body && { body }), ...(path.includes("{id}") && { twin: "echo" }) },
      mayTake,
    ),
  ),
  ...said.flatMap(([what, twin, content, mayTake]) =>
    ["", "/stream"]
      .map((end) => {
        const path = `/conversations/{id}/messages${end}`;
        return lineOf(
          { who: "tf", what: `${what}${end && ", streamed"}`, method: "POST", path, body: { content }, twin },
          mayTake,
        );
      })
      .slice(0, twin === "echo" ? 2 : 1),
  ),
  ...bodies.flatMap(([what, messages, stream]) => [
    lineOf({
      who: "tf",
      what: `a completion: ${what}`,
      method: "POST",
      path: "/v1/chat/completions",
      body: { model: "echo", messages, stream },
    }),
    lineOf({
      who: "tf",
      what: `a response: ${what}`,
      method: "POST",
      path: "/v1/responses",
      body: { model: "echo", input: messages, stream },
    }),
  ]),
  lineOf(
    {
      who: "f",
      what: "20 items of 131,072 characters, refused",
      method: "POST",
      path: "/v1/conversations/{id}/items",
      body: { items: Array.from({ length: 20 }, () => ({ role: "user", content: costly.repeat(65_000) })) },
    },
    inParts,
  ),
  lineOf(
    { who: "f", what: "deleting 50,000 messages", method: "DELETE", path: "/conversations/conv_deep_{n}" },
    inParts,
  ),
  lineOf(
    { who: "f", what: "erasing 10,000 conversations", method: "DELETE", path: "/end-users/cleo_{n}" },
    inParts,
  ),
];

function lineOf(line: Line, mayTake?: number): Line {
  const path = /^\/(v1|mcp|healthz|readyz)/.test(line.path) ? line.path : `/api/v1${line.path}`;
  return { ...line, path, ...(mayTake !== undefined && { mayTake }) };
}
