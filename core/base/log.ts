/**
 * The port for logs: what the service tells its operator. A file of its own, because every part of the service and every
 * adapter imports it, most of them nothing else of this folder.
 *
 * @module
 */

/** From the least to the most severe. */
export const logLevels = ["debug", "info", "warn", "error"] as const;

/** How severe an entry is: `debug`, `info`, `warn` or `error`. */
export type LogLevel = (typeof logLevels)[number];

/**
 * Receives log entries. Fields never hold secrets or message text. An `error` field is the thrown value as
 * it was caught. Must not throw. A promise that it returns is not awaited, and its rejection not handled, which may end
 * the process.
 */
export type Log = (level: LogLevel, message: string, fields?: Readonly<Record<string, unknown>>) => void;

/** Keeps silent. */
export const noLog: Log = () => {};

/** Tells the console warnings and errors, and keeps silent about the rest. */
export const consoleLog: Log = (level, message, fields) => {
  if (level !== "warn" && level !== "error") return;
  console[level](`twin-service: ${message}`, ...(fields ? [fields] : []));
};
