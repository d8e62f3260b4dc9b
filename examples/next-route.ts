/** A Next.js route handler, to be saved as `app/twins-api/[...path]/route.ts`. */

import { createTwins } from "./twins.ts";

const twins = createTwins();

export const dynamic = "force-dynamic";
export const runtime = "nodejs";

export const GET = (request: Request) => twins.fetch(request);
export const POST = GET;
export const PUT = GET;
export const PATCH = GET;
export const DELETE = GET;
export const HEAD = GET;
export const OPTIONS = GET;
