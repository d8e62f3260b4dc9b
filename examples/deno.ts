/** On Deno, after `npm ci`: `deno run --allow-net --allow-env examples/deno.ts`. */

import process from "node:process";
import { serve } from "../adapters/servers/deno.ts";
import { createTwins } from "./twins.ts";

const server = await serve(createTwins(), { port: Number(process.env.PORT ?? 3000) });
console.log(`listening on ${server.url}`);
