/**
 * The playground: twins, conversations with them, and what passes over the wire meanwhile.
 *
 * @module
 */

import { type Conversation, RateLimitError, type Twin, TwinServiceError } from "../../client/mod.ts";
import { byId, followEnd } from "../shared/dom.ts";
import { ConversationView, choice, titleOf } from "./conversation.ts";
import { conversationOfPage, nameConversation, type Session, signIn, tokenOfPage } from "./session.ts";
import { Wire } from "./wire.ts";

const page = {
  signIn: byId("signin", HTMLElement),
  signInForm: byId("signin-form", HTMLFormElement),
  signInReason: byId("signin-reason", HTMLElement),
  credential: byId("credential", HTMLInputElement),
  account: byId("account", HTMLElement),
  workbench: byId("workbench", HTMLElement),
  twins: byId("twins", HTMLElement),
  conversations: byId("conversations", HTMLElement),
  title: byId("chat-title", HTMLElement),
  about: byId("chat-about", HTMLElement),
  messages: byId("messages", HTMLElement),
  composer: byId("composer", HTMLFormElement),
  content: byId("content", HTMLTextAreaElement),
  state: byId("state", HTMLElement),
  problem: byId("problem", HTMLElement),
};
const buttons = {
  send: byId("send", HTMLButtonElement),
  twice: byId("twice", HTMLButtonElement),
  cut: byId("cut", HTMLButtonElement),
  resume: byId("resume", HTMLButtonElement),
  cancel: byId("cancel", HTMLButtonElement),
};
const showEnd = followEnd(page.messages);
const wire = new Wire(byId("wire", HTMLElement), byId("offset", HTMLOutputElement));

let session: Session | undefined;
let twins: readonly Twin[] = [];
let twin: Twin | undefined;
let conversations: readonly Conversation[] = [];
let view: ConversationView | undefined;

/** Runs what a person asked for, and shows why it failed if it does. */
async function attempt(work: () => Promise<void>): Promise<void> {
  page.problem.textContent = "";
  try {
    await work();
  } catch (error) {
    showProblem(error);
  }
}

function showProblem(error: unknown): void {
  page.problem.textContent = reasonOf(error);
}

function reasonOf(error: unknown): string {
  if (error instanceof RateLimitError) return `${error.message} Try again in ${error.retryAfterSeconds} s.`;
  if (error instanceof TwinServiceError) return `${error.code}: ${error.message}`;
  return error instanceof Error ? error.message : String(error);
}

async function enter(credential: string): Promise<void> {
  try {
    session = await signIn(credential, wire.fetch);
  } catch (error) {
    askToSignIn(reasonOf(error));
    return;
  }
  page.signIn.hidden = true;
  page.workbench.hidden = false;
  await attempt(begin);
}

function askToSignIn(reason: string): void {
  page.signInReason.textContent = reason;
  page.signIn.hidden = false;
  page.credential.focus();
}

/** Shows the twins, and the conversation that the address names. */
async function begin(): Promise<void> {
  const { client } = required(session);
  void showUsage();
  twins = (await client.twins.list({ limit: 100 })).data;
  const id = conversationOfPage();
  const named = id === undefined ? undefined : await client.conversations.get(id).catch(() => undefined);
  const first = twins.find(({ id }) => id === named?.twinId) ?? twins[0];
  if (!first) page.title.textContent = "There is no twin to talk to.";
  else await chooseTwin(first, named);
}

async function chooseTwin(chosen: Twin, named?: Conversation): Promise<void> {
  twin = chosen;
  conversations = (await required(session).client.conversations.list({ twinId: chosen.id, limit: 30 })).data;
  if (named) await openConversation(named);
  else showNewConversation();
}

/** A conversation begins with its first message, so that nothing is stored before. */
function showNewConversation(): void {
  leaveConversation();
  nameConversation(undefined);
  const { greeting } = required(twin);
  page.messages.replaceChildren(...(greeting === null ? [] : [greetingOf(greeting)]));
  showEnd();
  show();
}

function greetingOf(text: string): HTMLElement {
  const element = document.createElement("article");
  element.className = "message twin";
  element.textContent = text;
  return element;
}

async function openConversation(conversation: Conversation): Promise<void> {
  leaveConversation();
  nameConversation(conversation.id);
  view = viewOf(conversation);
  show();
  await view.open();
}

function leaveConversation(): void {
  view?.close();
  view = undefined;
}

function viewOf(conversation: Conversation): ConversationView {
  const { client } = required(session);
  const listener = {
    moved: showEnd,
    changed: showState,
    editing(content: string) {
      write(content);
      page.content.focus();
      page.state.textContent = "Editing … Escape leaves the message as it is.";
    },
    ended() {
      showState();
      void showUsage();
    },
    renamed(renamed: Conversation) {
      if (!conversations.some(({ id, title }) => id === renamed.id && title !== renamed.title)) return;
      conversations = conversations.map((each) => (each.id === renamed.id ? renamed : each));
      showChoices();
    },
    deleted() {
      conversations = conversations.filter(({ id }) => id !== conversation.id);
      showNewConversation();
      page.problem.textContent = "This conversation was deleted.";
    },
    failed(error: unknown) {
      showProblem(error);
      showState();
    },
  };
  return new ConversationView(conversation, { client, twin: required(twin), list: page.messages, listener });
}

async function send(twice: boolean): Promise<void> {
  const content = page.content.value;
  if (content.trim() === "" || (view && view.state !== "idle")) return;
  write(""); // at once, so that nothing is sent twice
  try {
    const current = view ?? (await beginConversation(content));
    current.send(content, { twice });
  } catch (error) {
    if (page.content.value === "") write(content); // else something else has been written meanwhile
    throw error;
  }
}

function write(content: string): void {
  page.content.value = content;
  grow();
}

async function beginConversation(content: string): Promise<ConversationView> {
  const title = content.trim().slice(0, 60);
  const created = await required(session).client.conversations.create({ twinId: required(twin).id, title });
  conversations = [created, ...conversations];
  nameConversation(created.id);
  view = viewOf(created);
  view.follow();
  show();
  return view;
}

/** Shows what is chosen. The chosen button is a new one, so the focus goes on to the text. */
function show(): void {
  const chosen = required(twin);
  page.title.textContent = chosen.name;
  page.about.textContent = chosen.description;
  showChoices();
  showState();
  if (matchMedia("(hover: hover)").matches) page.content.focus();
}

/** Shows what there is to choose. */
function showChoices(): void {
  page.twins.replaceChildren(
    ...twins.map((each) =>
      choice(each.name, each.description ?? "", each === twin, () => void attempt(() => chooseTwin(each))),
    ),
  );
  page.conversations.replaceChildren(
    choice("New conversation", "", view === undefined, showNewConversation),
    ...conversations.map((each) => {
      const isOpen = each.id === view?.conversation.id;
      return choice(titleOf(each), "", isOpen, () => void attempt(() => openConversation(each)));
    }),
  );
}

/** Shows what the reply is doing, and which buttons do something. */
function showState(): void {
  const state = view?.state ?? "idle";
  buttons.send.disabled = state !== "idle";
  buttons.twice.disabled = state !== "idle";
  buttons.cut.disabled = state !== "following";
  buttons.resume.disabled = state !== "cut";
  buttons.cancel.disabled = state !== "following" && state !== "cut";
  page.state.textContent = describe(state, view?.offset ?? 0);
}

function describe(state: ConversationView["state"], offset: number): string {
  switch (state) {
    case "idle":
      return "";
    case "sending":
      return "Sending …";
    case "following":
      return "Replying …";
    case "cut":
      return `Cut at offset ${offset}; the reply goes on.`;
  }
}

async function showUsage(): Promise<void> {
  const { client, name } = required(session);
  try {
    const { remaining, limit } = await client.usage.get();
    page.account.textContent = `${name} · ${remaining} of ${limit} requests left`;
  } catch (error) {
    showProblem(error);
  }
}

function required<Value>(value: Value | undefined): Value {
  if (value === undefined) throw new Error("This happens only once a user is signed in.");
  return value;
}

/** Has the text field grow with its text. */
function grow(): void {
  page.content.style.height = "auto";
  page.content.style.height = `${page.content.scrollHeight}px`;
}

/** On narrow screens, one part is shown at a time. */
function showPart(part: string): void {
  page.workbench.dataset.part = part;
  for (const each of ["people", "chat", "wire"]) {
    byId(`show-${each}`, HTMLButtonElement).setAttribute("aria-pressed", String(each === part));
  }
}

for (const part of ["people", "chat", "wire"]) {
  byId(`show-${part}`, HTMLButtonElement).addEventListener("click", () => showPart(part));
}
byId("people", HTMLElement).addEventListener("click", () => showPart("chat"));
showPart("chat");

page.signInForm.addEventListener("submit", (event) => {
  event.preventDefault();
  void enter(page.credential.value.trim());
});
page.composer.addEventListener("submit", (event) => {
  event.preventDefault();
  void attempt(() => send(false));
});
page.content.addEventListener("input", grow);
page.content.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && view?.stopEditing()) {
    write("");
    showState();
  }
  if (event.key !== "Enter" || event.shiftKey || event.isComposing || event.keyCode === 229) return;
  event.preventDefault();
  page.composer.requestSubmit();
});
buttons.twice.addEventListener("click", () => void attempt(() => send(true)));
buttons.cut.addEventListener("click", () => view?.cut());
buttons.resume.addEventListener("click", () => view?.resume());
buttons.cancel.addEventListener("click", () => void attempt(async () => view?.cancel()));
byId("clear", HTMLButtonElement).addEventListener("click", () => wire.clear());

async function start(): Promise<void> {
  try {
    const token = await tokenOfPage();
    if (token === undefined) askToSignIn("");
    else await enter(token);
  } catch (error) {
    askToSignIn(reasonOf(error));
  }
}

void start();
