/** In an Express 5 app. Mounted before `express.json()`, because the service reads bodies itself. */

import type { AddressInfo } from "node:net";
import express from "express";
import { toNodeHandler } from "twin-service/node";
import { basePath, createTwins } from "./twins.ts";

const app = express();
app.disable("x-powered-by");
app.use(basePath, toNodeHandler(createTwins()));
app.use(express.json());
app.get("/", (_request, response) => {
  response.send("The host's own page.");
});

const server = app.listen(Number(process.env.PORT ?? 3000), "127.0.0.1", (error) => {
  if (error) throw error;
  console.log(`listening on http://127.0.0.1:${(server.address() as AddressInfo).port}`);
});
