/**
 * The tabs of a browser share few connections to a server, over HTTP/1.1 six. An open stream holds one for as long as its
 * tab is open: if each tab had its own, the seventh could not even ask.
 *
 * @module
 */

/** How many tabs follow their conversations at once. The others have a stream only while a reply to them is written. */
const most = 4;

/**
 * Resolves once this tab may keep a stream open, with what says that it is closed; at once where there are no tabs. Calls
 * `full` if it has to wait for another tab.
 */
export async function oneOfFew(signal: AbortSignal, full: () => void): Promise<() => void> {
  const locks = globalThis.document && globalThis.navigator?.locks;
  if (!locks) return () => {};
  const names = Array.from({ length: most }, (_, place) => `twin-service stream ${place}`);
  const { held = [] } = await locks.query().catch(() => ({ held: [] })); // a page without an origin has none
  if (names.every((name) => held.some((lock) => lock.name === name))) full();
  const waiting = new AbortController();
  const stop = () => waiting.abort();
  signal.addEventListener("abort", stop);
  let isTaken = false;
  return new Promise((resolve) => {
    const take = () =>
      new Promise<void>((release) => {
        if (isTaken || signal.aborted) return release();
        isTaken = true;
        stop();
        resolve(release);
      });
    // What is waited for no more is refused, and so is all in a page without an origin.
    const refused = () => resolve(() => {});
    for (const name of names) locks.request(name, { signal: waiting.signal }, take).catch(refused);
  });
}
