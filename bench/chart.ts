/**
 * The chart of streamed replies, as the README shows it.
 *
 * @module
 */

import type { Result, Row } from "./report.ts";

const width = 760;
const labelWidth = 270;
const valueWidth = 80;
const barHeight = 22;
const gap = 10;
const top = 78;

/** What the bars do not show: not all of them stand for the same work. */
const subtitle = [
  "This service checks a key, enforces its limit, and stores question and reply (on disk or in memory).",
  "The others do none of that: they only answer.",
];

/** Bars of a result's medians, longest first, as an SVG that is readable on light and dark backgrounds. */
export function toSvg({ title, unit, rows }: Result): string {
  const sorted = rows.toSorted((one, other) => other.median - one.median);
  const most = sorted[0]?.median ?? 1;
  const height = top + sorted.length * (barHeight + gap) + 8;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="${escapeXml(`${title}: ${sorted.map(described).join("; ")}`)}">
<style>text{font:14px system-ui,-apple-system,"Segoe UI",sans-serif;fill:#1f2328}text.title{font-weight:600;font-size:15px}text.note{fill:#59636e;font-size:13px}rect{fill:#9aa4af}text.own{font-weight:600;fill:#0b7a55}rect.own{fill:#10a06f}
@media(prefers-color-scheme:dark){text{fill:#e6edf3}text.note{fill:#9198a1}rect{fill:#6e7681}text.own{fill:#3ddc9f}rect.own{fill:#1fa874}}</style>
<text x="10" y="22" class="title">${escapeXml(`${title}: ${unit}`)}</text>
${subtitle.map((line, index) => `<text x="10" y="${42 + index * 18}" class="note">${escapeXml(line)}</text>`).join("\n")}
${sorted.map((row, index) => bar(row, top + index * (barHeight + gap), most)).join("\n")}
</svg>
`;
}

function bar({ name, median }: Row, y: number, most: number): string {
  const length = Math.max(2, (median / most) * (width - labelWidth - valueWidth));
  const text = y + barHeight / 2 + 5;
  const own = isOwn(name) ? ' class="own"' : "";
  return `<text x="${labelWidth - 10}" y="${text}" text-anchor="end"${own}>${escapeXml(name)}</text>
<rect x="${labelWidth}" y="${y}" width="${length.toFixed(1)}" height="${barHeight}" rx="3"${own}/>
<text x="${(labelWidth + length + 8).toFixed(1)}" y="${text}"${own}>${rounded(median)}</text>`;
}

function isOwn(name: string): boolean {
  return name.startsWith("this service");
}

function described({ name, median }: Row): string {
  return `${name} ${rounded(median)}`;
}

function rounded(value: number): string {
  return Math.round(value).toLocaleString("en");
}

function escapeXml(text: string): string {
  return text.replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`);
}
