/**
 * The script of a page that sends one message with the client, and reads the reply.
 */

import { TwinClient } from "../../../client/mod.ts";
import type { Connection, Reading } from "../../client/broken-connections.ts";
import { allOf, collect } from "../../client/collect.ts";

declare global {
  function sendMessage(to: Connection): void;
  /** The number of characters that have come so far. */
  function receivedLength(): number;
  /** Resolves once the reply has ended. */
  function whatCame(): ReturnType<Reading["end"]>;
}

globalThis.sendMessage = ({ baseUrl, apiKey, conversationId }) => {
  const client = new TwinClient({ baseUrl, apiKey, silenceMs: 300 });
  const reply = client.messages.stream(conversationId, { content: "Hello?" });
  const { events, end } = collect(reply);
  const all = Promise.all([reply.final(), allOf(reply.text), end]);
  globalThis.receivedLength = () => events.at(-1)?.id ?? 0;
  globalThis.whatCame = async () => {
    const [final, text] = await all;
    return { final, events, text: text.join("") };
  };
};
