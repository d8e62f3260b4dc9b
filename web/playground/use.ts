/**
 * What was used in the last 30 days, as a chart of bars.
 *
 * @module
 */

import type { TwinClient, UsageResource, UsageSum } from "../../client/mod.ts";
import { byId, h } from "../shared/dom.ts";
import { failure, loading } from "./paged-list.ts";

const days = 30;
const dayMs = 86_400_000;
const svgNamespace = "http://www.w3.org/2000/svg";

/** Shows the chart anew. */
export async function showUse(client: TwinClient): Promise<void> {
  const place = byId("use", HTMLElement);
  place.replaceChildren(loading());
  try {
    const [{ data }, { budgets }] = await Promise.all([
      client.usage.history({ limit: 100 }),
      client.usage.get(),
    ]);
    const byDay = new Map(data.map((sum) => [sum.group, sum]));
    const none = { replies: 0, inputTokens: 0, outputTokens: 0, cachedInputTokens: 0 };
    const sums = Array.from({ length: days }, (_, index) => {
      const group = new Date(Date.now() - (days - 1 - index) * dayMs).toISOString().slice(0, 10);
      return byDay.get(group) ?? { group, ...none };
    });
    place.replaceChildren(...budgets.map(meterOf), ...chartOf(sums));
  } catch (error) {
    place.replaceChildren(failure(error, () => void showUse(client)));
  }
}

/** What is gone of a budget of tokens. */
function meterOf({
  scope,
  period,
  limit,
  used,
  reserved,
  resetAt,
}: UsageResource["budgets"][number]): HTMLElement {
  const whose = scope === "owner" ? "All of your keys" : "This page's key";
  const [gone, most] = [used + reserved, limit].map((count) => count.toLocaleString("en"));
  const label = `${whose}, this ${period}: ${gone} of ${most} tokens`;
  const title = `New ones from ${resetAt.slice(0, 10)} on (UTC)`;
  const meter = h("meter", { min: "0", max: String(limit), value: String(used + reserved), title });
  return h("label", { class: "budget" }, label, meter);
}

function chartOf(sums: readonly UsageSum[]): HTMLElement[] {
  const total = (member: "replies" | "inputTokens" | "outputTokens") =>
    sums.reduce((sum, each) => sum + each[member], 0);
  const figure = (label: string, value: number) =>
    h("div", {}, h("dt", {}, label), h("dd", {}, value.toLocaleString("en")));
  const figures = h(
    "dl",
    { class: "figures" },
    figure("Replies", total("replies")),
    figure("Input tokens", total("inputTokens")),
    figure("Output tokens", total("outputTokens")),
  );
  const most = Math.max(...sums.map(({ replies }) => replies));
  if (most === 0) return [figures, h("p", { class: "soft" }, "No reply has ended in this time.")];
  const rows = sums
    .filter(({ replies }) => replies > 0)
    .map(({ group, replies, inputTokens, outputTokens }) =>
      h(
        "tr",
        {},
        h("th", { scope: "row" }, group ?? ""),
        ...[replies, inputTokens, outputTokens].map((value) => h("td", {}, value.toLocaleString("en"))),
      ),
    );
  const heads = ["Day", "Replies", "Input tokens", "Output tokens"].map((name) =>
    h("th", { scope: "col" }, name),
  );
  const first = new Date(`${sums[0]?.group}T00:00:00Z`);
  const firstDay = first.toLocaleDateString("en", { day: "numeric", month: "long", timeZone: "UTC" });
  return [
    figures,
    h(
      "figure",
      { class: "chart" },
      h("div", { class: "chart-most" }, `${most.toLocaleString("en")} ${most === 1 ? "reply" : "replies"}`),
      bars(sums, most),
      h("figcaption", {}, h("span", {}, firstDay), h("span", {}, "today")),
    ),
    h(
      "details",
      {},
      h("summary", {}, "As a table"),
      h(
        "div",
        { class: "table", tabindex: "0" },
        h("table", {}, h("thead", {}, h("tr", {}, ...heads)), h("tbody", {}, ...rows)),
      ),
    ),
  ];
}

/** A bar a day, as tall as its share of the day with most. */
function bars(sums: readonly UsageSum[], most: number): SVGElement {
  const chart = document.createElementNS(svgNamespace, "svg");
  const named = { viewBox: `0 0 ${days} 100`, preserveAspectRatio: "none", role: "img" };
  for (const [name, value] of Object.entries(named)) chart.setAttribute(name, value);
  chart.setAttribute(
    "aria-label",
    `Replies by day, at most ${most} a day. The figures are in the table below.`,
  );
  sums.forEach(({ group, replies }, index) => {
    const height = replies === 0 ? 1 : Math.max(3, (100 * replies) / most);
    const bar = document.createElementNS(svgNamespace, "rect");
    const place = { x: index + 0.12, y: 100 - height, width: 0.76, height };
    for (const [name, value] of Object.entries(place)) bar.setAttribute(name, String(value));
    if (replies === 0) bar.setAttribute("class", "none");
    const title = document.createElementNS(svgNamespace, "title");
    title.textContent = `${group}: ${replies}`;
    bar.append(title);
    chart.append(bar);
  });
  return chart;
}
