import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { before, describe, test } from "node:test";
import type { Browser } from "playwright-core";
import { toSvg } from "../../bench/report/chart.ts";
import { patienceMs } from "./browsers.ts";
import { sharedBrowsers } from "./shared-browsers.ts";

/** What browsers choose where the chart's first fonts are missing, and the widest of all. */
const fonts = ["system-ui", "DejaVu Sans", "Liberation Sans", "serif", "DejaVu Sans Mono"];

const folder = new URL("../../bench/results/", import.meta.url);
const published = readdirSync(folder)
  .filter((name) => name.endsWith(".svg"))
  .map((name): [string, string] => [name, readFileSync(new URL(name, folder), "utf8")]);

const row = { low: 1, high: 1, more: {} };
const longest = toSvg({
  scenario: "live",
  title: "Streamed replies of 256 tokens that are all available at once, 64 connections",
  unit: "streams",
  rows: [
    { ...row, name: "AI SDK on Hono, the route of its chatbot guide, with all of its middleware", median: 1 },
    { ...row, name: "this service", median: 1_234_567 },
  ],
});

interface Box {
  readonly text: string;
  readonly left: number;
  readonly right: number;
  readonly top: number;
  readonly bottom: number;
}

const [installed] = sharedBrowsers.filter(({ name }) => name === "Chromium");

describe("a chart in Chromium", { skip: installed?.skip ?? "it is not looked for" }, () => {
  let browser: Browser;
  before(async () => {
    if (installed) browser = await installed.start();
  });

  for (const [name, svg] of [...published, ["of the longest labels", longest] as const]) {
    test(`${name} has all its texts within its edges, and none over another`, async () => {
      const page = await browser.newPage();
      page.setDefaultTimeout(patienceMs);
      for (const font of fonts) {
        await page.setContent(`${svg}<style>text{font-family:"${font}",${font}!important}</style>`);
        const { width, height, boxes } = await page.locator("svg").first().evaluate(boxesIn);
        assert.ok(boxes.length > 2);
        for (const [index, box] of boxes.entries()) {
          const inside = box.left >= 0 && box.top >= 0 && box.right <= width && box.bottom <= height;
          assert.ok(inside, `${font}: ${JSON.stringify(box)} in ${width} × ${height}`);
          const over = boxes.slice(index + 1).find((other) => overlaps(box, other));
          assert.equal(over, undefined, `${font}: ${box.text}`);
        }
      }
      await page.close();
    });
  }
});

/** Runs in the page. */
function boxesIn(svg: Element): { width: number; height: number; boxes: Box[] } {
  const { width, height } = (svg as SVGSVGElement).viewBox.baseVal;
  const boxes = [...svg.querySelectorAll("text")].map((label) => {
    const { x, y, width, height } = label.getBBox();
    return { text: label.textContent, left: x, right: x + width, top: y, bottom: y + height };
  });
  return { width, height, boxes };
}

function overlaps(one: Box, other: Box): boolean {
  return one.left < other.right && other.left < one.right && one.top < other.bottom && other.top < one.bottom;
}
