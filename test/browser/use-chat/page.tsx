/**
 * A page as a user of the AI SDK writes it: `useChat` with our transport. Type-checked against the real packages.
 */

import { useChat } from "@ai-sdk/react";
import type { ChatTransport, UIMessage } from "ai";
import { useEffect, useState } from "react";
import { createRoot } from "react-dom/client";
import {
  createChatTransport,
  followSaid,
  type StoredUIMessage,
  toUIMessages,
} from "../../../client/ai-sdk.ts";
import { TwinClient } from "../../../client/mod.ts";

const { searchParams } = new URL(location.href);
const id = searchParams.get("conversation") ?? "";
const client = new TwinClient({ baseUrl: location.origin, apiKey: searchParams.get("key") ?? "" });
const transport: ChatTransport<UIMessage> = createChatTransport(client, { twinId: "echo" });
const newest = { order: "desc", limit: 100 } as const;
const history = id.startsWith("conv_") ? (await client.messages.list(id, newest)).data : [];
const messages: UIMessage[] = toUIMessages(history.toReversed());

function Chat() {
  const chat = useChat({ id, transport, messages, resume: true });
  const [text, setText] = useState("");
  const { setMessages } = chat;
  useEffect(() => {
    const left = new AbortController();
    const said = (message: StoredUIMessage) => setMessages((shown) => [...shown, message]);
    if (id.startsWith("conv_"))
      void followSaid(client, id, said, { signal: left.signal, after: history[0]?.id });
    return () => left.abort();
  }, [setMessages]);
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        void chat.sendMessage({ text });
      }}
    >
      <p id="status">{chat.status}</p>
      <p id="error">{chat.error?.message}</p>
      {chat.messages.map((message) => (
        <p key={message.id} className={message.role}>
          {message.parts.map((part) => (part.type === "text" ? part.text : ""))}
        </p>
      ))}
      <input id="text" value={text} onChange={(event) => setText(event.target.value)} />
      <button id="send" type="submit">
        Send
      </button>
      <button id="stop" type="button" onClick={() => void chat.stop()}>
        Stop
      </button>
    </form>
  );
}

createRoot(document.body.appendChild(document.createElement("main"))).render(<Chat />);
