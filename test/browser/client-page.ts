/**
 * The script of a page that sends one message with the client, and reads the reply.
 */

import { type Message, type ReplyStream, type StreamEvent, TwinClient } from "../../client/mod.ts";
import type { Connection } from "../client/broken-connections.ts";
import { collect } from "../client/collect.ts";

/** All that a page got of a reply. */
interface Received {
  readonly final: Message;
  readonly events: StreamEvent[];
  readonly text: string;
}

declare global {
  function sendMessage(to: Connection): void;
  /** The number of characters that have come so far. */
  function receivedLength(): number;
  /** Resolves once the reply has ended. */
  function whatCame(): Promise<Received>;
}

async function textOf(reply: ReplyStream): Promise<string> {
  let text = "";
  for await (const piece of reply.text) text += piece;
  return text;
}

globalThis.sendMessage = ({ baseUrl, apiKey, conversationId }) => {
  const client = new TwinClient({ baseUrl, apiKey, silenceMs: 300 });
  const reply = client.messages.stream(conversationId, { content: "Hello?" });
  const { events, end } = collect(reply);
  const all = Promise.all([reply.final(), textOf(reply), end]);
  globalThis.receivedLength = () => events.at(-1)?.id ?? 0;
  globalThis.whatCame = async () => {
    const [final, text] = await all;
    return { final, events, text };
  };
};
