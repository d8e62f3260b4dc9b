/**
 * Pages for people, served beside the API.
 *
 * @module
 */

import { type Route, route } from "../http/route.ts";

/** A page: one HTML document, complete in itself. */
export interface Page {
  readonly html: string;
  /** What it may do: its Content-Security-Policy. */
  readonly policy: string;
}

/** The routes of pages, by their paths. */
export function pageRoutes(pages: Readonly<Record<string, Page>>): Route[] {
  return Object.entries(pages).map(([path, { html, policy }]) =>
    route({
      operationId: `page ${path}`,
      method: "GET",
      path,
      summary: "Show a page",
      credential: "none",
      success: { status: 200, description: "The page." },
      async handle() {
        return { document: html, headers: { ...pageHeaders, "Content-Security-Policy": policy } };
      },
    }),
  );
}

const pageHeaders = { "Content-Type": "text/html; charset=utf-8", "Referrer-Policy": "no-referrer" };
