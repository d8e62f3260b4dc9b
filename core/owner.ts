/**
 * The names of owners.
 *
 * @module
 */

/** Whether a value can name an owner: 1 to 255 characters, all printable, not only white space. */
export function isOwnerName(value: unknown): value is string {
  return (
    typeof value === "string" &&
    /^[^\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]{1,255}$/u.test(value) &&
    value.trim() !== ""
  );
}
