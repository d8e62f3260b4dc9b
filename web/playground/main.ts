/**
 * The playground: twins, conversations with them, and what passes over the wire meanwhile; and what an owner sees of all
 * conversations, keys and use.
 *
 * @module
 */

import type { Conversation, Twin } from "../../client/mod.ts";
import { byId, followEnd, h, submitOnEnter } from "../shared/dom.ts";
import { keep, kept } from "../shared/kept.ts";
import { showIn } from "../shared/spoken.ts";
import { firstWords } from "../shared/words.ts";
import { ConversationView, choice, titleOf } from "./conversation.ts";
import { ConversationList } from "./conversation-list.ts";
import { ask } from "./dialog.ts";
import { Inbox } from "./inbox.ts";
import { openKeys } from "./keys.ts";
import { announce, keepTimes, reasonOf } from "./page.ts";
import { openQuestions } from "./questions.ts";
import {
  type Credentials,
  credentialsOfPage,
  namedInAddress,
  nameInAddress,
  type Session,
  signIn,
  signOut,
} from "./session.ts";
import { makeTabs } from "./tabs.ts";
import type { Answering } from "./twins/answering.ts";
import { OwnTwinRequests } from "./twins/requests.ts";
import { OwnTwinsTab } from "./twins/tab.ts";
import { showUse } from "./use.ts";
import { Wire } from "./wire.ts";

const page = {
  signIn: byId("signin", HTMLElement),
  signInForm: byId("signin-form", HTMLFormElement),
  signInReason: byId("signin-reason", HTMLElement),
  credential: byId("credential", HTMLInputElement),
  account: byId("account", HTMLElement),
  signOut: byId("sign-out", HTMLButtonElement),
  tabs: byId("tabs", HTMLElement),
  desk: byId("desk", HTMLElement),
  workbench: byId("talk", HTMLElement),
  twins: byId("twins", HTMLElement),
  whose: byId("whose", HTMLElement),
  title: byId("chat-title", HTMLElement),
  about: byId("chat-about", HTMLElement),
  chatTools: byId("chat-tools", HTMLElement),
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
const wire = new Wire(byId("wire", HTMLElement), byId("offset", HTMLElement));

const inbox = new Inbox();
const ownTwins = new OwnTwinsTab({
  signIn: askToSignIn,
  changed: () => void attempt(readTwins),
  talk: (twinId) => void attempt(() => talkTo(twinId)),
});
const listed = new ConversationList();
/** Where the tab keeps whether the pane of the wire is closed. */
const wirePlace = "playground wire";

let session: Session | undefined;
let twins: readonly Twin[] = [];
let twin: Twin | undefined;
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

function showProblem(error: unknown, ...offers: readonly (HTMLElement | string)[]): void {
  page.problem.replaceChildren(reasonOf(error), ...offers); // in one change, which is spoken once
}

/** Shows why a message was not sent. Its words are in the field again, unless others have been written meanwhile. */
function showUnsent(content: string, error: unknown): void {
  if (page.content.value === "") write(content);
  const again = h("button", { type: "button", class: "small" }, "Try again");
  again.addEventListener("click", () => {
    if (page.content.value.trim() === "") write(content);
    page.composer.requestSubmit();
    page.content.focus();
  });
  showProblem(error, " ", again);
}

async function enter(credentials: Credentials): Promise<void> {
  try {
    session = await signIn(credentials, wire.fetch);
  } catch (error) {
    askToSignIn(reasonOf(error));
    return;
  }
  page.signIn.hidden = true;
  page.credential.value = "";
  page.tabs.hidden = false;
  page.desk.hidden = false;
  page.signOut.hidden = false;
  const { mayWrite, whose, client, quiet } = session;
  listed.start({
    client,
    quiet,
    begin: showNewConversation,
    open: (chosen) => void attempt(() => openConversation(chosen)),
  });
  page.whose.textContent = `Conversations of ${whose}`;
  page.content.disabled = !mayWrite;
  page.content.placeholder = mayWrite ? "Ask something" : "This key may only read.";
  const tab = namedInAddress("tab") ?? "talk";
  if (tab === "talk") selectTab(tab);
  const entered = session;
  await attempt(async () => {
    byId("tab-own-twins", HTMLElement).hidden = !(await ownTwins.start(entered));
  });
  await attempt(begin);
  inbox.start(session.quiet, mayWrite);
  if (tab !== "talk") selectTab(isShown(tab) ? tab : "questions"); // which list the twins
}

function askToSignIn(reason: string): void {
  page.signInReason.textContent = reason;
  page.tabs.hidden = true;
  page.desk.hidden = true;
  page.signIn.hidden = false;
  page.credential.focus();
}

/** Whether there is a tab of that name for who has signed in. */
function isShown(tab: string): boolean {
  return page.tabs.querySelector(`[aria-controls="${CSS.escape(tab)}"]:not([hidden])`) !== null;
}

/** Reads the twins that there are. */
async function readTwins(): Promise<void> {
  twins = (await required(session).client.twins.list({ limit: 100 })).data;
  const chosen = twin;
  twin = twins.find(({ id }) => id === chosen?.id) ?? chosen;
  if (twin) showChoices();
}

async function talkTo(twinId: string): Promise<void> {
  await readTwins();
  const chosen = twins.find(({ id }) => id === twinId);
  selectTab("talk");
  showPart("chat");
  if (chosen) await chooseTwin(chosen);
}

/** Shows the twins, and the conversation that the address names. */
async function begin(): Promise<void> {
  const { client } = required(session);
  void showUsage();
  await readTwins();
  const id = namedInAddress("conversation");
  const named = id === undefined ? undefined : await client.conversations.get(id).catch(() => undefined);
  const first = twins.find(({ id }) => id === named?.twinId) ?? twins[0];
  if (!first) page.title.textContent = "There is no twin to talk to.";
  else await chooseTwin(first, named);
}

async function chooseTwin(chosen: Twin, named?: Conversation): Promise<void> {
  twin = chosen;
  await listed.choose(chosen.id);
  if (named) await openConversation(named);
  else showNewConversation();
}

/** A conversation begins with its first message, so that nothing is stored before. */
function showNewConversation(): void {
  leaveConversation();
  nameInAddress("conversation", undefined);
  const { greeting } = required(twin);
  page.messages.replaceChildren(
    ...(greeting === null ? [] : [h("article", { class: "message twin" }, greeting)]),
  );
  showEnd();
  show();
  void offerStarters(required(twin));
}

/** Questions to begin with, until one is asked. */
async function offerStarters(chosen: Twin): Promise<void> {
  const { starters, mayWrite } = required(session);
  const questions = mayWrite ? await starters(chosen.id).catch(() => []) : [];
  if (view || twin !== chosen || questions.length === 0 || page.messages.querySelector(".starters")) return;
  const buttons = questions.map((question) => {
    const begin = () => {
      write(question);
      page.composer.requestSubmit();
      page.content.focus();
    };
    return h("button", { type: "button", class: "starter", onclick: begin }, question);
  });
  page.messages.append(
    h("div", { class: "starters", role: "group", "aria-label": "Questions to begin with" }, ...buttons),
  );
}

async function openConversation(conversation: Conversation): Promise<void> {
  leaveConversation();
  nameInAddress("conversation", conversation.id);
  const opening = viewOf(conversation);
  view = opening;
  show();
  try {
    await opening.open();
  } catch (error) {
    if (view === opening) showNewConversation(); // nothing can be sent into what is not open
    throw error;
  }
}

function leaveConversation(): void {
  view?.close();
  view = undefined;
}

function viewOf(conversation: Conversation): ConversationView {
  const { client, mayWrite } = required(session);
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
      const { title } = listed.find(renamed.id) ?? conversation;
      if (renamed.title !== title) replaceConversation(renamed);
    },
    deleted() {
      listed.remove(conversation.id);
      showNewConversation();
      page.problem.textContent = "This conversation was deleted.";
    },
    unsent(content: string, error: unknown) {
      showUnsent(content, error);
      showState();
    },
    failed(error: unknown) {
      showProblem(error);
      showState();
    },
  };
  const list = page.messages;
  const options = { client, twin: required(twin), writer: "You", list, listener, network: wire, mayWrite };
  return new ConversationView(conversation, options);
}

function replaceConversation(changed: Conversation): void {
  listed.replace(changed);
  showHead();
}

/** The open conversation as it is known last. */
function openedConversation(): Conversation | undefined {
  const opened = view?.conversation;
  return opened && (listed.find(opened.id) ?? opened);
}

async function rename(): Promise<void> {
  const opened = openedConversation();
  if (!opened) return;
  const words = opened.title ?? "";
  const title = await ask({ title: "Rename the conversation", label: "Title", words, action: "Rename" });
  if (title === undefined) return;
  replaceConversation(await required(session).client.conversations.update(opened.id, { title }));
}

async function deleteConversation(): Promise<void> {
  const opened = openedConversation();
  if (!opened) return;
  const title = `Delete “${titleOf(opened)}”?`;
  const text = "All its messages go, too. This cannot be undone.";
  if ((await ask({ title, text, action: "Delete" })) === undefined) return;
  if (view?.conversation.id === opened.id) leaveConversation(); // it need not say that it is gone
  try {
    await required(session).client.conversations.delete(opened.id);
  } catch (error) {
    await openConversation(opened);
    throw error;
  }
  listed.remove(opened.id);
  showNewConversation();
  announce("The conversation is deleted.");
}

/** Opens a conversation of any twin at one of its messages. */
async function openMessage(conversationId: string, messageId: string): Promise<void> {
  selectTab("talk");
  showPart("chat");
  const conversation = await required(session).client.conversations.get(conversationId);
  const chosen = twins.find(({ id }) => id === conversation.twinId);
  if (!chosen) throw new Error(`Your key may not use the twin ${conversation.twinId}.`);
  await chooseTwin(chosen, conversation);
  // Texts are rendered in the next frame, and lists show their ends in the one after it.
  for (let frame = 0; frame < 3; frame++) await new Promise(requestAnimationFrame);
  const message = page.messages.querySelector<HTMLElement>(`[data-message="${CSS.escape(messageId)}"]`);
  if (!message) throw new Error("The reply is on another branch of this conversation.");
  message.scrollIntoView({ block: "center" });
  message.focus({ preventScroll: true });
}

async function send(twice: boolean): Promise<void> {
  const content = page.content.value;
  if (content.trim() === "" || (view && view.state !== "idle")) return;
  write(""); // at once, so that nothing is sent twice
  try {
    const current = view ?? (await beginConversation(content));
    current.send(content, { twice });
  } catch (error) {
    showUnsent(content, error);
  }
}

function write(content: string): void {
  page.content.value = content;
  grow();
}

async function beginConversation(content: string): Promise<ConversationView> {
  const title = firstWords(content);
  const created = await required(session).client.conversations.create({ twinId: required(twin).id, title });
  listed.add(created);
  nameInAddress("conversation", created.id);
  page.messages.querySelector(".starters")?.remove();
  view = viewOf(created);
  await view.open(true);
  show();
  return view;
}

/** Shows what is chosen. The chosen button is a new one, so the focus goes on to the text. */
function show(): void {
  showHead();
  showChoices();
  showState();
  if (matchMedia("(hover: hover)").matches) page.content.focus();
}

function showHead(): void {
  const { name, description } = required(twin);
  const opened = openedConversation();
  page.title.textContent = name;
  page.about.textContent = opened ? titleOf(opened) : description;
  page.chatTools.hidden = !opened || !required(session).mayWrite;
}

/** Shows what there is to choose. */
function showChoices(): void {
  page.twins.replaceChildren(
    ...twins.map((each) =>
      choice(each.name, each.description ?? "", each === twin, () => void attempt(() => chooseTwin(each))),
    ),
  );
  listed.show(view?.conversation.id);
}

/** Shows what the reply is doing, and which buttons do something. */
function showState(): void {
  const state = view?.state ?? "idle";
  const mayWrite = session?.mayWrite ?? false;
  const focused = document.activeElement;
  buttons.send.disabled = state !== "idle" || !mayWrite;
  buttons.twice.disabled = state !== "idle" || !mayWrite;
  buttons.cut.disabled = state !== "following";
  buttons.resume.disabled = state !== "cut";
  buttons.cancel.disabled = (state !== "following" && state !== "cut") || !mayWrite;
  const isWaited = state === "idle" && view?.isWithPerson;
  showIn(page.state, isWaited ? "A person answers here." : describe(state, view?.offset ?? 0));
  if (focused instanceof HTMLButtonElement && focused.disabled && Object.values(buttons).includes(focused))
    focusNext(state);
}

/** The button that had the focus does nothing now: what does has it instead. */
function focusNext(state: ConversationView["state"]): void {
  if (state === "cut") buttons.resume.focus();
  else if (state === "following") buttons.cut.focus();
  else if (matchMedia("(hover: hover)").matches) page.content.focus();
  else page.messages.focus(); // the field would open a phone's keyboard
}

function describe(state: ConversationView["state"], offset: number): string {
  switch (state) {
    case "opening":
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
  const { client, name, whose } = required(session);
  try {
    const { remaining, limit } = await client.usage.get();
    page.account.textContent = `${whose} · ${name} · ${remaining} of ${limit} requests left`;
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

const selectTab = makeTabs(page.tabs, (panel) => {
  nameInAddress("tab", panel === "talk" ? undefined : panel);
  byId("skip", HTMLAnchorElement).href = panel === "talk" ? "#content" : `#${panel}`;
  if (!session) return;
  const { client } = session;
  const open = (conversationId: string, messageId: string) =>
    void attempt(() => openMessage(conversationId, messageId));
  if (panel === "inbox") inbox.open(twins);
  if (panel === "questions") openQuestions(client, twins, open, answering());
  if (panel === "own-twins") ownTwins.open();
  if (panel === "keys") {
    openKeys(session, () => askToSignIn(""));
    void showUse(client);
  }
});

/** Who answers what was left unanswered: an owner who makes twins here. */
function answering(): Answering | undefined {
  const { client, token } = required(session);
  if (token === undefined || byId("tab-own-twins", HTMLElement).hidden) return undefined;
  return { client, own: new OwnTwinRequests(token), changed: () => void attempt(readTwins) };
}

/** Shows the pane of the wire on wide screens, or leaves its room to the conversation. */
function showWire(isShown: boolean): void {
  page.workbench.dataset.wire = isShown ? "open" : "closed";
  byId("open-wire", HTMLButtonElement).hidden = isShown;
  keep(wirePlace, isShown ? null : "closed");
}

for (const part of ["people", "chat", "wire"]) {
  byId(`show-${part}`, HTMLButtonElement).addEventListener("click", () => showPart(part));
}
byId("people", HTMLElement).addEventListener("click", ({ target }) => {
  if (target instanceof Element && target.closest("li button")) showPart("chat");
});
showPart("chat");

page.signInForm.addEventListener("submit", (event) => {
  event.preventDefault();
  void enter({ credential: page.credential.value.trim() });
});
page.composer.addEventListener("submit", (event) => {
  event.preventDefault();
  void attempt(() => send(false));
});
page.content.addEventListener("input", grow);
page.content.addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || !view?.stopEditing()) return;
  write("");
  showState();
});
submitOnEnter(page.content, page.composer);
buttons.twice.addEventListener("click", () => void attempt(() => send(true)));
buttons.cut.addEventListener("click", () => view?.cut());
buttons.resume.addEventListener("click", () => view?.resume());
buttons.cancel.addEventListener("click", () => void attempt(async () => view?.cancel()));
byId("rename", HTMLButtonElement).addEventListener("click", () => void attempt(rename));
byId("delete", HTMLButtonElement).addEventListener("click", () => void attempt(deleteConversation));
page.signOut.addEventListener("click", signOut);
for (const [id, isShown] of [
  ["open-wire", true],
  ["close-wire", false],
] as const) {
  byId(id, HTMLButtonElement).addEventListener("click", () => {
    showWire(isShown);
    byId(isShown ? "close-wire" : "open-wire", HTMLButtonElement).focus();
  });
}
showWire(kept(wirePlace) === null);
byId("clear", HTMLButtonElement).addEventListener("click", () => wire.clear());

async function start(): Promise<void> {
  keepTimes();
  try {
    const credentials = await credentialsOfPage();
    if (credentials) await enter(credentials);
    else askToSignIn("");
  } catch (error) {
    askToSignIn(reasonOf(error));
  }
}

void start();
