/**
 * Elements in one expression.
 *
 * @module
 */

/** Attributes and event listeners of an element: a function under `onclick` listens to `click`. */
type Attributes = Readonly<Record<string, string | boolean | undefined | ((event: Event) => void)>>;

type Child = Node | string | undefined | false;

/** An element with its attributes and children. What is `undefined` or `false` is left out. */
export function h<Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  attributes: Attributes = {},
  ...children: readonly Child[]
): HTMLElementTagNameMap[Name] {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(key.slice(2), value);
    else if (value === true) element.setAttribute(key, "");
    else if (value !== undefined && value !== false) element.setAttribute(key, value);
  }
  element.append(
    ...children.filter((child): child is Node | string => child !== undefined && child !== false),
  );
  return element;
}

/** The element of the page with an id. */
export function byId<Element extends HTMLElement>(id: string, type: new () => Element): Element {
  const element = document.getElementById(id);
  if (element instanceof type) return element;
  throw new Error(`The page has no ${type.name} with the id ${id}.`);
}
