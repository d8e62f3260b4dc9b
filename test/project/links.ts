/**
 * Checks that the links of documents lead to an existing file, and to a heading there.
 */

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";

const places = [".", "docs", "bench"];

/** The broken links of the documents in a folder, a checkout's or an installed package's. */
export function brokenLinks(root: string): string[] {
  return documentsIn(root).flatMap((file) =>
    linksOf(prose(file))
      .filter((link) => !leadsSomewhere(file, link))
      .map((link) => `${relative(root, file)}: ${link}`),
  );
}

function documentsIn(root: string): string[] {
  const folders = places.map((place) => join(root, place)).filter((folder) => existsSync(folder));
  return folders.flatMap((folder) =>
    readdirSync(folder).flatMap((name) => (name.endsWith(".md") ? join(folder, name) : [])),
  );
}

/** A document without its blocks of code. */
function prose(file: string): string {
  return readFileSync(file, "utf8").replaceAll(/^```[\s\S]*?^```$/gm, "");
}

function linksOf(text: string): string[] {
  return [...text.matchAll(/\]\(([^)\s]+)\)/g)].map(([, link = ""]) => link);
}

function leadsSomewhere(file: string, link: string): boolean {
  if (/^https?:/.test(link)) return true;
  const [path = "", anchor] = link.split("#");
  const target = path === "" ? file : join(dirname(file), path);
  return existsSync(target) && (anchor === undefined || anchorsOf(target).includes(anchor));
}

/** The anchors of a document's headings. */
function anchorsOf(file: string): string[] {
  return [...prose(file).matchAll(/^#+ (.+)$/gm)].map(([, heading = ""]) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
      .replaceAll(" ", "-"),
  );
}
