/**
 * A page with the chat of docs/client.md, as React's strict mode mounts it: twice.
 */

import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { TwinClient } from "../../../client/mod.ts";
import { Chat } from "./chat.tsx";

const { searchParams } = new URL(location.href);
const client = new TwinClient({ baseUrl: location.origin, apiKey: searchParams.get("key") ?? "" });
const root = document.body.appendChild(document.createElement("main"));
createRoot(root).render(
  <StrictMode>
    <Chat client={client} id={searchParams.get("conversation") ?? ""} />
  </StrictMode>,
);
