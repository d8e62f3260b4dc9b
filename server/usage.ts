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
  const uses = Object.entries(commands).map(
    ([name, { takes, about }]) => `${wrapped(`${program} ${name} ${takes}`, 2)}\n${wrapped(about, 6)}`,
  );
  const rows = Object.values(settings).map((setting) => {
    const name = setting.flag ? `--${setting.flag}, ${setting.variable}` : setting.variable;
    const about = setting.about.replaceAll("`", "");
    return `  ${name}\n${wrapped(`${about}; default: ${shownDefault(setting)}; takes ${setting.expected}`, 6)}`;
  });
  return `Conversational AI twins over HTTP.

Usage:
  ${program} [flags]
      start the server
${uses.join("\n")}
  ${program} --help | --version

Examples:
${wrapped(`${program} --twins ./my-twins --port 8080`, 2)}
${wrapped(`${program} key --sub alice --url http://127.0.0.1:8787`, 2)}
${wrapped(`${program} --model-base-url http://127.0.0.1:11434/v1 --model-name llama3.2`, 2)}

Settings, as flags (--port 80 or --port=80) or environment variables; a flag wins over its variable:
${rows.join("\n")}
`;
}

/** The longest line of `--help`, in characters. */
const lineLength = 120;

/** A text in indented lines, broken at spaces; further lines are indented more. */
function wrapped(text: string, indent: number): string {
  const lines: string[] = [];
  let line = " ".repeat(indent - 1);
  for (const word of text.split(" ")) {
    if (line.length + 1 + word.length > lineLength) {
      lines.push(line);
      line = " ".repeat(indent + 1);
    }
    line += ` ${word}`;
  }
  return [...lines, line].join("\n");
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
