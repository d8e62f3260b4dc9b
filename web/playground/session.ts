/**
 * Who uses the page: the credential that it was opened with, and the API key that it made of it.
 *
 * @module
 */

import { AuthenticationError, TwinClient } from "../../client/mod.ts";
import { keep, kept } from "../shared/kept.ts";

/** Where the service is: the page is at its root. */
export const baseUrl = new URL(".", location.href).href.replace(/\/$/, "");

/** A credential in use. */
export interface Session {
  readonly client: TwinClient;
  /** What to call it. */
  readonly name: string;
  /** Whose conversations it shows: "alice". */
  readonly whose: string;
  /** The same client, whose requests are not shown. */
  readonly quiet: TwinClient;
  /** Whether it may do more than read. */
  readonly mayWrite: boolean;
  /** The questions to begin with a twin. */
  starters(twinId: string): Promise<readonly string[]>;
  /** The client of who signed in with a token: it manages keys. */
  readonly owner?: TwinClient;
  /** That token. */
  readonly token?: string;
  /** The key that the page has made for itself. */
  readonly keyId?: string;
}

/** What a page signs in with. */
export interface Credentials {
  /** An API key, or a JWT. */
  readonly credential: string;
  /** The key that the page made of a JWT, which lasts longer than that. */
  readonly key?: string;
}

/** Where the tab keeps what it signs in with. */
const place = "playground";

/** Whether the page comes from the machine that it is shown on. */
const isOwnMachine = /^(localhost|127(\.\d+){3}|\[::1\])$/.test(location.hostname);

/**
 * What the page signs in with: the code of the server's link, which works once and is exchanged for a JWT, or what the tab
 * has kept over a reload. A credential in the address is never used: anyone could have made such a link.
 */
export async function credentialsOfPage(): Promise<Credentials | undefined> {
  const code = new URLSearchParams(location.hash.slice(1)).get("code");
  if (code === null) {
    const text = kept(place);
    return text === null ? undefined : JSON.parse(text);
  }
  history.replaceState(null, "", location.pathname);
  const headers = { Authorization: `Bearer ${code}` };
  const answer = await fetch(`${baseUrl}/sign-in`, { method: "POST", headers });
  const { data, error } = await answer.json();
  if (!answer.ok) throw new Error(error.message);
  return { credential: data.token };
}

/** Has the tab keep what it signs in with over a reload, on one's own machine alone. */
function keepCredentials(credentials: Credentials): void {
  if (isOwnMachine) keep(place, JSON.stringify(credentials));
}

export function signOut(): void {
  keep(place, null);
  location.replace(location.pathname);
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

/** Signs in with an API key, or with a JWT, of which it makes a key. That ends with the page, or within a day. */
export async function signIn(
  { credential, key: earlierKey }: Credentials,
  fetch: typeof globalThis.fetch,
): Promise<Session> {
  if (credential.startsWith("twin")) {
    const session = await signInWithKey(credential, fetch);
    keepCredentials({ credential });
    return session;
  }
  const owner = new TwinClient({ baseUrl, apiKey: credential, fetch });
  const whose = subjectOf(credential) ?? "the token's owner";
  try {
    const made = await owner.keys.create({ name: "playground", scope: "full_access", expiresInDays: 1 });
    revokeWithPage(made.id, credential);
    keepCredentials({ credential, key: made.key });
    return { ...sessionOf(made.key, fetch), whose, mayWrite: true, owner, token: credential, keyId: made.id };
  } catch (error) {
    // The token has expired since the page was opened: its key can still be used.
    if (!(error instanceof AuthenticationError) || earlierKey === undefined) throw error;
    return { ...(await signInWithKey(earlierKey, fetch)), whose, owner, token: credential };
  }
}

async function signInWithKey(key: string, fetch: typeof globalThis.fetch): Promise<Session> {
  const session = sessionOf(key, fetch);
  const { scope } = await session.client.usage.get();
  const whose = key.startsWith("twinct_") ? "one person" : "this key's owner";
  return { ...session, whose, mayWrite: scope === "full_access" };
}

function sessionOf(key: string, fetch: typeof globalThis.fetch) {
  const client = new TwinClient({ baseUrl, apiKey: key, fetch, onBusy: "wait" });
  const quiet = new TwinClient({ baseUrl, apiKey: key });
  /** Asks the page's own server, which has questions for twins with files. */
  const starters = async (twinId: string) => {
    const headers = { Authorization: `Bearer ${key}` };
    const answer = await globalThis.fetch(`${baseUrl}/starters/${encodeURIComponent(twinId)}`, { headers });
    return answer.ok ? (await answer.json()).data : [];
  };
  return { client, quiet, name: `${key.slice(0, 12)}…`, starters };
}

/** Whose a JWT is, as it says itself: only to be shown. Undefined: it is no JWT. */
function subjectOf(token: string): string | undefined {
  try {
    const bytes = atob((token.split(".")[1] ?? "").replaceAll("-", "+").replaceAll("_", "/"));
    const { sub } = JSON.parse(
      new TextDecoder().decode(Uint8Array.from(bytes, (each) => each.charCodeAt(0))),
    );
    return typeof sub === "string" ? sub : undefined;
  } catch {
    return undefined;
  }
}

/** A page that is left for good has no further use for its key. */
function revokeWithPage(id: string, token: string): void {
  addEventListener("pagehide", ({ persisted }) => {
    if (persisted) return;
    const headers = { Authorization: `Bearer ${token}` };
    void fetch(`${baseUrl}/api/v1/auth/api-keys/${id}`, { method: "DELETE", headers, keepalive: true });
  });
}
