/**
 * The desk's tab of an owner's own twins: making, correcting, trying and taking back one; and answering what was left unanswered.
 */

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { Browser } from "playwright-core";
import { TwinClient } from "../../client/mod.ts";
import { assertAccessible, assertFitsScreens, openPage, type WatchedPage } from "./browsers.ts";
import { openPlayground, type Playground, replyOn, send } from "./playground.ts";
import { representativeBrowsers } from "./shared-browsers.ts";

const keeper = `---
name: Keeper
---
## The lighthouse

The lighthouse is forty metres tall.
`;

const file = `---
name: Shop
tests:
  - ask: When are you open?
    source: Opening hours
---

## Opening hours

We are open from nine to six.
`;

async function storeOn({ url, token }: Playground, id: string, text: string): Promise<void> {
  const response = await fetch(`${url}/api/v1/twins/${id}/file`, {
    method: "PUT",
    headers: { Authorization: `Bearer ${await token()}`, "Content-Type": "text/markdown" },
    body: text,
  });
  assert.ok(response.ok, await response.text());
}

for (const { name, skip, start } of representativeBrowsers) {
  describe(`an owner's own twins in ${name}`, { skip }, () => {
    let browser: Browser;
    let server: Playground;
    before(async () => {
      server = await openPlayground({}, { "keeper.md": keeper });
      browser = await start();
    });
    after(() => server[Symbol.asyncDispose]());

    /** Stores a file as another program does. */
    const store = (id: string, text: string) => storeOn(server, id, text);

    async function stored(id: string): Promise<string> {
      const headers = { Authorization: `Bearer ${await server.token()}` };
      return (await fetch(`${server.url}/api/v1/twins/${id}/file`, { headers })).text();
    }

    /** Deletes a twin as another program does. */
    async function remove(id: string): Promise<void> {
      const headers = { Authorization: `Bearer ${await server.token()}` };
      await fetch(`${server.url}/api/v1/twins/${id}`, { method: "DELETE", headers });
    }

    /** The tab, with a twin at its text. `except`: what fails there on purpose. */
    async function open(
      id?: string,
      except?: RegExp,
      colorScheme: "light" | "dark" | null = null,
    ): Promise<WatchedPage> {
      const page = await openPage(browser, { colorScheme }, except);
      await server.open(page);
      await page.click("#tab-own-twins");
      if (id !== undefined) {
        await page.click(`#own-twins [data-twin="${id}"]`);
        await page.locator("#twin-text").waitFor();
      }
      return page;
    }

    const save = (page: WatchedPage) => page.press("#twin-text", "ControlOrMeta+s");
    const saved = (page: WatchedPage, version: number) =>
      page.getByText(`Saved as version ${version}.`).waitFor();

    test("a new one begins from a template whose golden questions pass, and can be talked to", async () => {
      await using page = await open();
      await page
        .getByText("You have made none yet.")
        .or(page.locator("#own-twins [data-twin]").first())
        .waitFor();
      await page.locator(".people").getByRole("button", { name: "New twin" }).click();
      await page.getByText("All 2 are answered as expected.").waitFor();
      await assertAccessible(page);
      await page.fill("#twin-id", "desk-one");
      await save(page);
      await saved(page, 1);
      await page.locator('#own-twins [data-twin="desk-one"][aria-current]').waitFor();
      await page.getByRole("button", { name: "Talk to it" }).click();
      await send(page, "When are you open?");
      assert.match(await replyOn(page), /nine to six/);
    });

    test("faults are told at their lines as one types, and by keyboard one goes there", async () => {
      await store("faulty", file);
      await using page = await open("faulty");
      await page.fill("#twin-text", file.replace("name: Shop", "name: Shop\nage: 7"));
      const fault = page.locator(".faults button", { hasText: "Line 3" });
      await fault.press("Enter");
      const selected = await page
        .locator("#twin-text")
        .evaluate((field: HTMLTextAreaElement) =>
          field.value.slice(field.selectionStart, field.selectionEnd),
        );
      assert.equal(selected, "age: 7");
      assert.equal(await page.locator(".source-lines .marked").count(), 1);
      await assertAccessible(page);
      await assertFitsScreens(page);
      assert.equal(await stored("faulty"), file);
      await page.fill("#twin-text", file);
      await page.locator(".faults button").waitFor({ state: "detached" });
    });

    test("a golden question that fails is shown with its answer, and a text is tried before it is stored", async () => {
      await store("tried", file);
      await using page = await open("tried");
      await page.fill(
        "#twin-text",
        file.replace("nine to six", "ten to eight").replace("source: Opening hours", "says: nine"),
      );
      await page.getByText("0 of 1 are answered as expected.").waitFor();
      await page.locator(".own-twins blockquote", { hasText: "ten to eight" }).waitFor();
      await page.fill("#try-question", "When are you open?");
      await page.press("#try-question", "Enter");
      await page.locator(".tried", { hasText: "ten to eight" }).waitFor();
      await assertAccessible(page);
      assert.equal(await stored("tried"), file);
    });

    test("has no obstacles and fits all screens, in dark colours", async () => {
      await store("dark", file);
      await store("dark", file.replace("nine", "ten"));
      await using page = await open("dark", /status of (404|412)/, "dark");
      await page.getByRole("button", { name: "What changed: version 2" }).click();
      await page.locator(".difference .new").waitFor();
      await assertAccessible(page);
      await page.keyboard.press("Escape");
      await page.fill("#twin-text", file.replace("name: Shop", "name: Shop\nage: 7"));
      await page.locator(".faults button").waitFor();
      await page.fill("#try-question", "When are you open?");
      await page.press("#try-question", "Enter");
      await page.locator(".tried", { hasText: "Line 3" }).waitFor();
      await assertAccessible(page);
      await assertFitsScreens(page);
      await page.fill("#twin-text", file); // a text with faults would be refused for these
      await remove("dark");
      await save(page);
      await page.locator(".editor-head .warn").waitFor();
      await assertAccessible(page);
    });

    test("what a version changed is shown, an earlier one is restored, and line ends stay", async () => {
      const windows = file.replaceAll("\n", "\r\n");
      await store("versions", windows);
      await using page = await open("versions");
      await page.fill("#twin-text", file.replace("nine", "ten"));
      await page.fill("#twin-note", "Later");
      await page.press("#twin-note", "Enter");
      await saved(page, 2);
      assert.equal(await stored("versions"), windows.replace("nine", "ten"));
      await page.getByRole("button", { name: "What changed: version 2" }).click();
      const lines = await page.locator(".difference :is(.gone, .new)").allInnerTexts();
      assert.deepEqual(
        lines.map((line) => line.replaceAll(/\s+/g, " ").trim()),
        ["− We are open from nine to six.", "+ We are open from ten to six."],
      );
      await assertAccessible(page);
      await page.keyboard.press("Escape");
      await page.getByRole("button", { name: "Restore: version 1" }).click();
      await page.locator("dialog").getByRole("button", { name: "Restore", exact: true }).waitFor();
      await assertAccessible(page);
      await page.locator("dialog").getByRole("button", { name: "Restore", exact: true }).click();
      await page.getByText("Version 3 · is current").waitFor();
      assert.equal(await page.inputValue("#twin-text"), file);
      assert.equal(await stored("versions"), windows);
    });

    test("documents are put, refused with the reason, answered from and removed", async () => {
      await store("documents", file);
      await using page = await open("documents", /status of 400/);
      const buffer = Buffer.from("# Prices\n\nA coffee is three euros.\n");
      await page.setInputFiles("#twin-document", [
        { name: "prices.md", mimeType: "text/markdown", buffer },
        { name: "prices.exe", mimeType: "application/octet-stream", buffer },
      ]);
      await page.locator(".document", { hasText: "prices.md" }).waitFor();
      await page
        .locator(".sending li", { hasText: "prices.exe" })
        .getByText("ending that is not read")
        .waitFor();
      await page.fill("#try-question", "Prices of a coffee?");
      await page.press("#try-question", "Enter");
      await page.locator(".tried", { hasText: "three euros" }).waitFor();
      await page.fill("#twin-text", file.replace("nine", "ten"));
      await save(page);
      await saved(page, 3);
      await assertAccessible(page);
      await page.getByRole("button", { name: "Remove prices.md" }).click();
      await page.locator("dialog").getByRole("button", { name: "Remove" }).click();
      await page.getByText("It knows no documents").waitFor();
    });

    test("a file is dropped where documents are", async () => {
      await store("dropped", file);
      await using page = await open("dropped");
      const dropped = await page.evaluateHandle(() => {
        const transfer = new DataTransfer();
        transfer.items.add(new File(["# Prices\n\nTea is two euros.\n"], "tea.md"));
        return transfer;
      });
      await page.dispatchEvent(".drop", "drop", { dataTransfer: dropped });
      await page.locator(".document", { hasText: "tea.md" }).waitFor();
    });

    test("if another has saved meanwhile, both texts are shown, put together, and no words are lost", async () => {
      await store("both", file);
      await using page = await open("both", /status of 412/);
      const mine = file.replace("nine to six", "ten to eight");
      await page.fill("#twin-text", mine);
      await store("both", file.replace("name: Shop", "name: Their shop"));
      await save(page);
      await page.locator(".difference").waitFor();
      await assertAccessible(page);
      await page.getByRole("button", { name: "Put both together" }).click();
      await page.getByText("Both are here").waitFor();
      await save(page);
      await saved(page, 3);
      assert.equal(await stored("both"), mine.replace("name: Shop", "name: Their shop"));
      const theirs = file.replace("nine to six", "noon to six");
      await page.fill("#twin-text", mine);
      await store("both", theirs);
      await save(page);
      await page.getByRole("button", { name: "Take theirs" }).click();
      await page.getByText("Theirs is here").waitFor();
      assert.equal(await page.inputValue("#twin-text"), theirs);
      await page.getByRole("button", { name: "Put mine back" }).click();
      assert.equal(await page.inputValue("#twin-text"), mine);
      await save(page);
      await saved(page, 5);
    });

    for (const [what, notice] of [
      ["saving", (page) => save(page)],
      ["trying", (page) => page.press("#try-question", "Enter")],
      ["going back", (page) => page.getByRole("button", { name: "Restore: version 1" }).click()],
      [
        "putting a document",
        (page) =>
          page.setInputFiles("#twin-document", {
            name: "prices.md",
            mimeType: "text/markdown",
            buffer: Buffer.from("# Prices\n"),
          }),
      ],
    ] as readonly [string, (page: WatchedPage) => Promise<unknown>][]) {
      test(`${what} says that a twin was deleted elsewhere, and no words are lost`, async () => {
        const id = `deleted-${what.replaceAll(" ", "-")}`;
        await store(id, file.replace("nine", "eight"));
        await store(id, file);
        await using page = await open(id, /status of (404|412)/);
        await page.getByRole("button", { name: "Restore: version 1" }).waitFor();
        const mine = file.replace("nine to six", "ten to eight");
        await page.fill("#twin-text", mine);
        await page.fill("#twin-note", "Later");
        await page.fill("#try-question", "When are you open?");
        await remove(id);
        await notice(page);
        await page.locator(".editor-head .warn", { hasText: `${id} was deleted elsewhere` }).waitFor();
        await assertAccessible(page);
        assert.equal(await page.inputValue("#twin-text"), mine);
        assert.equal(await page.inputValue("#twin-note"), "Later");
        assert.equal(await page.inputValue("#try-question"), "When are you open?");
        await page.locator(`#own-twins [data-twin="${id}"]`).waitFor({ state: "detached" });
        await page.press("#try-question", "Enter");
        await page.locator(".tried", { hasText: "ten to eight" }).waitFor();
        await save(page);
        await saved(page, 3);
        assert.equal(await stored(id), mine);
      });
    }

    /** Asks a twin, and teaches it the answer among the questions. Returns the question's entry. */
    async function teach(page: WatchedPage, twin: string, question: string) {
      await page.click("#tab-talk");
      await page.locator("#twins button", { hasText: twin }).first().click();
      await send(page, question);
      await replyOn(page);
      await page.click("#tab-questions");
      const entry = page.locator("#questions .entry", { hasText: question });
      await entry.getByRole("button", { name: /^Answer/ }).click();
      await entry.getByLabel("Answer", { exact: true }).fill("It costs eight euros.");
      await entry.getByRole("button", { name: /^Teach/ }).click();
      await entry.getByText("knows the answer now, as version 2.").waitFor();
      return entry;
    }

    test("what was taught stays so while the tab is open, and is taken back only as the newest version", async () => {
      await store("keeps", file.replace("name: Shop", "name: Keeps"));
      await using page = await open();
      const entry = await teach(page, "Keeps", "A canoe?");
      const back = entry.getByRole("button", { name: "Take it back" });
      await page.click("#tab-keys");
      await page.click("#tab-questions");
      await back.waitFor();
      await page.reload();
      await back.waitFor();
      assert.equal(await entry.getByRole("button", { name: /^Answer/ }).count(), 0);
      await assertAccessible(page);
      const taught = await stored("keeps");
      await store("keeps", `${taught}\nMore.\n`);
      await back.click();
      await entry.getByText("keeps has version 3 by now.").waitFor();
      await store("keeps", taught);
      assert.match(await stored("keeps"), /eight euros/);
      await assertAccessible(page);
    });

    test("what was taught is taken back, and can be answered again", async () => {
      await store("takes", file.replace("name: Shop", "name: Takes"));
      await using page = await open();
      const entry = await teach(page, "Takes", "A kayak?");
      await page.click("#tab-keys");
      await page.click("#tab-questions");
      await entry.getByRole("button", { name: "Take it back" }).click();
      await entry.getByRole("button", { name: /^Answer/ }).waitFor();
      assert.doesNotMatch(await stored("takes"), /eight euros/);
      await page.click("#tab-keys");
      await page.click("#tab-questions");
      await entry.getByRole("button", { name: /^Answer/ }).waitFor();
    });

    test("the open twin follows what it is taught; what is written stays, and is told of the newer version", async () => {
      await store("follows", file.replace("name: Shop", "name: Follows"));
      await using page = await open("follows");
      await page.getByText("Version 1 · is current").waitFor();
      await teach(page, "Follows", "A rowing boat?");
      await page.click("#tab-own-twins");
      await page.getByText("Version 2 · is current").waitFor();
      await page.getByRole("button", { name: "Restore: version 1" }).waitFor();
      const second = await page.inputValue("#twin-text");
      assert.match(second, /eight euros/);
      const mine = second.replace("nine", "ten");
      await page.fill("#twin-text", mine);
      await page.click("#tab-questions");
      await store("follows", second.replace("eight euros", "seven euros"));
      await page.click("#tab-own-twins");
      await page.locator(".editor-head .warn", { hasText: "A newer version is there." }).waitFor();
      await page.getByText("Version 3 · is current").waitFor();
      assert.equal(await page.inputValue("#twin-text"), mine);
      await assertAccessible(page);
      await page.getByRole("button", { name: "Look at both" }).click();
      await page.getByRole("button", { name: "Put both together" }).click();
      assert.match(await page.inputValue("#twin-text"), /from ten to six[\s\S]*seven euros/);
      await save(page);
      await saved(page, 4);
      assert.equal(await page.locator(".editor-head .warn").count(), 0);
    });

    test("leaving with words that are not saved asks, and a deletion names what goes", async () => {
      await store("left", file);
      await store("other", file.replace("Shop", "Other"));
      await using page = await open("left");
      await page.fill("#twin-text", `${file}\nMore.\n`);
      await page.click('#own-twins [data-twin="other"]');
      await page.locator("dialog").getByRole("button", { name: "Cancel" }).click();
      assert.match(await page.inputValue("#twin-text"), /More/);
      const asked = page.waitForEvent("dialog");
      void page.reload().catch(() => {});
      const dialog = await asked;
      assert.equal(dialog.type(), "beforeunload");
      await dialog.dismiss();
      assert.match(await page.inputValue("#twin-text"), /More/);
      await page.fill("#twin-text", file);
      await page.locator(".editor").getByRole("button", { name: "Delete" }).click();
      await page
        .locator("dialog", { hasText: "0 documents and 1 version" })
        .getByRole("button", { name: "Delete" })
        .click();
      await page.locator('#own-twins [data-twin="left"]').waitFor({ state: "detached" });
      assert.match(await stored("left"), /twin_not_found/);
    });

    test("what was left unanswered is answered beside it, and taken back; an operator's twin is told where", async () => {
      await store("taught", file);
      await using page = await open();
      await page.click("#tab-talk");
      for (const [twin, question] of [
        ["Shop", "Do you sell umbrellas?"],
        ["Keeper", `Who painted Guernica?${" Who?".repeat(35)} 🎨🎨🎨🎨`], // its heading would end within the second of these
      ] as const) {
        await page.locator("#twins button", { hasText: twin }).first().click();
        await send(page, question);
        await replyOn(page);
      }
      await page.click("#tab-questions");
      const entry = page.locator("#questions .entry", { hasText: "umbrellas" });
      await entry.getByRole("button", { name: "Answer: Do you sell umbrellas?" }).click();
      await entry.getByLabel("Answer", { exact: true }).fill("Umbrellas cost eight euros.");
      await assertAccessible(page);
      await assertFitsScreens(page);
      await entry.getByRole("button", { name: /^Teach/ }).click();
      await entry.getByText("knows the answer now").waitFor();
      await page.click("#tab-talk");
      await page.locator("#twins button", { hasText: "Shop" }).first().click();
      await send(page, "Do you sell umbrellas?");
      assert.match(await replyOn(page), /eight euros/);
      await page.click("#tab-questions");
      const other = page.locator("#questions .entry", { hasText: "Guernica" });
      await other.getByRole("button", { name: /^Answer/ }).click();
      await other.getByText("keeper is in the operator's files").waitFor();
      assert.match((await other.locator("pre").textContent()) ?? "", /^## .+ Who\? 🎨\n/u);
      await assertAccessible(page);
    });

    test("a question is answered that is too long for one, or has what a comment cannot hold", async () => {
      await store("taught", file);
      const app = new TwinClient({ baseUrl: server.url, apiKey: await server.key() });
      const { id } = await app.conversations.create({ twinId: "taught" });
      await app.messages.send(id, { content: `Wo --> gibt es\u0007 Zelte?${" Bitte!".repeat(200)}` });
      await using page = await open();
      await page.click("#tab-questions");
      const entry = page.locator("#questions .entry", { hasText: "Zelte" });
      await entry.getByRole("button", { name: /^Answer/ }).click();
      await entry.getByLabel("Answer", { exact: true }).fill("Im Garten.");
      await entry.getByRole("button", { name: /^Teach/ }).click();
      await entry.getByText("knows the answer now").waitFor();
    });
  });

  describe(`where owners make no twins, in ${name}`, { skip }, () => {
    test("there is no such tab, and no answering", async () => {
      await using server = await openPlayground({ MAX_TWINS: "0" }, { "keeper.md": keeper });
      await using page = await openPage(await start());
      await server.open(page);
      await page.locator("#twins button").waitFor();
      assert.equal(await page.locator("#tab-own-twins").isVisible(), false);
      await page.focus("#tab-questions");
      await page.keyboard.press("ArrowRight");
      await page.locator("#tab-keys:focus").waitFor();
    });
  });

  describe(`many twins of an owner, in ${name}`, { skip }, () => {
    test("are searched by name and id, and further than they have been read", async () => {
      await using server = await openPlayground({ MAX_TWINS: "200" }, { "keeper.md": keeper });
      const names = Array.from({ length: 120 }, (_, index) => `Bulk ${index}`);
      await Promise.all(
        [...names, "The Ａccordion"].map((twin, index) =>
          storeOn(server, `twin-${index}`, `---\nname: ${twin}\n---\n`),
        ),
      );
      await using page = await openPage(await start());
      await server.open(page);
      await page.click("#tab-own-twins");
      const rows = page.locator("#own-twins [data-twin]");
      await rows.first().waitFor();
      assert.equal(await rows.count(), 100);
      await page.fill("#own-twins-search", "BULK 17");
      assert.deepEqual(await rows.locator(".about").allInnerTexts(), ["twin-17"]);
      await page.fill("#own-twins-search", "accordion");
      const state = page.locator("#own-twins .sifted");
      assert.equal(await state.innerText(), "0 found in 100 of 121.");
      await assertAccessible(page);
      await assertFitsScreens(page);
      await page.getByRole("button", { name: "Search further" }).press("Enter");
      await page.locator('[data-twin="twin-120"]:focus').waitFor();
      assert.equal(await state.innerText(), "1 found in 121 of 121.");
      await page.keyboard.press("Enter");
      await page.locator("#twin-text").waitFor();
      await page.locator('[data-twin="twin-120"][aria-current]').waitFor();
      await page.fill("#own-twins-search", "twin-119");
      assert.deepEqual(await rows.locator(".name").allInnerTexts(), ["Bulk 119"]);
    });
  });
}
