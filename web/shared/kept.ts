/**
 * What the tab keeps of a page.
 *
 * @module
 */

/** What the browser did not take: it refuses storage, as in a sandboxed frame, or has no room. It lasts as long as the page. */
const untaken = new Map<string, string>();

/** What is kept under a key. */
export function kept(key: string): string | null {
  try {
    return untaken.get(key) ?? sessionStorage.getItem(key);
  } catch {
    return null;
  }
}

/** Keeps a text in place of what was kept. Null: nothing. */
export function keep(key: string, text: string | null): void {
  untaken.delete(key);
  try {
    sessionStorage.removeItem(key);
    if (text !== null) sessionStorage.setItem(key, text);
  } catch {
    if (text !== null) untaken.set(key, text);
  }
}
