/**
 * The system's codes for errors.
 *
 * @module
 */

/** The code of an error that has one, such as `ENOENT`. */
export function codeOf(error: unknown): string | undefined {
  return error instanceof Error && "code" in error ? String(error.code) : undefined;
}
