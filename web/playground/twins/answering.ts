/**
 * Answering what was left unanswered, beside the question.
 *
 * @module
 */

import type { TwinClient, UnansweredQuestion } from "../../../client/mod.ts";
import { h } from "../../shared/dom.ts";
import { keep, kept } from "../../shared/kept.ts";
import { announce, copyButton, reasonOf } from "../page.ts";
import type { OwnTwinRequests } from "./requests.ts";

/** Who answers. */
export interface Answering {
  readonly client: TwinClient;
  readonly own: OwnTwinRequests;
  /** Told once a twin has another version. */
  readonly changed: () => void;
}

/** An answer that was taught here. */
interface Taught {
  readonly twinId: string;
  readonly version: number;
  /** How many golden questions fail with it. */
  readonly failing: number;
}

/** Where the tab keeps what was taught, by the replies that had no answer: the service lists these questions as before. */
const place = "playground taught";

function taughtHere(): Readonly<Record<string, Taught>> {
  return JSON.parse(kept(place) ?? "{}");
}

/** A button, and in its place what it opens, or what was taught before. */
export function answerTo(
  { question, conversationId, messageId }: UnansweredQuestion,
  answering: Answering,
): HTMLElement {
  const { client, own } = answering;
  const shown = h("div", { class: "answering" });
  const problem = h("p", { class: "warn", role: "alert" });
  const attempt = async (work: () => Promise<void>) => {
    problem.textContent = "";
    try {
      await work();
    } catch (error) {
      problem.textContent = reasonOf(error);
    }
  };
  const begin = h(
    "button",
    {
      type: "button",
      class: "small",
      "aria-label": `Answer: ${question}`,
      onclick: () => void attempt(open),
    },
    "Answer",
  );
  async function open(): Promise<void> {
    const { twinId } = await client.conversations.get(conversationId);
    if (twinId === null) throw new Error("This conversation has no twin yet.");
    const opened = (await isOwn(client, twinId)) ? formFor(twinId) : adviceFor(twinId);
    shown.replaceChildren(opened, problem);
    opened.querySelector<HTMLElement>("textarea, button")?.focus();
  }

  function close(): void {
    shown.replaceChildren(begin, problem);
    begin.focus();
  }

  /** A form that teaches one of the owner's own twins. */
  function formFor(twinId: string): HTMLElement {
    const id = `answer-${conversationId}-${twinId}`;
    const answer = h("textarea", { id, rows: "4", maxlength: "32000", required: true });
    const heading = h("input", {
      id: `${id}-heading`,
      maxlength: String(mostHeading),
      required: true,
      autocomplete: "off",
    });
    heading.value = oneLine(question, mostHeading);
    const submit = h("button", { type: "submit", class: "primary" }, `Teach ${twinId}`);
    const teach = async () => {
      submit.disabled = true;
      try {
        const given = { question: oneLine(question), answer: answer.value, heading: heading.value };
        const { version, tests } = await own.teach(twinId, given);
        const taught = { twinId, version, failing: tests?.failed.length ?? 0 };
        keep(place, JSON.stringify({ ...taughtHere(), [messageId]: taught }));
        announce(tell(taught));
        shown.querySelector("button")?.focus();
        answering.changed();
      } finally {
        submit.disabled = false;
      }
    };
    return h(
      "form",
      {
        class: "answer",
        onsubmit: (event) => {
          event.preventDefault();
          void attempt(teach);
        },
      },
      h("label", { for: answer.id }, "Answer"),
      answer,
      h("label", { for: heading.id }, "Under the heading, which may be there already"),
      heading,
      h(
        "div",
        { class: "made-buttons" },
        submit,
        h("button", { type: "button", class: "small", onclick: close }, "Cancel"),
      ),
    );
  }

  /** Where to put an answer of a twin that is in the operator's files. */
  function adviceFor(twinId: string): HTMLElement {
    const section = `## ${oneLine(question, mostHeading)}\n<!-- asked as: ${oneLine(question)} -->\n\nThe answer.\n`;
    return h(
      "div",
      { class: "answer" },
      h("p", {}, `${twinId} is in the operator's files. Add this to its file, with the answer:`),
      h("pre", { tabindex: "0" }, h("code", {}, section)),
      h(
        "div",
        { class: "made-buttons" },
        copyButton("Copy", section, "small", `Copy the section for: ${question}`),
        h("button", { type: "button", class: "small", onclick: close }, "Close"),
      ),
    );
  }

  /** Shows that it was taught, and offers to take that back. Returns what it says. */
  function tell({ twinId, version, failing }: Taught): string {
    const undo = async () => {
      const [newest] = (await own.versions(twinId, 1)).data;
      if (newest && newest.version !== version)
        throw new Error(
          `${twinId} has version ${newest.version} by now. Its earlier ones are in the tab Twins.`,
        );
      await own.restore(twinId, version - 1);
      const { [messageId]: _, ...others } = taughtHere();
      keep(place, JSON.stringify(others));
      announce("The answer is taken back.");
      answering.changed();
      close();
    };
    const words = `${twinId} knows the answer now, as version ${version}.`;
    const warning = failing === 0 ? "" : ` ${failing} of its golden questions fail with it.`;
    const back = h(
      "button",
      {
        type: "button",
        class: "small",
        "aria-label": `Take it back: the answer to ${question}`,
        onclick: () => void attempt(undo),
      },
      "Take it back",
    );
    const told = h("p", { class: failing === 0 ? "good" : "warn" }, words, warning);
    shown.replaceChildren(h("div", { class: "made-buttons" }, told, back), problem);
    return words;
  }

  const before = taughtHere()[messageId];
  if (before) tell(before);
  else shown.append(begin, problem);
  return shown;
}

async function isOwn(client: TwinClient, twinId: string): Promise<boolean> {
  for await (const { id } of client.twins.list({ own: true, limit: 100 })) if (id === twinId) return true;
  return false;
}

/** The longest question that is taught, and the longest heading, in UTF-16 code units. */
const mostAsked = 1_000;
const mostHeading = 200;

/** A question as a line that a heading and a comment can have, cut before half of a pair. */
function oneLine(question: string, most = mostAsked): string {
  return question
    .replaceAll(/[\s\p{Cc}]+/gu, " ")
    .replaceAll("-->", "→")
    .trim()
    .slice(0, most)
    .replace(/[\ud800-\udbff]$/, "");
}
