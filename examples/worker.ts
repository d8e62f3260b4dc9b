/** A module that exports `fetch`, as a worker does. Memory lasts only as long as the worker: pass your own store. */

import { createTwins } from "./twins.ts";

const twins = createTwins();

export default { fetch: (request: Request): Promise<Response> => twins.fetch(request) };
