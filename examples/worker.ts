/** A module with a `fetch`, as workers have it. Memory lasts as long as the worker: pass a store of your own. */

import { createTwins } from "./twins.ts";

const twins = createTwins();

export default { fetch: (request: Request): Promise<Response> => twins.fetch(request) };
