/** On Deno: `deno run --allow-net --allow-env deno.ts`. In a checkout, with `--config deno.json`. */

import process from "node:process";
import { serve } from "twin-service/deno";
import { createTwins } from "./twins.ts";

const server = await serve(createTwins(), { port: Number(process.env.PORT ?? 3000) });
console.log(`listening on ${server.url}`);
