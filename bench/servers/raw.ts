/**
 * Raw `node:http`, by path. No path looks at the request's body or credentials, or stores anything.
 *
 * - `/each` writes each token separately.
 * - `/joined` joins the tokens of a turn of the event loop into one write.
 * - `/ready` sends bytes prepared in advance, with one `end`: the floor.
 * - `/step` and `/live` write each token of the batching or the paced model.
 * - `/silent` sends a comment and then nothing.
 * - `/relay` asks the model at `MODEL` and passes on each token.
 * - `/twins` looks up a list and sends it.
 */

import { Agent, createServer, request as requestHttp, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { createPacer, createStepper, type Feeder } from "./pace.ts";
import { announce, deltaEvent, tokens, twinsPage } from "./reply.ts";

const head = { "Content-Type": "text/event-stream", "Cache-Control": "no-store" };
const body = Buffer.from(tokens.map(deltaEvent).join(""));
const bodyHead = { ...head, "Content-Length": body.length };
const pages = new Map([["/twins?limit=20", twinsPage(20)]]);
const agent = new Agent({ keepAlive: true });
const stepper = createStepper();
const pacer = createPacer();

const paths: Readonly<Record<string, (response: ServerResponse) => void>> = {
  "/each"(response) {
    response.writeHead(200, head);
    for (const token of tokens) response.write(deltaEvent(token));
    response.end();
  },
  "/joined"(response) {
    response.writeHead(200, head);
    let text = "";
    for (const token of tokens) {
      if (text === "") setImmediate(() => response.end(text));
      text += deltaEvent(token);
    }
  },
  "/ready"(response) {
    response.writeHead(200, bodyHead);
    response.end(body);
  },
  "/step"(response) {
    response.writeHead(200, head);
    feed(response, stepper);
  },
  "/live"(response) {
    begin(response);
    feed(response, pacer);
  },
  "/silent": begin,
  "/relay": relay,
  "/twins?limit=20"(response) {
    const json = JSON.stringify(pages.get("/twins?limit=20"));
    response.writeHead(200, {
      "Content-Type": "application/json",
      "Content-Length": Buffer.byteLength(json),
    });
    response.end(json);
  },
};

/** Lets the client know that its stream is open, long before the first token. */
function begin(response: ServerResponse): void {
  response.writeHead(200, head);
  response.write(": open\n\n");
}

function feed(response: ServerResponse, feeder: Feeder): void {
  const fed = {
    token: (text: string) => void response.write(deltaEvent(text)),
    end: () => void response.end(),
  };
  feeder.add(fed);
  response.on("close", () => feeder.remove(fed));
}

/** Reads the model's events with the least code that is correct: lines, JSON, the first choice's content. */
function relay(response: ServerResponse): void {
  const request = requestHttp(
    `${process.env.MODEL}/chat/completions`,
    { method: "POST", agent },
    (answer) => {
      begin(response);
      let rest = "";
      answer.setEncoding("utf8");
      answer.on("data", (text: string) => {
        const lines = (rest + text).split("\n");
        rest = lines.pop() ?? "";
        for (const line of lines) {
          if (!line.startsWith("data: {")) continue;
          const token = JSON.parse(line.slice(6)).choices[0]?.delta?.content;
          if (token) response.write(deltaEvent(token));
        }
      });
      answer.on("end", () => response.end());
    },
  );
  request.setHeader("Content-Type", "application/json");
  request.end(JSON.stringify({ stream: true, messages: [{ role: "user", content: "Tell me of the sea." }] }));
  response.on("close", () => request.destroy());
}

const server = createServer({ keepAliveTimeout: 65_000 }, (request, response) => {
  request.resume();
  const answer = paths[request.url ?? ""];
  if (answer) answer(response);
  else response.writeHead(404).end();
});
server.listen(0, "127.0.0.1", () => {
  announce((server.address() as AddressInfo).port, [], pacer.start);
});
