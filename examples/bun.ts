/** On Bun: `bun bun.ts`. */

import process from "node:process";
import { serve } from "twin-service/bun";
import { createTwins } from "./twins.ts";

const server = await serve(createTwins(), { port: Number(process.env.PORT ?? 3000) });
console.log(`listening on ${server.url}`);
