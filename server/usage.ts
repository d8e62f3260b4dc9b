/**
 * What `--help` prints, and the table of settings in the docs.
 *
 * @module
 */

import { commands } from "./commands/mod.ts";
import type { Setting } from "./setting.ts";
import { settings } from "./settings.ts";

/** What `--help` prints. `program` is the command that starts this program. */
export function usage(program: string): string {
  const rows = Object.values(settings).flatMap((setting): [string, string][] => [
    [
      setting.flag ? `--${setting.flag}, ${setting.variable}` : setting.variable,
      setting.about.replaceAll("`", ""),
    ],
    ["", `default: ${shownDefault(setting)}; takes ${setting.expected}`],
  ]);
  const width = Math.max(...rows.map(([name]) => name.length));
  const uses = Object.entries(commands).map(
    ([name, { takes, about }]) => `  ${program} ${name} ${takes}\n      ${about}`,
  );
  const lines = rows.map(([name, about]) => `  ${name.padEnd(width)}  ${about}`);
  return `Conversational AI twins over HTTP.

Usage:
  ${program} [flags]
      start the server
${uses.join("\n")}
  ${program} --help | --version

Settings, as flags (--port 80 or --port=80) or environment variables; a flag wins over its variable:
${lines.join("\n")}
`;
}

/** The settings as a Markdown table for the docs. The docs say once that numbers are whole and texts are trimmed. */
export function settingsTable(): string {
  const rows = Object.values(settings).map((setting) => {
    const name = setting.flag ? `\`${setting.variable}\` (\`--${setting.flag}\`)` : `\`${setting.variable}\``;
    const fallback = setting.fallback ? `\`${setting.fallback}\`` : shownDefault(setting);
    const takes = setting.expected.replace(
      /^one of |^a whole number from |,? without leading or trailing white space$/,
      "",
    );
    return `| ${name} | ${fallback} | ${setting.about} | ${takes.replaceAll("<", "\\<")} |`;
  });
  return ["| variable (flag) | default | | takes |", "|---|---|---|---|", ...rows].join("\n");
}

function shownDefault({ fallback, otherwise = "none" }: Setting<unknown>): string {
  return fallback || otherwise;
}
