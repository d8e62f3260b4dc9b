/**
 * The pages that the server shows: the playground, and the reference of its API.
 *
 * @module
 */

import { hash } from "node:crypto";
import type { PageSource, ServedPage } from "../../core/api/routes.ts";
import { isForwarded, type RequestHeaders } from "../../core/wire/request.ts";
import packageInfo from "../../package.json" with { type: "json" };
import { playground } from "../../web/built/playground.ts";
import { reference } from "../../web/built/reference.ts";
import { widgetPages } from "../../web/built/widget.ts";
import type { Settings } from "../settings.ts";

/** The pages of a server, by their paths. The widget's script is for the pages of others, and always there. */
export function pagesOf(settings: Settings): Readonly<Record<string, PageSource>> {
  const front = kept(frontPage(settings));
  if (!showsPages(settings)) return { "/": front, ...widgetPages };
  const [home, docs] = [kept(playground), kept(reference)];
  if (settings.playground === "on") return { "/": home, "/docs": docs, ...widgetPages };
  return {
    "/": (headers) => (isLocal(headers) ? home : front),
    "/docs": (headers) => (isLocal(headers) ? docs : undefined),
    ...widgetPages,
  };
}

/** Keeps a page apart from the pages of others, and from what a browser can do besides. */
const apart = {
  "Cross-Origin-Opener-Policy": "same-origin",
  "Cross-Origin-Resource-Policy": "same-origin",
  "Permissions-Policy":
    "camera=(), display-capture=(), geolocation=(), microphone=(), midi=(), payment=(), serial=(), usb=()",
};

/** A page that browsers keep for five minutes, and then ask whether it has changed. */
function kept(page: ServedPage): ServedPage {
  const etag = `"${hash("sha256", page.content).slice(0, 16)}"`;
  return {
    ...page,
    headers: { ...page.headers, ...apart, ETag: etag, "Cache-Control": "public, max-age=300" },
  };
}

/** What a server without a playground says of itself. */
function frontPage({ basePath }: Settings): ServedPage {
  const { name, version, description } = packageInfo;
  const openApi = `${basePath}/api/v1/openapi.json`;
  return {
    content: `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${name}</title>
</head>
<body>
<h1>${name} ${version}</h1>
<p>${description}</p>
<p>The API, as an OpenAPI document: <a href="${openApi}">OpenAPI 3.1</a></p>
<p>The playground is off here: its operator turns it on with PLAYGROUND=on.</p>
</body>
</html>
`,
    headers: {
      "Content-Type": "text/html; charset=utf-8",
      "Content-Security-Policy":
        "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
      "Referrer-Policy": "no-referrer",
    },
    data: { name, version, openApi },
  };
}

/** Without a word about it, pages are only for the machine that the server runs on. */
export function showsPages({ playground, host }: Settings): boolean {
  return playground === undefined ? isLoopback(host) : playground === "on";
}

/** Whether a server that listens there is reached from its own machine alone. */
export function isLoopback(host: string): boolean {
  return /^(localhost|::1|127(\.\d{1,3}){3})$/i.test(host);
}

/** Whether a request comes from a browser on this machine, and not through a proxy, which others can reach. */
export function isLocal(headers: RequestHeaders): boolean {
  const [, host = ""] =
    /^(?:\[(.+)\]|([^:]+))(?::\d+)?$/.exec(headers.get("host") ?? "")?.filter(Boolean) ?? [];
  return isLoopback(host) && !isForwarded(headers);
}
