/**
 * The pages that the server shows: the playground, and the reference of its API.
 *
 * @module
 */

import { hash } from "node:crypto";
import type { ServedPage } from "../../core/api/routes.ts";
import packageInfo from "../../package.json" with { type: "json" };
import { playground } from "../../web/built/playground.ts";
import { reference } from "../../web/built/reference.ts";
import { widgetPages } from "../../web/built/widget.ts";
import type { Settings } from "../settings.ts";
import { signFor } from "../tokens.ts";

/** The pages of a server, by their paths. The widget's script is for the pages of others, and always there. */
export function pagesOf(settings: Settings): Readonly<Record<string, ServedPage>> {
  const ownPages = showsPages(settings)
    ? { "/": kept(playground), "/docs": kept(reference) }
    : { "/": kept(frontPage(settings)) };
  return { ...ownPages, ...widgetPages };
}

/** A page that browsers keep for five minutes, and then ask whether it has changed. */
function kept(page: ServedPage): ServedPage {
  const etag = `"${hash("sha256", page.content).slice(0, 16)}"`;
  return { ...page, headers: { ...page.headers, ETag: etag, "Cache-Control": "public, max-age=300" } };
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
<p><a href="${openApi}">The API, as an OpenAPI document</a></p>
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
function showsPages({ playground, host }: Settings): boolean {
  return playground === undefined ? isLoopback(host) : playground === "on";
}

/** Whether a server that listens there is reached from its own machine alone. */
export function isLoopback(host: string): boolean {
  return /^(localhost|::1|127(\.\d{1,3}){3})$/i.test(host);
}

/** The owner of what is said in a playground that was opened by the server's link. */
const playgroundOwner = "playground";

/** How long the link can be used, in seconds. */
const linkSeconds = 600;

/**
 * The address of the playground, signed in. Undefined if there is none, if others could reach it, or if this process has
 * no secret of its own to sign with.
 */
export async function playgroundLink(
  settings: Settings,
  { secret, url }: { readonly secret: string | undefined; readonly url: string },
): Promise<string | undefined> {
  if (secret === undefined || !showsPages(settings) || !isLoopback(settings.host)) return undefined;
  const token = await signFor(settings, secret, { sub: playgroundOwner, expiresInSeconds: linkSeconds });
  return `${url}${settings.basePath}/#token=${token}`;
}
