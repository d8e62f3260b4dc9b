/**
 * The chart of streamed replies, as the README shows it.
 *
 * @module
 */

import type { Result } from "./measure.ts";

const width = 720;
const labelWidth = 250;
const barHeight = 22;
const gap = 10;
const top = 44;

/** Bars of a result's medians, longest first, as an SVG that reads on light and dark ground. */
export function toSvg({ title, unit, rows }: Result): string {
  const sorted = rows.toSorted((one, other) => other.median - one.median);
  const most = sorted[0]?.median ?? 1;
  const height = top + sorted.length * (barHeight + gap) + 8;
  const bars = sorted.map(({ name, median }, index) => {
    const y = top + index * (barHeight + gap);
    const length = Math.max(2, (median / most) * (width - labelWidth - 90));
    const text = y + barHeight / 2 + 5;
    const own = name === rows[0]?.name ? ' class="own"' : "";
    return `<text x="${labelWidth - 10}" y="${text}" text-anchor="end"${own}>${escapeXml(name)}</text>
<rect x="${labelWidth}" y="${y}" width="${length.toFixed(1)}" height="${barHeight}" rx="3"${own}/>
<text x="${(labelWidth + length + 8).toFixed(1)}" y="${text}"${own}>${Math.round(median).toLocaleString("en")}</text>`;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img" aria-label="${escapeXml(title)}">
<style>text{font:14px system-ui,sans-serif;fill:#57606a}rect{fill:#9aa4af}text.own{font-weight:600;fill:#0b7a55}rect.own{fill:#10a06f}
@media(prefers-color-scheme:dark){text{fill:#b1bac4}text.own{fill:#3ddc9f}}</style>
<text x="10" y="24">${escapeXml(`${title}: ${unit}`)}</text>
${bars.join("\n")}
</svg>
`;
}

function escapeXml(text: string): string {
  return text.replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`);
}
