/**
 * Elements: made in one expression, found by their ids, icons, fields that Enter submits, and lists whose end stays in view.
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

/** A picture of lines, by the commands of an SVG path in a square of 24. */
export function icon(path: string): SVGElement {
  const namespace = "http://www.w3.org/2000/svg";
  const [image, line] = [
    document.createElementNS(namespace, "svg"),
    document.createElementNS(namespace, "path"),
  ];
  image.setAttribute("viewBox", "0 0 24 24");
  image.setAttribute("aria-hidden", "true");
  line.setAttribute("d", path);
  image.append(line);
  return image;
}

/** The icons of what people think of a reply. */
export const thumbs = {
  up: "M7 11v9H4v-9zl4-8q3 0 3 3v3h5l-2 9q0 2-2 2H7",
  down: "M7 13V4H4v9zl4 8q3 0 3-3v-3h5l-2-9q0-2-2-2H7",
} as const;

/** The element of the page with an id. */
export function byId<Element extends HTMLElement>(id: string, type: new () => Element): Element {
  const element = document.getElementById(id);
  if (element instanceof type) return element;
  throw new Error(`The page has no ${type.name} with the id ${id}.`);
}

/** Has Enter in a text field submit its form. With Shift, or while a word is converted to other signs, it writes. */
export function submitOnEnter(field: HTMLTextAreaElement, form: HTMLFormElement): void {
  field.addEventListener("keydown", (event) => {
    const isConverting = event.isComposing || event.keyCode === 229; // Safari tells the end of it by this code alone
    if (event.key !== "Enter" || event.shiftKey || isConverting) return;
    event.preventDefault();
    form.requestSubmit();
  });
}

/** How far from the end a reader still counts as being there, in pixels. */
const tolerance = 40;

/**
 * Keeps the end of a list in view while it grows, once a frame, unless its reader has scrolled up. Returns what shows the
 * end again, wherever its reader is.
 */
export function followEnd(list: HTMLElement): () => void {
  let isFollowed = true;
  let isDue = false;
  let lastTop = 0;
  list.addEventListener("scroll", () => {
    const { scrollTop, scrollHeight, clientHeight } = list;
    const isAtEnd = scrollHeight - clientHeight - scrollTop < tolerance;
    isFollowed = isAtEnd || (isFollowed && scrollTop >= lastTop); // it may have grown since it was scrolled to its end
    lastTop = scrollTop;
  });
  const grown = () => {
    if (isDue) return;
    isDue = true;
    requestAnimationFrame(() => {
      isDue = false;
      if (isFollowed) list.scrollTop = list.scrollHeight;
    });
  };
  // What is shown again grows it, too, and what is shown below it takes of its height.
  const changes = { childList: true, subtree: true, characterData: true, attributeFilter: ["hidden"] };
  new MutationObserver(grown).observe(list, changes);
  new ResizeObserver(grown).observe(list);
  return () => {
    isFollowed = true;
    list.scrollTop = list.scrollHeight;
  };
}
