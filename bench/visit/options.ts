/**
 * What a visit to a server is asked for.
 *
 * @module
 */

/** Options of `visit`. */
export interface VisitOptions {
  /** The server's address, with its base path if it has one, such as `http://127.0.0.1:8787`. */
  readonly url: string;
  /** A key with the scope `full_access`. */
  readonly key: string;
  /** A twin's id. Default: the first one in the list. */
  readonly twin?: string | undefined;
  /** No reply is begun after this many seconds. */
  readonly seconds: number;
  /** How many conversations run at once. */
  readonly streams: number;
  readonly content: string;
  /** Ends the visit early: running replies are abandoned. */
  readonly stop: AbortSignal;
}
