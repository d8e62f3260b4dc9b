/**
 * Whether an open SQLite file can be written: it is still where it was opened, and the last writes succeeded.
 *
 * @module
 */

import { statSync } from "node:fs";
import { type Log, noLog } from "../../core/base/log.ts";
import { StoreUnavailable } from "../../core/store/store.ts";
import { codeOf } from "../system.ts";

/** How many writes in a row must fail before the file counts as one that cannot be written. */
const enoughFailures = 2;

/** The state of one file. */
export class FileHealth {
  readonly #path: string;
  readonly #log: Log;
  readonly #opened: string | undefined;
  #isAway = false;
  #failures = 0;

  /** Of a file that was just opened. */
  constructor(path: string, log: Log = noLog) {
    this.#path = path;
    this.#log = log;
    this.#opened = identityOf(path);
  }

  /** Whether the last writes failed, as on a full disk. */
  get isFailing(): boolean {
    return this.#failures >= enoughFailures;
  }

  /** Notes how a write ended. */
  wrote(succeeded: boolean): void {
    this.#failures = succeeded ? 0 : this.#failures + 1;
  }

  /**
   * A file that was moved, removed or replaced would take writes until it is closed, and then they are lost.
   *
   * @throws {StoreUnavailable} in that case. The log has one error for each time.
   */
  requireSameFile(): void {
    const isAway = identityOf(this.#path) !== this.#opened;
    if (isAway !== this.#isAway) {
      this.#isAway = isAway;
      const [level, message] = isAway
        ? ([
            "error",
            "the database's file was moved, removed or replaced; nothing is written until it is back",
          ] as const)
        : (["info", "the database's file is back"] as const);
      this.#log(level, message, { file: this.#path });
    }
    if (isAway)
      throw new StoreUnavailable("The database's file was moved, removed or replaced while it was open.");
  }
}

/** Distinguishes a file from another one of the same name. Undefined: there is no file. */
function identityOf(path: string): string | undefined {
  try {
    const { dev, ino } = statSync(path, { bigint: true });
    return `${dev} ${ino}`;
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined;
    throw new StoreUnavailable("The database's file cannot be checked.", { cause: error });
  }
}
