/**
 * The chart of the first scenario, as the README shows it.
 *
 * @module
 */

import type { Result, Row } from "./tables.ts";

const width = 760;
const margin = 10;
const valueWidth = 90;
const barHeight = 14;
const rowHeight = 44;
const top = 62;

/** What the bars do not show: not all of them stand for the same work. */
const reservation = "this service also checks keys and limits, and stores question and reply";

/** Each label has a line of its own, above its bar: whatever font a browser chooses, it has the whole width. */
const labelWidth = width - 2 * margin;

/** Bars of a result's medians, longest first, as an SVG that is readable on light and dark backgrounds. */
export function toSvg({ title, unit, rows }: Result): string {
  const sorted = rows.filter(({ median }) => median > 0).toSorted((one, other) => other.median - one.median);
  const most = sorted[0]?.median ?? 1;
  const height = top + sorted.length * rowHeight + 4;
  const label = `${title}, in ${unit}: ${sorted.map(({ name, median }) => `${name} ${rounded(median)}`).join("; ")}`;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="${escapeXml(label)}">
<style>text{font:14px system-ui,-apple-system,"Segoe UI",sans-serif;fill:#1f2328}text.title{font-weight:600}text.note{fill:#59636e;font-size:12px}rect{fill:#9aa4af}text.own{font-weight:600;fill:#0b7a55}rect.own{fill:#10a06f}
@media(prefers-color-scheme:dark){text{fill:#e6edf3}text.note{fill:#9198a1}rect{fill:#6e7681}text.own{fill:#3ddc9f}rect.own{fill:#1fa874}}</style>
<text x="${margin}" y="22" class="title">${escapeXml(title)}</text>
<text x="${margin}" y="42" class="note">${escapeXml(`${unit}; ${reservation}`)}</text>
${sorted.map((row, index) => bar(row, top + index * rowHeight, most)).join("\n")}
</svg>
`;
}

function bar({ name, median }: Row, y: number, most: number): string {
  const length = Math.max(2, (median / most) * (labelWidth - valueWidth));
  const own = name === "this service" ? ' class="own"' : "";
  const below = y + 20;
  return `<text x="${margin}" y="${y + 13}"${own}>${escapeXml(name)}</text>
<rect x="${margin}" y="${below}" width="${length.toFixed(1)}" height="${barHeight}" rx="3"${own}/>
<text x="${(margin + length + 8).toFixed(1)}" y="${below + 12}"${own}>${rounded(median)}</text>`;
}

function rounded(value: number): string {
  return Math.round(value).toLocaleString("en");
}

function escapeXml(text: string): string {
  return text.replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`);
}
