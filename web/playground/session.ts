/**
 * Who uses the page: the credential that it was opened with, and the API key that it made of it.
 *
 * @module
 */

import { TwinClient } from "../../client/mod.ts";

/** Where the service is: the page is at its root. */
export const baseUrl = new URL(".", location.href).href.replace(/\/$/, "");

/** A credential in use. */
export interface Session {
  readonly client: TwinClient;
  /** What to call it. */
  readonly name: string;
  /** Whether it may do more than read. */
  readonly mayWrite: boolean;
  /** The questions to begin with a twin. */
  starters(twinId: string): Promise<readonly string[]>;
  /** The client of who signed in with a token: it manages keys. */
  readonly owner?: TwinClient;
  /** The key that the page has made for itself. */
  readonly keyId?: string;
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

/** What the address names: a conversation, a tab. */
export function namedInAddress(what: "conversation" | "tab"): string | undefined {
  return new URLSearchParams(location.hash.slice(1)).get(what) ?? undefined;
}

/** Has the address name something, so that a reload shows it again. */
export function nameInAddress(what: "conversation" | "tab", value: string | undefined): void {
  const named = { conversation: namedInAddress("conversation"), tab: namedInAddress("tab"), [what]: value };
  const given = Object.entries(named).flatMap(([name, text]) =>
    text === undefined ? [] : `${name}=${text}`,
  );
  const address = given.length === 0 ? location.pathname : `#${given.join("&")}`;
  history.replaceState(history.state, "", address);
}

/** Signs in with an API key, or with a JWT, of which it makes a key. That ends with the page. */
export async function signIn(credential: string, fetch: typeof globalThis.fetch): Promise<Session> {
  if (credential.startsWith("twin")) {
    const client = new TwinClient({ baseUrl, apiKey: credential, fetch, onBusy: "wait" });
    const { scope } = await client.usage.get();
    const name = `${credential.slice(0, 12)}…`;
    return { client, name, mayWrite: scope === "full_access", starters: startersFor(credential) };
  }
  const owner = new TwinClient({ baseUrl, apiKey: credential, fetch });
  const { key, id, prefix } = await owner.keys.create({
    name: "playground",
    scope: "full_access",
    expiresInDays: 1,
  });
  revokeWithPage(id, credential);
  const client = new TwinClient({ baseUrl, apiKey: key, fetch, onBusy: "wait" });
  return { client, name: `${prefix}…`, mayWrite: true, starters: startersFor(key), owner, keyId: id };
}

/** Asks the page's own server, which has questions for twins with files. */
function startersFor(credential: string): Session["starters"] {
  return async (twinId) => {
    const headers = { Authorization: `Bearer ${credential}` };
    const answer = await fetch(`${baseUrl}/starters/${encodeURIComponent(twinId)}`, { headers });
    return answer.ok ? (await answer.json()).data : [];
  };
}

/** A page that is left for good has no further use for its key. */
function revokeWithPage(id: string, token: string): void {
  addEventListener("pagehide", ({ persisted }) => {
    if (persisted) return;
    const headers = { Authorization: `Bearer ${token}` };
    void fetch(`${baseUrl}/api/v1/auth/api-keys/${id}`, { method: "DELETE", headers, keepalive: true });
  });
}
