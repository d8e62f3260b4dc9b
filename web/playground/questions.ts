/**
 * The tab of questions: those without an answer, and what people think of replies.
 *
 * @module
 */

import type { RatedReply, Twin, TwinClient, UnansweredQuestion } from "../../client/mod.ts";
import { byId, h } from "../shared/dom.ts";
import { MarkdownView } from "../shared/markdown/view.ts";
import { timeElement } from "./page.ts";
import { PagedList } from "./paged-list.ts";
import { type Answering, answerTo } from "./twins/answering.ts";

/** A longer reply is shown in part, in characters. */
const short = 280;

/** How many are shown at once. */
const limit = 10;

/** What opens a conversation at a message. */
export type OpenMessage = (conversationId: string, messageId: string) => void;

/** Shows the tab anew. `answering`: who answers what was left unanswered. */
export function openQuestions(
  client: TwinClient,
  twins: readonly Twin[],
  open: OpenMessage,
  answering: Answering | undefined,
): void {
  const choice = byId("questions-twin", HTMLSelectElement);
  const chosen = choice.value;
  choice.replaceChildren(
    h("option", { value: "" }, "All twins"),
    ...twins.map(({ id, name }) => h("option", { value: id, selected: id === chosen }, name)),
  );
  const nameOf = (twinId: string) => twins.find(({ id }) => id === twinId)?.name ?? twinId;
  const link: LinkTo = (to) => openingLink(to, open);
  const showRated = (reply: RatedReply) => ratedReply(reply, nameOf(reply.twinId), link);
  const showUnanswered = (question: UnansweredQuestion) => unanswered(question, link, answering);
  const show = () => {
    const twinId = choice.value === "" ? undefined : choice.value;
    byId("questions-command", HTMLElement).textContent = `npm start -- tests --twin ${twinId ?? "<twin>"}`;
    const query = { limit, ...(twinId !== undefined && { twinId }) };
    const rated = (rating: "up" | "down") => () => client.feedback.list({ ...query, rating });
    byId("questions-lists", HTMLElement).replaceChildren(
      column("Unanswered", {
        empty: "Each question had an answer in the twin's text.",
        read: () => client.questions.unanswered(query),
        show: showUnanswered,
      }),
      column("Thumbs down", { empty: "No reply was rated down.", read: rated("down"), show: showRated }),
      column("Thumbs up", { empty: "No reply was rated up yet.", read: rated("up"), show: showRated }),
    );
  };
  choice.onchange = show;
  show();
}

function column<Item>(
  title: string,
  options: Pick<ConstructorParameters<typeof PagedList<Item>>[0], "empty" | "read" | "show">,
): HTMLElement {
  const count = h("span", { class: "count" });
  const listing = new PagedList<Item>({
    ...options,
    counted(total) {
      count.textContent = total === 0 ? "" : String(total);
    },
  });
  void listing.open();
  const id = `column-${title.toLowerCase().replace(" ", "-")}`;
  return h(
    "section",
    { class: "panel", "aria-labelledby": id },
    h("h3", { id }, title, " ", count),
    listing.element,
  );
}

function unanswered(
  unansweredQuestion: UnansweredQuestion,
  link: LinkTo,
  answering: Answering | undefined,
): HTMLElement {
  const { question, count, lastAskedAt, conversationId, messageId } = unansweredQuestion;
  const often = count === 1 ? "Asked once, " : `Asked ${count} times, last `;
  return h(
    "li",
    { class: "entry" },
    h("p", { class: "asked" }, question),
    h(
      "p",
      { class: "meta" },
      h("span", {}, often, timeElement(lastAskedAt)),
      link({ conversationId, messageId, question }),
    ),
    answering && answerTo(unansweredQuestion, answering),
  );
}

function ratedReply(
  { question, content, comment, endUser, updatedAt, conversationId, messageId }: RatedReply,
  twin: string,
  link: LinkTo,
): HTMLElement {
  const who = endUser === null ? "" : ` · ${endUser}`;
  return h(
    "li",
    { class: "entry" },
    question !== "" && h("p", { class: "asked" }, question), // else it was answered to a decision on calls
    excerptOf(content),
    comment !== null && h("p", { class: "comment" }, comment),
    h(
      "p",
      { class: "meta" },
      h("span", {}, `${twin}${who} · `, timeElement(updatedAt)),
      link({ conversationId, messageId, question }),
    ),
  );
}

/** The beginning of a reply, whose links are only words here: the conversation has all of it. */
function excerptOf(content: string): HTMLElement {
  const element = h("div", { class: content.length > short ? "replied text long" : "replied text" });
  new MarkdownView(element).show(content);
  for (const link of element.querySelectorAll("a")) link.replaceWith(...link.childNodes);
  return element;
}

type LinkTo = (to: Pick<RatedReply, "conversationId" | "messageId" | "question">) => HTMLElement;

/** A link that works in another window, too. Here, it needs no new page. */
function openingLink(
  { conversationId, messageId, question }: Parameters<LinkTo>[0],
  open: OpenMessage,
): HTMLElement {
  const onclick = (event: Event) => {
    if (event instanceof MouseEvent && (event.ctrlKey || event.metaKey || event.shiftKey)) return;
    event.preventDefault();
    open(conversationId, messageId);
  };
  const words = "Open the conversation";
  const name = `${words}: ${question}`;
  return h("a", { href: `#conversation=${conversationId}`, "aria-label": name, onclick }, words);
}
