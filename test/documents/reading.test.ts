/** Documents as people have them, as Markdown. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { extractText } from "../../adapters/documents/mod.ts";
import { docx, draw, paragraph, pdf, type Text } from "./fixture.ts";

const textOf = async (path: string, bytes: Uint8Array | string) =>
  (await extractText(path, Buffer.from(bytes))).text;
const htmlOf = async (html: string) => (await textOf("a.html", html)).replace(/\s*\n\s*/gu, "\n");

test("a cell of HTML stands in each place that it spans, and rows of names are joined", async () => {
  const html = `<table><thead><tr><th rowspan=2>Room<th colspan=2>Price<tr><th>summer<th>winter</thead>
    <tr><td rowspan=2>Attic<td>1<td>2<tr><td colspan=2>on request</table>`;
  assert.equal(
    await htmlOf(html),
    "| Room | Price summer | Price winter |\n| --- | --- | --- |\n| Attic | 1 | 2 |\n| Attic | on request | on request |",
  );
});

test("tables that arrange a page are read as its text, and tables in cells as tables", async () => {
  const html =
    "<table><tr><td><h2>Hours</h2>From nine.<td><table><tr><td>a<td>b<tr><td>1<td>2</table></table>";
  assert.equal(await htmlOf(html), "## Hours\nFrom nine.\n| a | b |\n| --- | --- |\n| 1 | 2 |");
});

test("lists of HTML keep their numbers", async () => {
  const html =
    "<ol start=3><li>a<ul><li>b</ul><li value=7>c</ol><ol type=a><li>x<li>y</ol><ol reversed start=2><li>p<li>q</ol>";
  assert.equal(await htmlOf(html), "3. a\n- b\n7. c\n- a. x\n- b. y\n2. p\n1. q");
});

test("what a page of HTML hides is not told, and what is for machines alone", async () => {
  const html = `<p>Seen.<p hidden>a<p style="color:red; DISPLAY : none">b<div style="visibility:hidden">c</div><dialog>d</dialog>
    <span style="mso-hide:all">e</span><template>f</template><h2>Bins <a href="#bins">#</a></h2><p hidden="until-found">Found.`;
  assert.equal(await htmlOf(html), "Seen.\n## Bins\nFound.");
});

test("a page of HTML is read by its mark, by the charset that it names, else as UTF-8", async () => {
  const meta = (name: string) =>
    `<meta http-equiv=Content-Type content="text/html; charset=${name}"><p>caf\xe9 \x96 daily`;
  assert.equal(await textOf("a.html", Buffer.from(meta("windows-1252"), "latin1")), "café – daily");
  assert.equal(
    await textOf("a.html", Buffer.from("<meta charset='koi8-r'><p>\xf0\xd2\xc9\xd7\xc5\xd4", "latin1")),
    "Привет",
  );
  assert.equal(await textOf("a.html", Buffer.from("\ufeff<p>café", "utf16le")), "café");
  assert.equal(await textOf("a.html", Buffer.from("<p>café", "utf16le")), "café");
  assert.equal(await textOf("a.txt", Buffer.from("\ufeffcafé", "utf16le")), "café");
  await assert.rejects(
    textOf("a.html", "<meta charset=klingon><p>x"),
    /names a charset that is not known: "klingon"/u,
  );
  await assert.rejects(textOf("a.md", Buffer.from([0xff])), /is not valid UTF-8/u);
});

test("words of HTML keep their meaning: powers, quotes, notes, signs that look like tags", async () => {
  assert.equal(
    await htmlOf(
      "10<sup>6</sup> m<sup>2</sup> by <q>us</q><sup><a href='#n1'>1</a></sup>, <b> bold </b>and <b></b>a &lt;b&gt; &lt; 3, soft&shy;ly",
    ),
    "10⁶ m² by “us”, **bold** and a \\<b> < 3, softly",
  );
});

const heading = '<w:style w:type="paragraph" w:styleId="H2"><w:name w:val="heading 2"/></w:style>';

test("headings of Word are those of styles that are based on one, and of outline levels", async () => {
  const styles = `${heading}<w:style w:type="paragraph" w:styleId="X"><w:name w:val="Kapitel"/><w:basedOn w:val="H2"/></w:style>
    <w:style w:type="paragraph" w:styleId="O"><w:name w:val="House"/><w:pPr><w:outlineLvl w:val="0"/></w:pPr></w:style>
    <w:style w:type="paragraph" w:styleId="C"><w:basedOn w:val="C"/></w:style>`;
  const body = [
    paragraph("One", { style: "O" }),
    paragraph("Two", { style: "X" }),
    paragraph("Own", { properties: '<w:outlineLvl w:val="2"/>' }),
    paragraph("No heading", { style: "X", properties: '<w:outlineLvl w:val="9"/>' }),
    paragraph("In a circle.", { style: "C" }),
  ];
  assert.equal(
    await textOf("a.docx", docx(body.join(""), { styles })),
    "# One\n\n\n\n## Two\n\n\n\n### Own\n\n\n\nNo heading\n\n\n\nIn a circle.",
  );
});

test("where Word has no headings, short bold or larger lines with text below are", async () => {
  const bold = (text: string) => paragraph(text, { run: "<w:b/>" });
  const body = `${bold("Opening")}${paragraph("At nine.")}${paragraph("Shop", { run: '<w:sz w:val="40"/>' })}${paragraph("Closed.")}${bold("The end")}`;
  assert.match(
    await textOf("a.docx", docx(body)),
    /^### Opening\s+At nine\.\s+# Shop\s+Closed\.\s+\*\*The end\*\*$/u,
  );
});

const level = (at: number, text: string, format = "decimal") =>
  `<w:lvl w:ilvl="${at}"><w:start w:val="1"/><w:numFmt w:val="${format}"/><w:lvlText w:val="${text}"/></w:lvl>`;
const list = (id: number, levels: string) =>
  `<w:abstractNum w:abstractNumId="${id}">${levels}</w:abstractNum><w:num w:numId="${id}"><w:abstractNumId w:val="${id}"/></w:num>`;
const item = (text: string, id: number, at = 0, style = "") =>
  paragraph(text, {
    style,
    properties: `<w:numPr><w:ilvl w:val="${at}"/><w:numId w:val="${id}"/></w:numPr>`,
  });

test("numbers of Word's lists and headings are told as Word counts them", async () => {
  const numbering = [
    list(1, level(0, "%1.") + level(1, "%1.%2") + level(2, "(%3)", "lowerRoman")),
    list(2, level(0, "•", "bullet")),
    list(3, level(0, "第%1条", "chineseCountingThousand")),
  ].join("");
  const body = [
    item("Term", 1, 0, "H2"),
    item("Length", 1, 1, "H2"),
    item("Notice", 1, 1, "H2"),
    item("first", 1, 2),
    item("second", 1, 2),
  ];
  const more = [
    paragraph("Then:"),
    item("dot", 2),
    ...Array.from({ length: 12 }, (_, at) => item(`rule ${at}`, 3)),
    item("Next", 1),
  ];
  const text = await textOf("a.docx", docx([...body, ...more].join(""), { styles: heading, numbering }));
  assert.match(text, /## 1\. Term\s+## 1\.1 Length\s+## 1\.2 Notice/u);
  assert.match(text, /- \(i\) first\s+- \(ii\) second/u);
  assert.match(text, /- dot\s+- 第一条 rule 0.*- 第十二条 rule 11\s+2\. Next/su);
});

test("what was deleted, moved away or hidden in Word is not told, and text that is struck is marked", async () => {
  const run = (text: string, properties = "") =>
    `<w:r><w:rPr>${properties}</w:rPr><w:t xml:space="preserve">${text}</w:t></w:r>`;
  const body = `<w:p>${run("The fee is ")}<w:del><w:r><w:delText>90</w:delText></w:r></w:del><w:ins>${run("120")}</w:ins>${run("secret", "<w:vanish/>")}
    <w:moveFrom>${run("moved")}</w:moveFrom>${run(" or ")}${run("80", "<w:strike/>")}</w:p>
    <w:p><w:r><w:fldChar w:fldCharType="begin"/><w:instrText>TOC \\o</w:instrText><w:fldChar w:fldCharType="separate"/></w:r>${run("Fees ... 3")}<w:r><w:fldChar w:fldCharType="end"/></w:r></w:p>`;
  assert.equal(await textOf("a.docx", docx(body)), "The fee is 120 or ~~80~~");
});

test("cells of Word stand in each place that they span, and rows of names are joined", async () => {
  const cell = (text: string, properties = "") =>
    `<w:tc><w:tcPr>${properties}</w:tcPr>${paragraph(text)}</w:tc>`;
  const row = (cells: string, head = "") => `<w:tr><w:trPr>${head}</w:trPr>${cells}</w:tr>`;
  const body = `<w:tbl>${row(cell("Room", '<w:vMerge w:val="restart"/>') + cell("Price", '<w:gridSpan w:val="2"/>'), "<w:tblHeader/>")}
    ${row(`${cell("", "<w:vMerge/>")}${cell("summer")}${cell("winter")}`, "<w:tblHeader/>")}${row(cell("Attic") + cell("1") + cell("2"))}</w:tbl>`;
  assert.equal(
    await textOf("a.docx", docx(body)),
    "| Room | Price summer | Price winter |\n| --- | --- | --- |\n| Attic | 1 | 2 |",
  );
});

test("equations and notes of Word are told", async () => {
  const letters = (text: string) => `<m:r><m:t>${text}</m:t></m:r>`;
  const body = `<w:p><w:r><w:t xml:space="preserve">So </w:t></w:r><m:oMath>${letters("a=")}<m:f><m:num>${letters("b+1")}</m:num><m:den>${letters("2")}</m:den></m:f><m:sSup><m:e>${letters("x")}</m:e><m:sup>${letters("2")}</m:sup></m:sSup></m:oMath><w:r><w:footnoteReference w:id="2"/></w:r></w:p>`;
  const footnotes = `<w:footnote w:id="2">${paragraph("See below.")}</w:footnote>`;
  assert.equal(
    await textOf("a.docx", docx(body, { footnotes })),
    "So a=(b+1)/2x^2[^2]\n\n\n\n[^2]: See below.",
  );
});

const lines = (texts: readonly string[], x: number, y: number, step = 14): Text[] =>
  texts.map((text, at) => [11, x, y - at * step, text]);
const left = [
  "The committee looked at the yearly",
  "report on the bridge and said that",
  "it must be painted in spring.",
];
const right = [
  "Tickets for the ferry are sold at",
  "the kiosk beside the harbour and",
  "cost four euros for a ride.",
];

test("columns of a PDF are read one after another, in whichever order they are drawn", async () => {
  const byRow = left.flatMap((text, at): Text[] => [
    [11, 72, 700 - at * 14, text],
    [11, 330, 700 - at * 14, right[at] ?? ""],
  ]);
  const uneven = left.flatMap((text, at): Text[] => [
    [11, 72, 700 - at * 14, text],
    [11, 330, 693 - at * 14, right[at] ?? ""],
  ]);
  for (const texts of [byRow, uneven, [...lines(right, 330, 700), ...lines(left, 72, 700)]]) {
    const text = await textOf("a.pdf", pdf([draw([[18, 72, 740, "News of the town"], ...texts])]));
    assert.equal(text, `# News of the town\n\n${left.join("\n")}\n\n${right.join("\n")}`);
  }
});

test("rows of a PDF are a table, also on a turned page", async () => {
  const rows = [
    ["Room", "Beds", "Price"],
    ["Attic", "1", "40"],
    ["Garden", "2", "90"],
  ];
  const table = "| Room | Beds | Price |\n| --- | --- | --- |\n| Attic | 1 | 40 |\n| Garden | 2 | 90 |";
  const upright = rows.flatMap((row, at) =>
    row.map((text, column): Text => [11, 60 + 120 * column, 700 - 16 * at, text]),
  );
  assert.equal(await textOf("a.pdf", pdf([draw(upright)])), table);
  const turned = rows.flatMap((row, at) =>
    row.map((text, column): Text => [11, 400 + 16 * at, 60 + 120 * column, text]),
  );
  assert.equal(await textOf("a.pdf", pdf([draw(turned, "0 1 -1 0")], { page: "/Rotate 90" })), table);
});

test("a heading beside a table is none of its rows", async () => {
  const rows = ["Attic", "Garden", "Tower"].flatMap((name, at): Text[] => [
    [11, 60, 690 - 16 * at, name],
    [11, 300, 690 - 16 * at, String(40 + at)],
  ]);
  const food: Text[] = [
    [18, 60, 620, "Food"],
    [11, 60, 600, "There is soup."],
  ];
  const text = await textOf("a.pdf", pdf([draw([[18, 60, 720, "Rooms"], ...rows, ...food])]));
  assert.equal(text, "# Rooms\n\n- Attic: 40\n- Garden: 41\n- Tower: 42\n\n# Food\n\nThere is soup.");
});

test("large letters at the end of a PDF are text, also on pages that are turned", async () => {
  const texts = (turn: (x: number, y: number) => readonly [x: number, y: number]): Text[] => [
    ...["Tower", "Garden"].flatMap((name, at): Text[] => [
      [11, ...turn(60, 700 - 16 * at), name],
      [11, ...turn(300, 700 - 16 * at), String(130 - 40 * at)],
    ]),
    [18, ...turn(60, 640), "Prices of rooms"],
  ];
  for (const [matrix, rotate, turn] of [
    ["1 0 0 1", 0, (x: number, y: number) => [x, y] as const],
    ["0 1 -1 0", 90, (x: number, y: number) => [792 - y, x] as const],
    ["-1 0 0 -1", 180, (x: number, y: number) => [612 - x, 792 - y] as const],
    ["0 -1 1 0", 270, (x: number, y: number) => [y, 612 - x] as const],
  ] as const) {
    const page = `/Rotate ${rotate}`;
    assert.equal(
      await textOf("a.pdf", pdf([draw(texts(turn), matrix)], { page })),
      "- Tower: 130\n- Garden: 90\n\nPrices of rooms",
      page,
    );
  }
});

test("lines of a PDF are one paragraph at any spacing, and a wider gap begins another", async () => {
  for (const step of [13, 16.5, 22]) {
    const text = await textOf(
      "a.pdf",
      pdf([draw([...lines(left, 72, 700, step), ...lines(right, 72, 700 - 4.5 * step, step)])]),
    );
    assert.equal(text, `${left.join("\n")}\n\n${right.join("\n")}`, String(step));
  }
});

test("a price list with dots is text, and a table of contents is none", async () => {
  const menu = draw(lines(["Tomato soup ........... 5", "Fish soup ........... 9"], 72, 700));
  assert.equal(await textOf("a.pdf", pdf([menu])), "- Tomato soup: 5\n- Fish soup: 9");
  const contents = draw([...lines(["1 Opening ........... 2", "2 Prices ........... 3"], 72, 700)]);
  const chapters = ["1 Opening", "2 Prices"].map((title, at) =>
    draw([[18, 72, 700, title], ...lines([`Text ${at} of the chapter, and more of it.`], 72, 660)]),
  );
  assert.equal(
    await textOf("a.pdf", pdf([contents, ...chapters])),
    "# 1 Opening\n\nText 0 of the chapter, and more of it.\n\n# 2 Prices\n\nText 1 of the chapter, and more of it.",
  );
});

test("titles with numbers of their own at the top of pages are kept, running heads are not", async () => {
  const pages = [1, 2, 3, 4].map((page) =>
    draw([
      [9, 72, 770, `The course, page ${page}`],
      [18, 72, 740, `Lesson ${page}`],
      ...lines([`We learn number ${page} today.`], 72, 700),
    ]),
  );
  assert.equal(
    await textOf("a.pdf", pdf(pages)),
    [1, 2, 3, 4].map((page) => `# Lesson ${page}\n\nWe learn number ${page} today.`).join("\n\n"),
  );
});

test("headings of a PDF are bold lines, numbered titles, and titles of its outline", async () => {
  const bold: Text[] = [
    [11, 72, 700, "Opening hours", "b"],
    ...lines(left, 72, 684),
    [11, 72, 600, "Prices", "b"],
    ...lines(right, 72, 584),
  ];
  const under = (title: string, texts: readonly string[]) => `${title}\n\n${texts.join("\n")}`;
  assert.equal(
    await textOf("a.pdf", pdf([draw(bold)])),
    `${under("# Opening hours", left)}\n\n${under("# Prices", right)}`,
  );
  const articles = ["Article 17", "Article 18", "§ 3 Care", "§ 4 Keys"].flatMap((title, at) => [
    ...lines([title], 72, 700 - 100 * at),
    ...lines(left, 72, 670 - 100 * at),
  ]);
  const numbered = await textOf("a.pdf", pdf([draw(articles)]));
  assert.deepEqual(numbered.match(/^#+ .*$/gmu), [
    "## Article 17",
    "## Article 18",
    "## § 3 Care",
    "## § 4 Keys",
  ]);
  const outlined = pdf([draw([...lines(["Garden"], 72, 700), ...lines(left, 72, 670)])], {
    catalog: "/Outlines 7 0 R",
    objects: [
      "<< /Type /Outlines /First 8 0 R /Last 8 0 R /Count 1 >>",
      "<< /Title (Garden) /Parent 7 0 R /Dest [5 0 R /Fit] >>",
    ],
  });
  assert.equal(await textOf("a.pdf", outlined), under("# Garden", left));
});

test("a line that only refers to a number is no heading", async () => {
  const text = [
    "The fee is named in",
    "Article 17 and in Article 18 of the",
    "rules of this house, and nowhere else.",
  ];
  assert.equal(await textOf("a.pdf", pdf([draw(lines(text, 72, 700))])), text.join("\n"));
});

test("a PDF without text says why: a password, blank pages", async () => {
  const key = `<${"00".repeat(32)}>`;
  const locked = Buffer.from(
    pdf([draw([[12, 50, 700, "a"]])], {
      objects: [`<< /Filter /Standard /V 1 /R 2 /O ${key} /U ${key} /P -4 >>`],
    }),
  );
  const trailer = locked
    .toString("latin1")
    .replace("/Root 1 0 R", "/Root 1 0 R /Encrypt 7 0 R /ID [<00> <00>]");
  await assert.rejects(
    textOf("a.pdf", Buffer.from(trailer, "latin1")),
    /is protected by a password; save it without one/u,
  );
  await assert.rejects(textOf("a.pdf", pdf([""])), /has no text: its pages are blank/u);
});
