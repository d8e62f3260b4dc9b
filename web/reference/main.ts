/**
 * The reference: the service's own OpenAPI document, for people.
 *
 * @module
 */

import { byId, h } from "../shared/dom.ts";
import {
  type ApiDocument,
  type Endpoint,
  endpointsByTag,
  limitsOf,
  type SchemaNode,
  typeOf,
} from "./document.ts";
import { credential, tryOut } from "./try.ts";

const content = byId("content", HTMLElement);
const contents = byId("contents", HTMLElement);

/** Where the service is. */
const address = location.href.replace(/\/docs.*$/, "");

async function main(): Promise<void> {
  const response = await fetch("api/v1/openapi.json");
  if (!response.ok) throw new Error(`The document cannot be read (${response.status}).`);
  const document: ApiDocument = await response.json();
  const groups = endpointsByTag(document);
  const { authentication, doors } = prose();
  content.replaceChildren(
    introduction(document),
    authentication,
    ...[...groups].map(section),
    doors,
    refusals(document),
    schemas(document),
  );
  contents.replaceChildren(search(), startLinks(), ...[...groups].map(group), schemaLinks(document));
  if (location.hash !== "") globalThis.document.getElementById(location.hash.slice(1))?.scrollIntoView();
}

function introduction({ info, servers = [] }: ApiDocument): HTMLElement {
  const base = new URL(servers[0]?.url ?? ".", location.href).href.replace(/\/$/, "");
  return h(
    "header",
    { class: "introduction" },
    h("h1", {}, info.title, " ", h("small", {}, info.version)),
    info.description !== undefined && h("p", {}, info.description),
    h("p", {}, "Base address: ", h("code", {}, base)),
  );
}

/** The sections that are written for people, with the address of this service, and the field for a key. */
function prose(): { readonly authentication: Element; readonly doors: Element } {
  const { content } = byId("prose", HTMLTemplateElement);
  const [authentication, doors] = content.children;
  if (!authentication || !doors) throw new Error("The page has no sections in #prose.");
  for (const code of content.querySelectorAll("code")) {
    const text = code.textContent ?? "";
    code.textContent = text.replace("$ORIGIN", location.origin).replace("$BASE", address);
  }
  content.querySelector("#trying")?.append(credential);
  return { authentication, doors };
}

/** What requests are refused with, once for all endpoints: each code, with a message that it may have. */
function refusals({ paths }: ApiDocument): HTMLElement {
  const messages = new Map<string, Map<string, string>>();
  for (const operation of Object.values(paths).flatMap((methods) => Object.values(methods))) {
    for (const [status, { content = {} }] of Object.entries(operation.responses)) {
      const { examples = {} } = content["application/json"] ?? {};
      const codes = messages.get(status) ?? new Map<string, string>();
      for (const [code, { value }] of Object.entries(examples)) codes.set(code, value.error?.message ?? "");
      if (status >= "4") messages.set(status, codes);
    }
  }
  const rows = [...messages]
    .sort()
    .flatMap(([status, codes]) =>
      [...codes].map(([code, message], at) =>
        h(
          "tr",
          at === 0 ? { id: `status-${status}` } : {},
          h("th", { scope: "row" }, status),
          h("td", {}, h("code", {}, code)),
          h("td", {}, message),
        ),
      ),
    );
  return h(
    "section",
    { id: "errors" },
    h("h2", { class: "tag" }, "errors"),
    h(
      "article",
      {},
      h("h3", {}, "Refusals have one form"),
      block('{"error": {"code": "…", "message": "…", "details": {…}, "requestId": "req_…"}}'),
      table("By status, with an example of a message", rows),
    ),
  );
}

/** Has the page show only endpoints with certain words. */
function search(): HTMLElement {
  const field = h("input", { type: "search", "aria-label": "Search endpoints", placeholder: "Search" });
  field.addEventListener("input", () => {
    const words = field.value.toLowerCase().split(/\s+/);
    for (const article of content.querySelectorAll("article")) {
      const text = article.textContent?.toLowerCase() ?? "";
      article.hidden = !words.every((word) => text.includes(word));
      const link = contents.querySelector<HTMLElement>(`a[href="#${article.id}"]`)?.parentElement;
      if (link) link.hidden = article.hidden;
    }
    scrollTo({ top: 0 });
  });
  return h("p", { class: "search" }, field);
}

function startLinks(): HTMLElement {
  const link = (id: string, name: string) => h("li", {}, h("a", { href: `#${id}` }, name));
  return h(
    "section",
    {},
    h("h2", {}, "start"),
    h(
      "ul",
      {},
      link("authentication", "Authentication"),
      link("openai", "OpenAI's clients: /v1"),
      link("mcp", "Assistants: /mcp"),
      link("errors", "Errors"),
    ),
  );
}

function group([tag, endpoints]: [string, readonly Endpoint[]]): HTMLElement {
  const links = endpoints.map(({ method, operation }) =>
    h("li", {}, h("a", { href: `#${operation.operationId}` }, methodMark(method), operation.summary ?? "")),
  );
  return h("section", {}, h("h2", {}, tag), h("ul", {}, ...links));
}

function methodMark(method: string): HTMLElement {
  return h("span", { class: `method ${method.toLowerCase()}` }, method);
}

function section([tag, endpoints]: [string, readonly Endpoint[]]): HTMLElement {
  return h("section", {}, h("h2", { class: "tag" }, tag), ...endpoints.map(article));
}

function article(endpoint: Endpoint): HTMLElement {
  const { method, path, operation } = endpoint;
  const { operationId, summary = "", description, parameters = [], requestBody, responses } = operation;
  const body = requestBody?.content["application/json"]?.schema;
  const rows = parameters.map(({ name, in: where, required = false, description, schema }) =>
    row({ name, where, required, description, schema }),
  );
  return h(
    "article",
    { id: operationId },
    h("h3", {}, summary),
    h("p", { class: "path" }, methodMark(method), h("code", {}, path)),
    h("p", { class: "needs" }, description ?? credentialOf(operation)),
    rows.length > 0 && table("Parameters", rows),
    body && h("p", {}, "Body: ", typeLink(body)),
    table(
      "Answer",
      Object.entries(responses)
        .filter(([status]) => status < "4")
        .map(answerRow),
    ),
    h("p", { class: "needs" }, "Refusals: ", ...refusalLinks(responses)),
    tryOut(endpoint),
    h("details", {}, h("summary", {}, "curl"), block(curl(method, path, operation))),
  );
}

function credentialOf({ security = [] }: Endpoint["operation"]): string {
  const schemes = security.flatMap((alternative) => Object.keys(alternative));
  if (schemes.length === 0) return "Needs no credential.";
  return schemes.some((scheme) => /jwt|token/i.test(scheme)) ? "Needs a JWT." : "Needs an API key.";
}

function refusalLinks(responses: Endpoint["operation"]["responses"]): (Node | string)[] {
  const statuses = Object.keys(responses).filter((status) => status >= "4");
  return statuses.flatMap((status, at) => [
    at > 0 ? ", " : "",
    h("a", { href: `#status-${status}` }, status),
  ]);
}

interface Row {
  readonly name: string;
  readonly where?: string;
  readonly required: boolean;
  readonly description: string | undefined;
  readonly schema: SchemaNode | undefined;
}

function row({ name, where, required, description = "", schema = {} }: Row): HTMLElement {
  const usual = schema.default === undefined ? undefined : `default ${JSON.stringify(schema.default)}`;
  const about = [where, required ? "required" : undefined, usual, limitsOf(schema)]
    .filter(Boolean)
    .join(", ");
  return h(
    "tr",
    {},
    h("th", { scope: "row" }, h("code", {}, name)),
    h("td", {}, typeLink(schema), about !== "" && h("small", {}, about)),
    h("td", {}, description || (schema.description ?? "")),
  );
}

function answerRow([status, { description = "", content = {} }]: [
  string,
  Endpoint["operation"]["responses"][string],
]): HTMLElement {
  const [type, media] = Object.entries(content)[0] ?? [];
  const schema = media?.schema?.properties?.data ?? media?.schema;
  return h(
    "tr",
    { class: "success" },
    h("th", { scope: "row" }, status),
    h("td", {}, schema && typeLink(schema), type === "text/event-stream" && h("small", {}, type)),
    h("td", {}, description),
  );
}

function table(caption: string, rows: readonly HTMLElement[]): HTMLElement {
  return h(
    "div",
    { class: "frame", tabindex: "0" },
    h("table", {}, h("caption", {}, caption), h("tbody", {}, ...rows)),
  );
}

function block(code: string): HTMLElement {
  return h("pre", { tabindex: "0" }, h("code", {}, code));
}

function typeLink(schema: SchemaNode): HTMLElement {
  const { text, name } = typeOf(schema);
  return name === undefined ? h("code", {}, text) : h("a", { href: `#schema-${name}` }, h("code", {}, text));
}

function curl(
  method: string,
  path: string,
  { parameters = [], requestBody, security = [] }: Endpoint["operation"],
): string {
  const lines = [`curl -N ${method === "GET" ? "" : `-X ${method} `}'${address}${path}'`];
  if (security.length > 0) lines.push(`-H "Authorization: Bearer $KEY"`);
  if (parameters.some(({ name }) => name === "Idempotency-Key"))
    lines.push(`-H "Idempotency-Key: $(uuidgen)"`);
  const example = requestBody?.content["application/json"]?.example;
  if (example !== undefined) {
    lines.push(`-H 'Content-Type: application/json'`, `-d '${JSON.stringify(example)}'`);
  }
  return lines.join(" \\\n  ");
}

function schemas({ components: all }: ApiDocument): HTMLElement {
  const articles = Object.entries(all?.schemas ?? {}).map(([name, schema]) => {
    const alternatives = schema.anyOf ?? schema.oneOf;
    const rows = Object.entries(schema.properties ?? {}).map(([member, value]) =>
      row({
        name: member,
        required: schema.required?.includes(member) ?? false,
        description: undefined,
        schema: value,
      }),
    );
    return h(
      "article",
      { id: `schema-${name}` },
      h("h3", {}, name),
      schema.description !== undefined && h("p", {}, schema.description),
      alternatives &&
        h("p", {}, ...alternatives.flatMap((each, index) => [index > 0 ? " or " : "", typeLink(each)])),
      rows.length > 0 && table("Members", rows),
    );
  });
  return h("section", {}, h("h2", { class: "tag" }, "schemas"), ...articles);
}

function schemaLinks({ components: all }: ApiDocument): HTMLElement {
  const links = Object.keys(all?.schemas ?? {}).map((name) =>
    h("li", {}, h("a", { href: `#schema-${name}` }, h("code", {}, name))),
  );
  return h("section", {}, h("h2", {}, "schemas"), h("ul", {}, ...links));
}

main().catch((error: unknown) => {
  content.replaceChildren(h("p", { role: "alert" }, error instanceof Error ? error.message : String(error)));
});
