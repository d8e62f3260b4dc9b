import { type FormEvent, useEffect, useReducer, useState } from "react";
import type { OpenConversation, TwinClient } from "twin-service/client";

export function Chat({ client, id }: { client: TwinClient; id: string }) {
  const [chat, setChat] = useState<OpenConversation>();
  const [, redraw] = useReducer((changes: number) => changes + 1, 0);
  useEffect(() => {
    let hasLeft = false;
    const opening = client.conversations.open(id, { changed: redraw });
    opening.then((opened) => (hasLeft ? opened.close() : setChat(opened)), console.warn);
    return () => {
      hasLeft = true;
      opening.then((opened) => opened.close(), console.warn);
    };
  }, [client, id]);
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    chat?.send(String(new FormData(event.currentTarget).get("text"))).catch(console.warn);
    event.currentTarget.reset();
  };
  const said = chat?.path.map((each) => (
    <p key={each.id} className={each.role}>
      {each.content}
    </p>
  ));
  return (
    <form onSubmit={submit}>
      {said}
      {chat?.unsent && <p>{`${chat.unsent.content} ${chat.unsent.error ?? "…"}`}</p>}
      <input name="text" aria-label="Message" />
      <input type="submit" value="Send" disabled={chat?.state !== "idle"} />
      {chat?.running && <input type="button" value="Stop" onClick={() => chat.cancel()} />}
    </form>
  );
}
