/** Documents of somebody hostile: small ones that unpack, or go on without end. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { extractText } from "../../adapters/documents/mod.ts";
import { docx, draw, paragraph, pdf } from "./fixture.ts";

const text = (path: string, bytes: Uint8Array | string) => extractText(path, Buffer.from(bytes));

test("a Word document that unpacks to more than 50 MB is refused, in whichever part", async () => {
  const long = "a ".repeat(26_000_000);
  const fault = { name: "DocumentError", message: "unpacks to more than 50 MB." };
  await assert.rejects(text("a.docx", docx(paragraph(long))), fault);
  await assert.rejects(text("a.docx", docx(paragraph("a"), { styles: long })), fault);
});

test("elements that are nested deeper than 200 are refused, in Word and in HTML", async () => {
  const deep = `${"<w:sdt><w:sdtContent>".repeat(20_000)}${"</w:sdtContent></w:sdt>".repeat(20_000)}`;
  await assert.rejects(
    text("a.docx", docx(deep)),
    /^DocumentError: has elements that are nested too deep \(more than 200\)\.$/u,
  );
  await assert.rejects(text("a.html", "<div>".repeat(200_000)), /nested too deep/u);
});

test("entities that a Word document defines are not expanded", async () => {
  const bomb =
    docx("").length > 0
      ? `<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;"><!ENTITY z SYSTEM "file:///etc/passwd">]>`
      : "";
  assert.equal((await text("a.docx", docx(`${bomb}${paragraph("x&amp;b;&z;")}`))).text, "x&b;&z;");
});

test("a PDF whose page unpacks to what PDFium may not take is refused", async () => {
  const stream = Buffer.from(`BT /r 12 Tf ${"1 1 Td (a) Tj ".repeat(2_000_000)} ET`);
  // On a busy machine, its time may end first.
  await assert.rejects(text("a.pdf", pdf([stream])), /takes too (?:much memory|long)/u);
});

test("a PDF of more than 2,000 pages is refused, also where they are one page", async () => {
  const kids = `<< /Type /Pages /Kids [${"5 0 R ".repeat(2_001)}] /Count 2001 >>`;
  await assert.rejects(
    text("a.pdf", pdf([draw([[12, 50, 700, "a"]])], { kids })),
    /has more than 2,000 pages/u,
  );
});

test("pages that say that there are millions, or contain each other, are read as they are", async () => {
  const page = draw([[12, 50, 700, "a"]]);
  const many = pdf([page], { kids: "<< /Type /Pages /Kids [5 0 R] /Count 2000000000 >>" });
  assert.equal((await text("a.pdf", many)).text, "a");
  const circle = pdf([page], { kids: "<< /Type /Pages /Kids [2 0 R 2 0 R] /Count 4 >>" });
  await assert.rejects(text("a.pdf", circle), /has no text/u);
});

test("a document after one that was refused is read, and several at once are", async () => {
  const good = docx(paragraph("Good."));
  const read = await Promise.allSettled([
    text("a.docx", "PK"),
    text("b.docx", good),
    text("c.pdf", "no"),
    text("d.docx", good),
  ]);
  assert.deepEqual(
    read.map((one) => (one.status === "fulfilled" ? one.value.text : String(one.reason))),
    ["DocumentError: cannot be read as Word.", "Good.", "DocumentError: cannot be read as PDF.", "Good."],
  );
});

test("a document that takes too long ends as a fault, and the next one is read", async () => {
  const long = docx(paragraph("A word. ").repeat(300_000));
  await assert.rejects(extractText("a.docx", long, { withinMs: 20 }), {
    name: "DocumentError",
    message: "takes too long to be read: it unpacks to more than a document may.",
  });
  assert.equal((await text("b.docx", docx(paragraph("Good.")))).text, "Good.");
});

test("tables of more than 200,000 cells are refused", async () => {
  const cells = "<tr><td>a<td>b".repeat(500_000);
  await assert.rejects(
    text("a.html", `<table>${cells}</table>`),
    /has more than 200,000 cells in its tables/u,
  );
});

test("a table of many cells, and rows and columns that span more than there are, are read", async () => {
  const { text: many } = await text("a.html", `<table>${"<tr><td>a<td>b".repeat(100_000)}</table>`);
  assert.equal(many.split("\n").length, 100_001);
  const { text: spans } = await text(
    "a.html",
    `<table><tr><th colspan=99999999>a<th>b<tr><td rowspan=99999999>c<td>d</table>`,
  );
  assert.match(spans, /^\| a \| a \|/u);
});

test("cells of Word that span others, or are merged, do not make a text long", async () => {
  const cell = (inside: string, properties: string) => `<w:tc><w:tcPr>${properties}</w:tcPr>${inside}</w:tc>`;
  const wide = '<w:gridSpan w:val="100"/>';
  const table = (inside: string) =>
    `<w:tbl><w:tr>${cell(inside, wide)}${cell(paragraph("b"), "")}</w:tr></w:tbl>`;
  const nested = await text("a.docx", docx(table(table(table(paragraph("word ".repeat(1_000)))))));
  assert.ok(nested.text.length < 2 ** 21, `${nested.text.length}`);
  const rows = `<w:tr>${cell(paragraph(""), "<w:vMerge/>")}${cell(paragraph("b"), "")}</w:tr>`.repeat(20_000);
  const first = cell(paragraph("word ".repeat(1_000)), '<w:vMerge w:val="restart"/>');
  const merged = await text("a.docx", docx(`<w:tbl><w:tr>${first}</w:tr>${rows}</w:tbl>`));
  assert.ok(merged.text.length < 2 * rows.length, `${rows.length} became ${merged.text.length}`);
});

test("a Word document of more than 20 Mi characters is refused", async () => {
  const body = paragraph("words ".repeat(400_000)).repeat(9);
  await assert.rejects(
    text("a.docx", docx(body)),
    /^DocumentError: has more than 20 Mi characters of text\.$/u,
  );
});

test("what lists make of a page beyond 20 Mi characters is refused", async () => {
  const page = `${"<ul><li>".repeat(20)}${"<p>a</p>".repeat(300_000)}`;
  await assert.rejects(text("a.html", page), /^DocumentError: is more than 20 Mi characters of text\.$/u);
});

test("a page of more than a million tiny elements is refused, and does not end the process", async () => {
  const page = "<p>x".repeat(1_200_000);
  await assert.rejects(text("a.html", page), /^DocumentError: is more than 20 Mi characters of text\.$/u);
});
