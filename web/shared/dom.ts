/**
 * Elements: made in one expression, found by their ids, icons, and lists whose end stays in view.
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

/** The element of the page with an id. */
export function byId<Element extends HTMLElement>(id: string, type: new () => Element): Element {
  const element = document.getElementById(id);
  if (element instanceof type) return element;
  throw new Error(`The page has no ${type.name} with the id ${id}.`);
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
