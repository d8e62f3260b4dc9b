/** Documents of a twin that are no Markdown, and files that are not read. */

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { checkTwins } from "../../adapters/twin-files/mod.ts";
import { runtime } from "../support/runtime.ts";
import { createFolder, createRecorder, open } from "./fixture.ts";

const twin = "---\nname: Odd\n---\n\nYou are Odd.\n";

async function textsOf(t: Parameters<typeof createFolder>[0], files: Record<string, string | Uint8Array>) {
  const folder = await createFolder(t, { "odd/twin.md": twin, ...files });
  const found = await (await open(t, folder)).get("alice", "odd");
  return Object.fromEntries((found?.documents ?? []).map(({ path, text }) => [path, text]));
}

/** A file of one page for each text; an empty one has a picture only. */
function pdf(...pages: readonly (readonly (readonly [size: number, text: string])[])[]): string {
  const kids = pages.map((_, at) => `${4 + 2 * at} 0 R`).join(" ");
  const objects = [
    "<</Type/Catalog/Pages 2 0 R>>",
    `<</Type/Pages/Kids[${kids}]/Count ${pages.length}>>`,
    "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
    ...pages.flatMap((lines, at) => {
      const text = lines
        .map(([size, line], row) => `BT /F1 ${size} Tf 50 ${700 - 40 * row} Td (${line}) Tj ET`)
        .join("\n");
      return [
        `<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Resources<</Font<</F1 3 0 R>>>>/Contents ${5 + 2 * at} 0 R>>`,
        `<</Length ${text.length}>>stream\n${text}\nendstream`,
      ];
    }),
  ];
  let file = "%PDF-1.4\n";
  const places = objects.map((object, at) => {
    const place = file.length;
    file += `${at + 1} 0 obj\n${object}\nendobj\n`;
    return `${String(place).padStart(10, "0")} 00000 n \n`;
  });
  const table = `xref\n0 ${places.length + 1}\n0000000000 65535 f \n${places.join("")}`;
  return `${file}${table}trailer\n<</Size ${places.length + 1}/Root 1 0 R>>\nstartxref\n${file.length}\n%%EOF`;
}

test("Markdown under other names and HTML are read", async (t) => {
  const texts = await textsOf(t, {
    "odd/a.markdown": "# Lamp\n\nIt turns.",
    "odd/b.mdx": "# Horn\n\nIt is loud.",
    "odd/c.html":
      "<title>Hours</title><nav>Home</nav><h2>Summer</h2><p>From nine.<table><tr><th>Day</th></tr></table>",
    "odd/d.HTM": "<h1>Shop</h1><p>Closed.",
  });
  assert.deepEqual(Object.keys(texts), ["a.markdown", "b.mdx", "c.html", "d.HTM"]);
  assert.match(texts["c.html"] ?? "", /^# Hours\n\n## Summer\s+From nine\.\s+\| Day \|/u);
  assert.doesNotMatch(texts["c.html"] ?? "", /Home/u);
});

test("a PDF's larger lines are headings", async (t) => {
  const texts = await textsOf(t, {
    "odd/a.pdf": pdf([
      [24, "Opening hours"],
      [12, "We open at nine and close at five, but not on Sundays."],
    ]),
  });
  assert.match(texts["a.pdf"] ?? "", /^# Opening hours\s+We open at nine/u);
});

test("a PDF of scanned pages is refused, with the reason", async (t) => {
  const folder = await createFolder(t, { "odd/twin.md": twin, "odd/scan.pdf": pdf([]) });
  await assert.rejects(open(t, folder), /"odd\/scan.pdf": has no text: its pages are pictures/u);
});

test("a Word document keeps its headings, lists and tables", { skip: runtime === "deno" }, async (t) => {
  const samples = new URL("../../node_modules/mammoth/test/test-data/", import.meta.url);
  const texts = await textsOf(t, {
    "odd/list.docx": await readFile(new URL("simple-list.docx", samples)),
    "odd/table.docx": await readFile(new URL("tables.docx", samples)),
  });
  assert.equal(texts["list.docx"], "- Apple\n- Banana");
  assert.match(texts["table.docx"] ?? "", /\| Top left \| Top right \|/u);
});

test("what is no PDF or Word document, and HTML that is nested too deep, is a fault of the file", async (t) => {
  const deep = `${"<div>".repeat(200_000)}x`;
  for (const [name, text, problem] of [
    ["a.pdf", "no", /cannot be read as PDF/u],
    ["a.docx", "no", /cannot be read as Word/u],
    ["a.html", deep, /nested too deep/u],
  ] as const) {
    const folder = await createFolder(t, { "odd/twin.md": twin, [`odd/${name}`]: text });
    await assert.rejects(open(t, folder), problem);
  }
});

test("what is not read is named once, at the start and by check", async (t) => {
  const files = {
    "odd/a.csv": "1",
    "odd/b.csv": "2",
    "odd/c.key": "3",
    "odd/.hidden": "4",
    "odd/x.md": "# X\n\ny",
  };
  const folder = await createFolder(t, { "odd/twin.md": twin, ...files });
  const unread = "3 files are not read: 2 .csv, 1 .key";
  const recorder = createRecorder();
  await open(t, folder, { log: recorder.log });
  assert.deepEqual(
    recorder.entries.filter(({ fields }) => fields.unread).map(({ fields }) => fields.unread),
    [unread],
  );
  const { lines, passed } = await checkTwins(folder);
  assert.ok(lines.includes(`odd: ${unread}`), lines.join("\n"));
  assert.equal(passed, true);
});
