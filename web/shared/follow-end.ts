/**
 * A list that grows at its end.
 *
 * @module
 */

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
  new MutationObserver(grown).observe(list, { childList: true, subtree: true, characterData: true });
  return () => {
    isFollowed = true;
    list.scrollTop = list.scrollHeight;
  };
}
