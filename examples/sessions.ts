/**
 * A shop on Express whose visitors have sessions, with a twin in its pages: the service is embedded, serves the widget's
 * script, and knows its users by the shop's cookie. No key, no token, no second server.
 */

import { randomUUID } from "node:crypto";
import type { AddressInfo } from "node:net";
import express from "express";
import { createService, createTwinList } from "twin-service";
import { toNodeHandler } from "twin-service/node";
import { widgetPages, widgetPath } from "twin-service/pages";

/** The visitors by their sessions. A shop has such a table already. */
const visitors = new Map<string, string>();

function visitorOf(cookies: string | null | undefined): string | undefined {
  const [, session = ""] = /(?:^|; )session=([^;]+)/.exec(cookies ?? "") ?? [];
  return visitors.get(session);
}

const instructions = `You work in a flower shop.

## Opening hours

We are open **daily from 9 to 17**, on Sundays from 10.

## Delivery

We deliver within the city on the same day, if you order before noon.`;

const basePath = "/assistant";
const service = createService({
  twins: createTwinList([
    { id: "florist", name: "Flora", greeting: "What can I do for you?", engine: "knowledge", instructions },
  ]),
  basePath,
  pages: widgetPages,
  // All conversations are the shop's; each visitor sees their own.
  authenticate(request) {
    const endUser = visitorOf(request.headers.get("cookie"));
    return endUser === undefined ? null : { owner: "shop", endUser };
  },
});

const page = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>A shop</title>
<link rel="icon" href="data:,">
<script type="module" src="${basePath}${widgetPath}"></script>
<main><h1>A shop</h1></main>
<twin-chat src="${basePath}" twin="florist" starters="When are you open?|Do you deliver?" launcher></twin-chat>
</html>`;

const app = express();
app.disable("x-powered-by");
app.use(basePath, toNodeHandler(service));
app.get("/", (request, response) => {
  if (visitorOf(request.headers.cookie) === undefined) {
    const session = randomUUID();
    visitors.set(session, `visitor-${visitors.size + 1}`);
    response.cookie("session", session, { httpOnly: true, sameSite: "strict" });
  }
  response.send(page);
});

const server = app.listen(Number(process.env.PORT ?? 3000), "127.0.0.1", (error) => {
  if (error) throw error;
  console.log(`listening on http://127.0.0.1:${(server.address() as AddressInfo).port}`);
});
