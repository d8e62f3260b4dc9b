/**
 * The widget where a person answers: asked for by its visitor, seen under a name, and gone again.
 */

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { Browser, Page } from "playwright-core";
import { type Conversation, TwinClient } from "../../client/mod.ts";
import { freePort } from "../support/ports.ts";
import { type Script, startScript } from "../support/script-process.ts";
import { assertAccessible, openPage } from "./browsers.ts";
import { openPlayground, type Playground } from "./playground.ts";
import { representativeBrowsers } from "./shared-browsers.ts";

const twin = `---
name: Echo
description: Says what you say.
greeting: Say something.
engine: echo
handover: true
---
`;

for (const { name, skip, start } of representativeBrowsers) {
  describe(`the widget with a person, in ${name}`, { skip }, () => {
    let browser: Browser;
    let server: Playground;
    let app: Script;
    let origin: string;
    let colleague: TwinClient;

    before(async () => {
      const port = await freePort();
      origin = `http://127.0.0.1:${port}`;
      server = await openPlayground({ CORS_ORIGINS: origin }, { "echo.md": twin });
      const key = await server.key();
      colleague = new TwinClient({ baseUrl: server.url, apiKey: key });
      const variables = { PORT: String(port), TWINS_URL: server.url, TWINS_KEY: key, TWIN: "echo" };
      app = startScript("examples/widget.ts", [], variables);
      await app.said(/^listening on/);
      browser = await start();
    });
    after(async () => {
      app?.signal("SIGKILL");
      await app?.ended;
      await server?.[Symbol.asyncDispose]();
    });

    const askButton = (page: Page) => page.locator("twin-chat [part=ask]");
    const person = (page: Page) => page.locator("twin-chat [part=person]");

    async function write(page: Page, content: string): Promise<void> {
      await page.locator("twin-chat textarea").fill(content);
      await page.locator("twin-chat textarea").press("Enter");
    }

    /** The conversation that is the newest, in which a person was asked for. */
    async function newest(): Promise<Conversation> {
      const [conversation] = (await colleague.conversations.list({ answeredBy: "person" })).data;
      assert.ok(conversation);
      return conversation;
    }

    /** A page whose visitor has asked for a person. `except`: what the browser reports by itself. */
    async function askForPerson(said?: string, except?: RegExp) {
      const page = await openPage(browser, {}, except);
      await page.goto(origin);
      await page.locator("twin-chat [part~=greeting]").waitFor();
      if (said !== undefined) {
        await write(page, said);
        await page.locator("twin-chat [part~=tool]").last().waitFor();
      }
      await askButton(page).click();
      await person(page).getByText("A person will answer here.").waitFor();
      return page;
    }

    test("its visitor asks for a person, and writes on: each message waits, in order", async () => {
      await using page = await askForPerson("Hello?");
      for (const content of ["One", "Two", "Three"]) await write(page, content);
      await page.locator("twin-chat [part~=user]:not([aria-busy])", { hasText: "Three" }).waitFor();
      const { id, waitingSince } = await newest();
      const { data } = await colleague.messages.list(id);
      assert.deepEqual(
        data.map(({ content }) => content),
        ["Hello?", "Hello?", "One", "Two", "Three"],
      );
      assert.equal(waitingSince, data[2]?.createdAt);
      await assertAccessible(page);
    });

    test("what could not be sent is in the box after a reload, each once, also words that were said before", async () => {
      await using page = await askForPerson(undefined, /Failed to load|NetworkError/);
      await write(page, "Yes");
      await page.locator("twin-chat [part~=user]:not([aria-busy])", { hasText: "Yes" }).waitFor();
      // No answer at all: what is sent again as the page is left may pass by the route.
      await page.route("**/messages/stream", () => {});
      for (const content of ["Yes", "Two", "Three"]) await write(page, content);
      await page.locator("twin-chat [part~=user]", { hasText: "Three" }).waitFor();
      await page.reload();
      await page.locator("twin-chat [part~=greeting]").waitFor();
      await page.waitForFunction(
        () =>
          document.querySelector("twin-chat")?.shadowRoot?.querySelector("textarea")?.value ===
          "Yes\nTwo\nThree",
      );
    });

    test("a person may be asked for before the first message, and is seen by name", async () => {
      await using page = await askForPerson();
      const { id } = await newest();
      await colleague.messages.say(id, { content: "I am **Eva**.", author: "Eva" });
      const said = page.locator("twin-chat [part~=reply]", { hasText: "I am Eva." });
      await said.waitFor();
      assert.equal(await said.locator("[part=author]").innerText(), "Eva");
      assert.equal(await said.getAttribute("aria-label"), "Eva");
      await write(page, "Thanks, Eva");
      await page.locator("twin-chat [part~=user]:not([aria-busy])", { hasText: "Thanks" }).waitFor();
      await page.reload();
      await page.locator("twin-chat [part=author]", { hasText: "Eva" }).waitFor();
      await person(page).getByText("A person will answer here.").waitFor();
      assert.equal(
        await page.locator("twin-chat [aria-label='👍']").count(),
        0,
        "what a person says is not rated",
      );
      await assertAccessible(page);
    });

    test("the twin answers again once the conversation is handed back", async () => {
      await using page = await askForPerson("Hello?");
      const { id } = await newest();
      await colleague.messages.say(id, { content: "All done.", author: "Eva", answeredBy: "twin" });
      await askButton(page).waitFor();
      await write(page, "And now?");
      await page.locator("twin-chat [part~=reply]", { hasText: "And now?" }).waitFor();
      assert.equal((await colleague.conversations.get(id)).waitingSince, null);
    });

    test("the end stays in view as buttons come back", async () => {
      await using page = await askForPerson("Hello?");
      const { id } = await newest();
      for (let line = 0; line < 12; line++) await colleague.messages.say(id, { content: `Line ${line}` });
      await page.locator("twin-chat [part~=reply]", { hasText: "Line 11" }).waitFor();
      await colleague.conversations.update(id, { answeredBy: "twin" });
      await askButton(page).waitFor();
      await page.waitForFunction(() => {
        const list = document.querySelector("twin-chat")?.shadowRoot?.querySelector("[part=messages]");
        return (
          list &&
          list.scrollHeight > list.clientHeight &&
          list.scrollHeight - list.scrollTop - list.clientHeight < 2
        );
      });
    });

    test("it is offered by keyboard, and in the page's language", async () => {
      await using page = await openPage(browser);
      await page.goto(origin);
      await askButton(page).waitFor();
      await page.locator("twin-chat").evaluate((element) => element.setAttribute("lang", "de"));
      await askButton(page).getByText("Mit einem Menschen sprechen").waitFor();
      await askButton(page).focus();
      await page.keyboard.press("Enter");
      await person(page).getByText("Hier antwortet ein Mensch.").waitFor();
    });

    test("it is not offered where the twin does not hand over", async () => {
      await using page = await openPage(browser);
      await page.route("**/api/v1/twins/echo", async (route) => {
        const response = await route.fetch();
        const { data } = await response.json();
        await route.fulfill({ response, json: { data: { ...data, handover: false } } });
      });
      await page.goto(origin);
      await page.locator("twin-chat [part~=greeting]", { hasText: "Say something." }).waitFor();
      await write(page, "Hello?");
      await page.locator("twin-chat [part~=tool]").last().waitFor();
      assert.equal(await person(page).textContent(), "");
    });
  });
}
