/**
 * The tab of keys: which there are, making one, revoking one.
 *
 * @module
 */

import { type ApiKey, AuthenticationError, type CreatedApiKey, type TwinClient } from "../../client/mod.ts";
import { byId, h } from "../shared/dom.ts";
import { ask } from "./dialog.ts";
import { announce, copyButton, reasonOf, timeElement } from "./page.ts";
import { failure, loading } from "./paged-list.ts";
import type { Session } from "./session.ts";

/** Shows the tab anew. `signIn`: asks for another credential. */
export function openKeys(session: Session, signIn: () => void): void {
  const place = byId("keys-content", HTMLElement);
  const { owner } = session;
  if (!owner) {
    const text =
      "A key manages no keys. Sign in with a token of their owner to see them, to make one and to revoke one.";
    place.replaceChildren(advice(text, signIn));
    return;
  }
  const made = h("div");
  const list = h("div", { class: "listing" });
  const shown = { ...session, owner };
  const tell = (key: CreatedApiKey) => {
    made.replaceChildren(newKey(key));
    made.querySelector("button")?.focus();
    show();
  };
  const show = () => void showKeys(list, { ...shown, tell }, signIn);
  const create = newKeyForm(async (body) => tell(await owner.keys.create(body)));
  place.replaceChildren(made, create, list);
  show();
}

/** Who manages keys. */
interface Managing extends Pick<Session, "keyId"> {
  readonly owner: TwinClient;
  /** Shows the secret of a new key, or the new one of a key. */
  readonly tell: (key: CreatedApiKey) => void;
}

/** Shows all keys: those in force, and folded those that have ended. */
async function showKeys(list: HTMLElement, session: Managing, signIn: () => void): Promise<void> {
  list.replaceChildren(loading());
  const [live, ended]: HTMLElement[][] = [[], []];
  try {
    for await (const key of session.owner.keys.list({ limit: 100 }))
      (isEnded(key) ? ended : live)?.push(keyEntry(key, session));
  } catch (error) {
    const isExpired = error instanceof AuthenticationError;
    const text = "Your token has expired. Sign in with a new one to manage keys.";
    const again = () => void showKeys(list, session, signIn);
    list.replaceChildren(isExpired ? advice(text, signIn) : failure(error, again));
    return;
  }
  list.replaceChildren(
    live?.length ? h("ul", {}, ...live) : h("p", { class: "soft" }, "No key is in force."),
  );
  if (!ended?.length) return;
  const title = ended.length === 1 ? "1 key that has ended" : `${ended.length} keys that have ended`;
  list.append(h("details", {}, h("summary", {}, title), h("ul", {}, ...ended)));
}

function isEnded({ revokedAt, expiresAt }: ApiKey): boolean {
  return revokedAt !== null || (expiresAt !== null && Date.parse(expiresAt) <= Date.now());
}

function advice(text: string, signIn: () => void): HTMLElement {
  const button = h("button", { type: "button", class: "small", onclick: signIn }, "Sign in with a token");
  return h("div", { class: "advice" }, h("p", {}, text), button);
}

type KeyBody = Parameters<TwinClient["keys"]["create"]>[0];

/** A form that makes keys, folded until it is needed. */
function newKeyForm(create: (body: KeyBody) => Promise<void>): HTMLElement {
  const name = h("input", { id: "key-name", required: true, maxlength: "100", autocomplete: "off" });
  const scope = h(
    "select",
    { id: "key-scope" },
    h("option", { value: "read_only" }, "Read only"),
    h("option", { value: "full_access" }, "Full access"),
  );
  const number = (id: string, max: string, placeholder: string) =>
    h("input", { id, type: "number", min: "1", max, step: "1", placeholder });
  const expires = number("key-days", "3650", "never");
  const limit = number("key-limit", "1000000", "as its scope");
  const [tokensPerDay, tokensPerMonth] = ["day", "month"].map((period) =>
    number(`key-tokens-${period}`, "1000000000000", "no limit"),
  ) as [HTMLInputElement, HTMLInputElement];
  const problem = h("p", { class: "warn", role: "alert" });
  const submit = h("button", { type: "submit", class: "primary" }, "Make the key");
  const field = (label: string, input: HTMLElement) =>
    h("div", { class: "field" }, h("label", { for: input.id }, label), input);
  const numberIn = ({ value }: HTMLInputElement) => (value === "" ? null : Number(value));
  const send = async (event: Event) => {
    event.preventDefault();
    problem.textContent = "";
    submit.disabled = true;
    try {
      await create({
        name: name.value.trim(),
        scope: scope.value === "full_access" ? "full_access" : "read_only",
        expiresInDays: numberIn(expires),
        requestsPerHour: numberIn(limit),
        tokensPerDay: numberIn(tokensPerDay),
        tokensPerMonth: numberIn(tokensPerMonth),
      });
      form.reset();
      details.open = false;
    } catch (error) {
      problem.textContent = reasonOf(error);
    }
    submit.disabled = false;
  };
  const form = h(
    "form",
    { class: "fields", onsubmit: (event) => void send(event) },
    field("Name", name),
    field("May do", scope),
    field("Days until it ends", expires),
    field("Requests an hour", limit),
    field("Tokens a day", tokensPerDay),
    field("Tokens a month", tokensPerMonth),
    submit,
    problem,
  );
  const details = h("details", { class: "new-key" }, h("summary", {}, "New key"), form);
  return details;
}

/** The secret of a new key, until it is put away. */
function newKey({ name, key }: CreatedApiKey): HTMLElement {
  const done = h("button", { type: "button", class: "small", onclick: () => made.remove() }, "Done");
  const made = h(
    "div",
    { class: "made", role: "group", "aria-label": `The new key ${name}` },
    h("p", {}, h("strong", {}, name), " is ready. Copy its secret now: it is not shown again."),
    h("code", { tabindex: "0" }, key),
    h("div", { class: "made-buttons" }, copyButton("Copy the key", key, "primary"), done),
  );
  return made;
}

function keyEntry(key: ApiKey, { owner, keyId, tell }: Managing): HTMLElement {
  const { id, name, scope, prefix, requestsPerHour, createdAt, lastUsedAt, expiresAt, revokedAt } = key;
  const { tokensPerDay, tokensPerMonth, previousUntil } = key;
  const problem = h("p", { class: "warn", role: "alert" });
  const revoke = async () => {
    const text = `What uses it gets 401 at once. This cannot be undone: ${prefix}… never works again.`;
    if ((await ask({ title: `Revoke ${name}?`, text, action: "Revoke" })) === undefined) return;
    try {
      await owner.keys.revoke(id);
      buttons.replaceWith(h("span", { class: "state" }, "Revoked"));
      announce(`${name} is revoked.`);
    } catch (error) {
      problem.textContent = reasonOf(error);
    }
  };
  const button = h(
    "button",
    { type: "button", class: "small", "aria-label": `Revoke ${name}`, onclick: () => void revoke() },
    "Revoke",
  );
  const rotate = async () => {
    const text = "Another secret is made for it, and shown once. All else of the key stays.";
    const label = "Hours for which the secret before works as well: 0 to 168";
    const hours = await ask({
      title: `New secret for ${name}?`,
      text,
      action: "Make it",
      words: "24",
      label,
    });
    if (hours === undefined) return;
    problem.textContent = "";
    try {
      const overlapSeconds = Math.round(Number(hours) * 3600);
      if (!(overlapSeconds >= 0 && overlapSeconds <= 604_800)) throw new RangeError(`Give ${label}.`);
      tell(await owner.keys.rotate(id, { overlapSeconds }));
      announce(`${name} has a new secret.`);
    } catch (error) {
      problem.textContent = reasonOf(error);
    }
  };
  const another = h(
    "button",
    { type: "button", class: "small", "aria-label": `New secret for ${name}`, onclick: () => void rotate() },
    "New secret",
  );
  const buttons = h("span", { class: "key-buttons" }, another, button);
  const state = revokedAt !== null ? "Revoked" : isEnded(key) ? "Expired" : "Used by this page";
  const isFixed = isEnded(key) || id === keyId;
  const fact = (label: string, value: Node | string) => h("div", {}, h("dt", {}, label), h("dd", {}, value));
  return h(
    "li",
    { class: "entry key" },
    h("p", { class: "key-name" }, h("strong", {}, name), " ", h("code", {}, `${prefix}…`)),
    isFixed ? h("span", { class: "state" }, state) : buttons,
    h(
      "dl",
      { class: "facts" },
      fact("May do", scope === "full_access" ? "full access" : "read only"),
      fact("Requests an hour", requestsPerHour?.toLocaleString("en") ?? "as its scope"),
      ...(tokensPerDay === null ? [] : [fact("Tokens a day", tokensPerDay.toLocaleString("en"))]),
      ...(tokensPerMonth === null ? [] : [fact("Tokens a month", tokensPerMonth.toLocaleString("en"))]),
      fact("Last used", lastUsedAt === null ? "never" : timeElement(lastUsedAt)),
      fact("Made", timeElement(createdAt)),
      fact("Ends", expiresAt === null ? "never" : timeElement(expiresAt)),
      ...(previousUntil === null ? [] : [fact("Secret before works until", timeElement(previousUntil))]),
    ),
    problem,
  );
}
