/** On Bun: `bun examples/bun.ts`. */

import process from "node:process";
import { serve } from "../adapters/servers/bun.ts";
import { createTwins } from "./twins.ts";

const server = await serve(createTwins(), { port: Number(process.env.PORT ?? 3000) });
console.log(`listening on ${server.url}`);
