/**
 * Pages for people, served beside the API.
 *
 * @module
 */

import { type Route, route } from "../http/route.ts";

/** A page, or what a page loads: a text, and the header fields that say what it is and what it may do. */
export interface Page {
  readonly content: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** The routes of pages, by their paths. */
export function pageRoutes(pages: Readonly<Record<string, Page>>): Route[] {
  return Object.entries(pages).map(([path, { content, headers }]) =>
    route({
      operationId: `page ${path}`,
      method: "GET",
      path,
      summary: "Show a page",
      credential: "none",
      success: { status: 200, description: "The page." },
      async handle() {
        return { document: content, headers };
      },
    }),
  );
}
