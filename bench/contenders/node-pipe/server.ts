/** The floor: a relay on `node:http` that passes the model's bytes on as they come. */

import { Agent, request as ask, createServer } from "node:http";
import process from "node:process";

const { MODEL_URL, PORT } = process.env;
const agent = new Agent({ keepAlive: true });

const server = createServer({ keepAliveTimeout: 65_000 }, (request, response) => {
  if (request.method === "GET") return response.end();
  const headers = { "Content-Type": "application/json" };
  const asked = ask(`${MODEL_URL}/chat/completions`, { method: "POST", agent, headers }, (answer) => {
    response.writeHead(answer.statusCode ?? 502, { "Content-Type": answer.headers["content-type"] });
    answer.pipe(response);
  });
  asked.on("error", () => response.destroy());
  response.on("close", () => asked.destroy());
  request.pipe(asked);
});
server.listen(Number(PORT), "127.0.0.1", 4096);
