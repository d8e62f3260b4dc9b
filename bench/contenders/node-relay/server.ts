/** A relay on `node:http` that reads the model's events and writes its own: lines, JSON, the first choice's content. */

import { Agent, request as ask, createServer, type IncomingMessage, type ServerResponse } from "node:http";
import process from "node:process";

const { MODEL_URL, PORT } = process.env;
const agent = new Agent({ keepAlive: true });

function relay(answer: IncomingMessage, response: ServerResponse): void {
  response.writeHead(200, { "Content-Type": "text/event-stream", "Cache-Control": "no-store" });
  let rest = "";
  answer.setEncoding("utf8");
  answer.on("data", (text: string) => {
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) {
      if (!line.startsWith("data: {")) continue;
      const content = JSON.parse(line.slice(6)).choices[0]?.delta?.content;
      if (content) response.write(`data: ${JSON.stringify({ type: "delta", content })}\n\n`);
    }
  });
  answer.on("end", () => response.end());
}

const server = createServer({ keepAliveTimeout: 65_000 }, (request, response) => {
  if (request.method === "GET") return response.end();
  const headers = { "Content-Type": "application/json" };
  const asked = ask(`${MODEL_URL}/chat/completions`, { method: "POST", agent, headers }, (answer) =>
    relay(answer, response),
  );
  asked.on("error", () => response.destroy());
  response.on("close", () => asked.destroy());
  request.pipe(asked);
});
server.listen(Number(PORT), "127.0.0.1", 4096);
