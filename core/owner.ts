/**
 * Whose keys and conversations they are.
 *
 * @module
 */

/** Whether a value can name an owner: 1 to 255 characters, all printable, not all of them blank. */
export function isOwnerName(value: unknown): value is string {
  return (
    typeof value === "string" &&
    /^[^\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]{1,255}$/u.test(value) &&
    value.trim() !== ""
  );
}
