/** Documents of a twin that are no Markdown, and files that are not read. */

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { checkTwins } from "../../adapters/twin-files/mod.ts";
import { createFolder, createRecorder, open } from "./fixture.ts";

const twin = "---\nname: Odd\n---\n\nYou are Odd.\n";

async function textsOf(t: Parameters<typeof createFolder>[0], files: Record<string, string | Uint8Array>) {
  const folder = await createFolder(t, { "odd/twin.md": twin, ...files });
  const found = await (await open(t, folder)).get("alice", "odd");
  return Object.fromEntries((found?.documents ?? []).map(({ path, text }) => [path, text]));
}

/** A line of a page: 40 points below the one before, if it does not say where. */
type Row = readonly [size: number, text: string, y?: number];

/** A file with a page for each list of lines; an empty one has a picture only. */
function pdf(...pages: readonly (readonly Row[])[]): string {
  const kids = pages.map((_, at) => `${4 + 2 * at} 0 R`).join(" ");
  const objects = [
    "<</Type/Catalog/Pages 2 0 R>>",
    `<</Type/Pages/Kids[${kids}]/Count ${pages.length}>>`,
    "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
    ...pages.flatMap((lines, at) => {
      const text =
        lines
          .map(([size, line, y], row) => `BT /F1 ${size} Tf 50 ${y ?? 700 - 40 * row} Td (${line}) Tj ET`)
          .join("\n") || "q 9 0 0 9 0 0 cm BI /W 1 /H 1 /CS /G /BPC 8 ID x EI Q";
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

test("a PDF's heading may have several lines, and larger text that goes on is none", async (t) => {
  const texts = await textsOf(t, {
    "odd/a.pdf": pdf([
      [24, "Opening hours", 700],
      [24, "of the tower", 670],
      [12, "We open at nine and close at five, but not on Sundays.", 640],
      ...[600, 580, 560, 540].map((y): Row => [14, `Line at ${y} of a form.`, y]),
    ]),
  });
  assert.match(texts["a.pdf"] ?? "", /^# Opening hours of the tower\s+We open at nine/u);
  assert.match(texts["a.pdf"] ?? "", /\n\nLine at 600 of a form\.\n+Line at 580/u);
});

test("of a PDF, running heads, tables of contents and letters that are drawn twice are left out", async (t) => {
  const page = (number: number): Row[] => [
    [12, `Tower guide, page ${number}`],
    [12, `Text of page ${number}.`],
    [12, `Text of page ${number}.`, 660],
    [12, "# is no heading, and <b> no tag."],
    [12, `Tower . . . . . . . ${number}`, 60],
  ];
  const texts = await textsOf(t, { "odd/a.pdf": pdf(page(1), page(2), page(3)) });
  const one = (number: number) => `Text of page ${number}.\n\n\\# is no heading, and \\<b> no tag.`;
  assert.equal(texts["a.pdf"], [1, 2, 3].map(one).join("\n\n"));
});

test("pages of a PDF that are pictures are named, at the start and by check", async (t) => {
  const file = pdf([[12, "One."]], [], [[12, "Three."]]);
  const folder = await createFolder(t, { "odd/twin.md": twin, "odd/a.pdf": file, "odd/b.csv": "1" });
  const unread = "1 file is not read: 1 .csv; pages are pictures, without text: a.pdf: 1 of 3 pages";
  const recorder = createRecorder();
  await open(t, folder, { log: recorder.log });
  assert.deepEqual(
    recorder.entries.flatMap(({ fields }) => fields.unread ?? []),
    [unread],
  );
  assert.ok((await checkTwins(folder)).lines.includes(`odd: ${unread}`));
});

test("a PDF of scanned pages is refused, with the reason", async (t) => {
  const folder = await createFolder(t, { "odd/twin.md": twin, "odd/scan.pdf": pdf([]) });
  await assert.rejects(open(t, folder), /"odd\/scan.pdf": has no text: its pages are pictures/u);
});

test("a Word document keeps its headings, lists and tables", async (t) => {
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
