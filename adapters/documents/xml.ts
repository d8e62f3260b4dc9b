/**
 * Reads XML as it comes: the elements that matter as trees, one after another, so that no file is held as a whole.
 *
 * @module
 */

import { Parser } from "htmlparser2";
import { DocumentError } from "./text.ts";

/** An element, with those in it. */
export interface Element {
  readonly name: string;
  readonly attributes: Readonly<Record<string, string>>;
  readonly children: (Element | string)[];
}

/** What is done with a file's elements. */
export interface ElementHandlers {
  /** Elements that are given with all that is in them, once they are closed. */
  readonly whole: ReadonlySet<string>;
  /** Elements that are left out with all that is in them. */
  readonly unseen?: (name: string, parent: string | undefined) => boolean;
  element(element: Element): void;
  /** The begin and the end of an element that is in no other one that is given as a whole. */
  open?(name: string): void;
  close?(name: string): void;
}

/** Office writes elements some dozens deep. */
const deepest = 200;
const chunkBytes = 64 * 1024;

/** Reads a file in UTF-8 or UTF-16. Entities that the file defines itself are not known, and stay as they are. */
export function readXml(bytes: Uint8Array, { whole, unseen, element, open, close }: ElementHandlers): void {
  const names: string[] = [];
  const inside: Element[] = [];
  let hidden = 0;
  const parser = new Parser(
    {
      onopentag(name, attributes) {
        const parent = names.at(-1);
        if (names.push(name) > deepest)
          throw new DocumentError(`has elements that are nested too deep (more than ${deepest}).`);
        if (hidden > 0 || unseen?.(name, parent)) return void hidden++;
        const around = inside.at(-1);
        if (!around && !whole.has(name)) return open?.(name);
        const child = { name, attributes, children: [] };
        around?.children.push(child);
        inside.push(child);
      },
      ontext(text) {
        if (hidden === 0) inside.at(-1)?.children.push(text);
      },
      onclosetag(name) {
        names.pop();
        if (hidden > 0) return void hidden--;
        const closed = inside.pop();
        if (!closed) close?.(name);
        else if (inside.length === 0) element(closed);
      },
    },
    { xmlMode: true },
  );
  const isWide = bytes[0] === 0xff || bytes[0] === 0xfe;
  const decoder = new TextDecoder(!isWide ? "utf-8" : bytes[0] === 0xff ? "utf-16le" : "utf-16be");
  for (let at = 0; at < bytes.length; at += chunkBytes)
    parser.write(decoder.decode(bytes.subarray(at, at + chunkBytes), { stream: true }));
  parser.end();
}

/** The first element of a name in an element. */
export function childOf(element: Element | undefined, name: string): Element | undefined {
  return element?.children.find(
    (child): child is Element => typeof child !== "string" && child.name === name,
  );
}

/** The elements in an element. */
export function elementsIn(element: Element | undefined): Element[] {
  return (element?.children ?? []).filter((child): child is Element => typeof child !== "string");
}

/** The value of the element of a name, such as `w:val` of `<w:jc w:val="center"/>`. */
export function propertyOf(element: Element | undefined, name: string): string | undefined {
  return childOf(element, name)?.attributes["w:val"];
}

/** Whether a property is on: its element is there, and does not say no. */
export function isOn(element: Element | undefined, name: string): boolean | undefined {
  const property = childOf(element, name);
  return property && !/^(?:0|false|off|none)$/u.test(property.attributes["w:val"] ?? "");
}

/** All text in an element. */
export function textIn(element: Element | undefined): string {
  return (element?.children ?? [])
    .map((child) => (typeof child === "string" ? child : textIn(child)))
    .join("");
}
