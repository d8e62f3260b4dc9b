/**
 * A page as a user of the AI SDK writes it: `useChat` with our transport. Type-checked against the real packages.
 */

import { useChat } from "@ai-sdk/react";
import type { ChatTransport, UIMessage } from "ai";
import { useState } from "react";
import { createRoot } from "react-dom/client";
import { createChatTransport, toUIMessages } from "../../../client/ai-sdk.ts";
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
