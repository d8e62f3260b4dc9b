/** Documents that are made for tests. */

import { deflateRawSync, deflateSync } from "node:zlib";

/** A zip file of texts. */
export function zip(parts: Readonly<Record<string, string | Uint8Array>>): Uint8Array {
  const locals: Buffer[] = [];
  const directory: Buffer[] = [];
  let at = 0;
  for (const [name, text] of Object.entries(parts)) {
    const raw = Buffer.from(text);
    const packed = deflateRawSync(raw, { level: 9 });
    const head = Buffer.alloc(30);
    head.writeUInt32LE(0x04034b50, 0);
    head.writeUInt16LE(8, 8);
    head.writeUInt32LE(packed.length, 18);
    head.writeUInt32LE(raw.length, 22);
    head.writeUInt16LE(name.length, 26);
    const entry = Buffer.alloc(46);
    entry.writeUInt32LE(0x02014b50, 0);
    head.copy(entry, 6, 4, 30);
    entry.writeUInt32LE(at, 42);
    locals.push(head, Buffer.from(name), packed);
    directory.push(entry, Buffer.from(name));
    at += head.length + name.length + packed.length;
  }
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50, 0);
  end.writeUInt16LE(Object.keys(parts).length, 10);
  end.writeUInt32LE(at, 16);
  return Buffer.concat([...locals, ...directory, end]);
}

const word =
  'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main" xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math"';

/** A Word document of paragraphs and tables, in XML. */
export function docx(
  body: string,
  parts: { styles?: string; numbering?: string; footnotes?: string } = {},
): Uint8Array {
  const more = Object.entries(parts).map(([name, xml]) => [
    `word/${name}.xml`,
    `<w:${name} ${word}>${xml}</w:${name}>`,
  ]);
  return zip({
    "_rels/.rels": `<Relationships><Relationship Id="r" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" Target="word/document.xml"/></Relationships>`,
    ...Object.fromEntries(more),
    "word/document.xml": `<?xml version="1.0"?><w:document ${word}><w:body>${body}</w:body></w:document>`,
  });
}

/** A paragraph of Word. */
export function paragraph(text: string, { style = "", properties = "", run = "" } = {}): string {
  const named = style && `<w:pStyle w:val="${style}"/>`;
  return `<w:p><w:pPr>${named}${properties}</w:pPr><w:r><w:rPr>${run}</w:rPr><w:t xml:space="preserve">${text}</w:t></w:r></w:p>`;
}

/** A line of a page: its letters' size, its place, its text; with `b`, in bold letters. */
export type Text = readonly [size: number, x: number, y: number, text: string, font?: "b"];

/** The stream of a page that draws texts. `matrix`: how they are turned. */
export function draw(texts: readonly Text[], matrix = "1 0 0 1"): string {
  return texts
    .map(
      ([size, x, y, text, font = "r"]) =>
        `BT /${font} ${size} Tf ${matrix} ${x} ${y} Tm (${text.replace(/[()\\]/gu, "\\$&")}) Tj ET`,
    )
    .join("\n");
}

/** A PDF of pages, each with its stream. `more`: entries of the catalog; further objects begin with number 5 + 2 × pages. */
export function pdf(
  streams: readonly (string | Uint8Array)[],
  {
    catalog = "",
    kids,
    page = "",
    objects: further = [],
  }: { catalog?: string; kids?: string; page?: string; objects?: readonly string[] } = {},
): Uint8Array {
  const first = streams.map((_, at) => `${5 + 2 * at} 0 R`);
  const objects: (string | Uint8Array)[] = [
    `<< /Type /Catalog /Pages 2 0 R ${catalog} >>`,
    kids ?? `<< /Type /Pages /Kids [${first.join(" ")}] /Count ${streams.length} >>`,
    "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
    "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica-Bold /Encoding /WinAnsiEncoding >>",
    ...streams.flatMap((stream, at) => {
      const packed = deflateSync(typeof stream === "string" ? Buffer.from(stream, "latin1") : stream, {
        level: 9,
      });
      return [
        `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] ${page} /Resources << /Font << /r 3 0 R /b 4 0 R >> >> /Contents ${6 + 2 * at} 0 R >>`,
        Buffer.concat([
          Buffer.from(`<< /Length ${packed.length} /Filter /FlateDecode >>\nstream\n`),
          packed,
          Buffer.from("\nendstream"),
        ]),
      ];
    }),
    ...further,
  ];
  const parts = [Buffer.from("%PDF-1.4\n")];
  const places: string[] = [];
  let at = 9;
  for (const [number, object] of objects.entries()) {
    const part = Buffer.concat([
      Buffer.from(`${number + 1} 0 obj\n`),
      Buffer.from(object),
      Buffer.from("\nendobj\n"),
    ]);
    places.push(`${String(at).padStart(10, "0")} 00000 n \n`);
    parts.push(part);
    at += part.length;
  }
  const table = `xref\n0 ${objects.length + 1}\n0000000000 65535 f \n${places.join("")}`;
  parts.push(
    Buffer.from(`${table}trailer << /Size ${objects.length + 1} /Root 1 0 R >>\nstartxref\n${at}\n%%EOF`),
  );
  return Buffer.concat(parts);
}
