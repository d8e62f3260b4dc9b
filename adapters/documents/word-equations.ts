/**
 * The equations of a Word document.
 *
 * @module
 */

import { childOf, type Element, elementsIn, textIn } from "./xml.ts";

/** An equation by its letters, on one line: a fraction is (a)/(b), a power x^2. */
export function mathOf(element: Element): string {
  const of = (name: string) => mathOf(childOf(element, name) ?? { name: "", attributes: {}, children: [] });
  const grouped = (text: string) => (text.length > 1 ? `(${text})` : text);
  const property = (name: string, child: string, usual: string) =>
    childOf(childOf(element, name), child)?.attributes["m:val"] ?? usual;
  switch (element.name) {
    case "m:t":
    case "w:t":
      return textIn(element);
    case "m:f":
      return `${grouped(of("m:num"))}/${grouped(of("m:den"))}`;
    case "m:sSup":
      return `${of("m:e")}^${grouped(of("m:sup"))}`;
    case "m:sSub":
      return `${of("m:e")}_${grouped(of("m:sub"))}`;
    case "m:sSubSup":
      return `${of("m:e")}_${grouped(of("m:sub"))}^${grouped(of("m:sup"))}`;
    case "m:rad":
      return `${of("m:deg")}√${grouped(of("m:e"))}`;
    case "m:nary": {
      const [from, to] = [of("m:sub"), of("m:sup")];
      const limits = `${from && `_${grouped(from)}`}${to && `^${grouped(to)}`}`;
      return `${property("m:naryPr", "m:chr", "∫")}${limits} ${of("m:e")}`;
    }
    case "m:d":
      return `${property("m:dPr", "m:begChr", "(")}${elementsIn(element).map(mathOf).join("")}${property("m:dPr", "m:endChr", ")")}`;
    case "m:mr":
    case "m:eqArr":
      return elementsIn(element)
        .map(mathOf)
        .filter((text) => text !== "")
        .join(", ");
    case "m:m":
      return `[${elementsIn(element)
        .map(mathOf)
        .filter((text) => text !== "")
        .join("; ")}]`;
    default:
      return elementsIn(element).map(mathOf).join("");
  }
}
