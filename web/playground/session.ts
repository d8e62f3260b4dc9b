/**
 * Who uses the page: the credential that it was opened with, and the API key that it made of it.
 *
 * @module
 */

import { TwinClient } from "../../client/mod.ts";

/** Where the service is: the page is at its root. */
export const baseUrl = new URL(".", location.href).href.replace(/\/$/, "");

/** A key in use. */
export interface Session {
  readonly client: TwinClient;
  /** What to call it. */
  readonly name: string;
}

/**
 * The token of whoever opened the page by the server's link: its code, which works once, is exchanged for it. The token is
 * in the history entry, where a reload finds it and no one sees it. A credential in the address is never used: anyone could
 * have made such a link. Undefined: the page was opened otherwise.
 */
export async function tokenOfPage(): Promise<string | undefined> {
  const fragment = new URLSearchParams(location.hash.slice(1));
  const code = fragment.get("code");
  if (code !== null) {
    history.replaceState(null, "", location.pathname);
    const headers = { Authorization: `Bearer ${code}` };
    const answer = await fetch(`${baseUrl}/sign-in`, { method: "POST", headers });
    const { data, error } = await answer.json();
    if (!answer.ok) throw new Error(error.message);
    history.replaceState({ token: data.token }, "", location.pathname);
  }
  return history.state?.token;
}

/** The conversation that the address names. */
export function conversationOfPage(): string | undefined {
  return new URLSearchParams(location.hash.slice(1)).get("conversation") ?? undefined;
}

/** Has the address name a conversation, so that a reload shows it again. */
export function nameConversation(id: string | undefined): void {
  history.replaceState(history.state, "", id === undefined ? location.pathname : `#conversation=${id}`);
}

/** Signs in with an API key, or with a JWT, of which it makes a key. That ends with the page. */
export async function signIn(credential: string, fetch: typeof globalThis.fetch): Promise<Session> {
  if (credential.startsWith("twin")) {
    const client = new TwinClient({ baseUrl, apiKey: credential, fetch, onBusy: "wait" });
    await client.usage.get();
    return { client, name: `${credential.slice(0, 12)}…` };
  }
  const owner = new TwinClient({ baseUrl, apiKey: credential, fetch });
  const { key, id, prefix } = await owner.keys.create({
    name: "playground",
    scope: "full_access",
    expiresInDays: 1,
  });
  revokeWithPage(id, credential);
  return { client: new TwinClient({ baseUrl, apiKey: key, fetch, onBusy: "wait" }), name: `${prefix}…` };
}

/** A page that is left for good has no further use for its key. */
function revokeWithPage(id: string, token: string): void {
  addEventListener("pagehide", ({ persisted }) => {
    if (persisted) return;
    const headers = { Authorization: `Bearer ${token}` };
    void fetch(`${baseUrl}/api/v1/auth/api-keys/${id}`, { method: "DELETE", headers, keepalive: true });
  });
}
