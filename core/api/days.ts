/**
 * The days, in UTC, that a query names.
 *
 * @module
 */

import { dayMs, dayOf } from "../store/records.ts";
import { validationError } from "../wire/errors.ts";

/** The moment at which a day begins. The day must be one of the calendar. */
export function requireDay(path: string, day: string): number {
  const moment = Date.parse(`${day}T00:00:00.000Z`);
  if (!Number.isNaN(moment) && dayOf(moment) === day) return moment;
  throw validationError([{ path, message: "must be a day that exists, YYYY-MM-DD" }]);
}

/** Refuses a period that ends before it begins. */
export function requireOrder(from: string, to: string): void {
  if (from > to) throw validationError([{ path: "from", message: "must not be after to" }]);
}

/** The moments at which a period of whole days begins and has ended. Undefined: it is open on that side. */
export function momentsOf({ from, to }: { readonly from?: string; readonly to?: string }) {
  if (from !== undefined && to !== undefined) requireOrder(from, to);
  return {
    from: from === undefined ? undefined : requireDay("from", from),
    to: to === undefined ? undefined : requireDay("to", to) + dayMs,
  };
}
