/**
 * A step from one version of the tables to the next.
 *
 * @module
 */

/** Differences between the databases in the tables' definitions. */
export interface SqlDialect {
  readonly name: "sqlite" | "postgres";
  /** The type of text that is compared as binary, such as `TEXT COLLATE "C"`. */
  readonly text: string;
  /** Ends the definition of a table whose rows are read in the order of its key. */
  readonly keyed: string;
}

/** A step to a version. Once it has landed, it never changes. */
export interface Step {
  /**
   * Whether processes of the version before it, on the same PostgreSQL, go on beside those of this one. They may if all
   * that they write, delete and erase is right for both: see CONTRIBUTING.md.
   */
  readonly earlierProcesses: "go on" | "must end";
  /** What it runs, in one transaction with all other steps. */
  readonly statements: (dialect: SqlDialect) => Iterable<string>;
}
