/**
 * Trying an endpoint: a form that sends a request to the page's own server, and shows what it answers as it arrives.
 *
 * @module
 */

import { h } from "../shared/dom.ts";
import type { Endpoint, Parameter } from "./document.ts";

/** Where the service is: the page is at `docs` below it. */
const base = new URL(".", location.href).href.replace(/\/$/, "");

/** The credential that requests are sent with. It stays in this page, until that is left. */
export const credential = h("input", {
  id: "key",
  type: "password",
  autocomplete: "off",
  spellcheck: "false",
  placeholder: "twin_…",
});

/** A form for an endpoint. */
export function tryOut({ method, path, operation }: Endpoint): HTMLElement {
  const { operationId, parameters = [], requestBody } = operation;
  const fields = parameters
    .filter(({ in: where }) => where === "path" || where === "query")
    .map((parameter) => ({ ...parameter, input: inputFor(parameter, operationId) }));
  const example = requestBody?.content["application/json"]?.example;
  const body = requestBody && h("textarea", { rows: "5", spellcheck: "false", "aria-label": "Body" });
  if (body) body.value = JSON.stringify(example ?? {}, undefined, 2);
  const answer = h("pre", { role: "group", tabindex: "0", hidden: true, "aria-label": "Answer" });
  const stop = h("button", { type: "button", hidden: true }, "Stop");
  const send = async (event: Event) => {
    event.preventDefault();
    const connection = new AbortController();
    stop.hidden = false;
    stop.onclick = () => connection.abort();
    answer.hidden = false;
    answer.textContent = "…";
    try {
      const init = { method, signal: connection.signal, ...(body && { body: body.value }) };
      const key = credential.value.trim();
      const headers = {
        ...(key !== "" && { Authorization: `Bearer ${key}` }),
        ...(body && { "Content-Type": "application/json" }),
      };
      const response = await fetch(urlOf(path, fields), { ...init, headers });
      await show(response, answer);
    } catch (error) {
      answer.append(`\n${connection.signal.aborted ? "Stopped." : String(error)}`);
    }
    stop.hidden = true;
  };
  return h(
    "details",
    { class: "try" },
    h("summary", {}, "Try it"),
    h(
      "form",
      { onsubmit: (event) => void send(event) },
      ...fields.map(({ name, input }) => h("label", {}, h("code", {}, name), input)),
      body,
      h("p", {}, h("button", { type: "submit", class: "primary" }, "Send"), " ", stop),
    ),
    answer,
  );
}

function inputFor({ name, in: where, required, schema }: Parameter, operationId: string): HTMLInputElement {
  const usual = schema?.default === undefined ? "" : String(schema.default);
  const id = `${operationId}-${name}`;
  return h("input", { id, name, required: required === true || where === "path", placeholder: usual });
}

function urlOf(path: string, fields: readonly (Parameter & { readonly input: HTMLInputElement })[]): string {
  let filled = path;
  const query = new URLSearchParams();
  for (const { name, in: where, input } of fields) {
    if (where === "path") filled = filled.replace(`{${name}}`, encodeURIComponent(input.value));
    else if (input.value !== "") query.set(name, input.value);
  }
  return `${base}${filled}${query.size > 0 ? `?${query}` : ""}`;
}

/** Shows status, the most telling header fields, and the body: JSON in lines, a stream as it arrives. */
async function show(response: Response, answer: HTMLElement): Promise<void> {
  const told = ["x-request-id", "ratelimit", "retry-after", "location"];
  const fields = told.flatMap((name) => {
    const value = response.headers.get(name);
    return value === null ? [] : [`${name}: ${value}`];
  });
  answer.textContent = `${[response.status, ...fields].join("\n")}\n\n`;
  if (response.headers.get("content-type")?.startsWith("application/json")) {
    answer.append(JSON.stringify(await response.json(), undefined, 2));
    return;
  }
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  for (let read = await reader?.read(); read && !read.done; read = await reader?.read())
    answer.append(read.value);
}
