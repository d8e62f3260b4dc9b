/**
 * The least that a durable send can be, through the service's own adapter and store: the body is read,
 * the question and then the reply are stored, the reply is answered. No key, limit, validation, history or engine.
 */

import { systemRandom } from "../../core/base/crypto.ts";
import { createIds } from "../../core/base/ids.ts";
import { readBytes } from "../../core/http/body.ts";
import { type Service, type Store, systemClock } from "../../core/mod.ts";
import { completed } from "../../core/replies/outcome.ts";
import { newMessages } from "../../core/replies/send.ts";
import { ended } from "../../core/store/records.ts";
import { type Answer, readHeaderFields } from "../../core/wire/request.ts";
import { deltaEvent, tokens } from "./reply.ts";

const text = tokens.join("");
const state = completed({ finishReason: "stop", usage: null });
const newId = createIds(systemClock, systemRandom);
const decoder = new TextDecoder();

/** The same service, except that each request is such a send. `owners`: of all conversations, by their ids. */
export function onlyStoring(service: Service, store: Store, owners: ReadonlyMap<string, string>): Service {
  const lengths = new Map<string, number>();

  async function send(id: string, content: string) {
    const owner = owners.get(id) ?? "";
    const position = lengths.get(id) ?? 0;
    lengths.set(id, position + 2);
    const { question, reply } = newMessages(
      { conversationId: id, content, twinRevision: null },
      newId,
      Date.now(),
    );
    const lease = { holder: "bench", until: reply.createdAt + 30_000 };
    const { outcome } = await store.beginReply({ owner, question, reply, lease, position });
    if (outcome !== "begun") throw new Error(`The store answered ${outcome}.`);
    const completedAt = reply.createdAt;
    await store.endReply({ owner, conversationId: id, id: reply.id, content: text, completedAt, ...state });
    return ended(reply, state, { content: text, sources: null }, completedAt);
  }

  return {
    ...service,
    async answer(request) {
      const [, id = "", stream] = /\/conversations\/([^/]+)\/messages(\/stream)?$/.exec(request.url) ?? [];
      const { content } = JSON.parse(
        decoder.decode(await readBytes(request, readHeaderFields(request.headers), systemClock)),
      );
      const message = await send(id, content);
      return stream ? asEvents(message) : asJson(message);
    },
  };
}

function asEvents(message: object): Answer {
  const complete = `data: ${JSON.stringify({ type: "complete", message })}\n\n`;
  return { status: 200, headers: { "Content-Type": "text/event-stream" }, body: deltaEvent(text) + complete };
}

function asJson(message: object): Answer {
  const body = JSON.stringify({ data: message });
  return { status: 200, headers: { "Content-Type": "application/json" }, body };
}
