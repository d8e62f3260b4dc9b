/**
 * A conversation with a twin in the terminal.
 *
 * @module
 */

import process from "node:process";
import { createInterface, type Interface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import { type Message, type TwinClient, TwinServiceError } from "../../client/mod.ts";
import { visible, visibleLine } from "../../core/base/visible.ts";
import type { CommandConfig } from "../command-line.ts";
import { connectToTwins, findTwin, whileOpen } from "./client.ts";

/** Where a conversation is held. */
export interface Terminal {
  readonly input: Readable & { readonly isTTY?: boolean };
  readonly output: Writable;
}

/**
 * Reads a line, sends it, shows the reply as it is written, and starts over until the input ends. Where calls wait for the
 * person, the next line allows them, or goes on without. Where another person answers, what that one says is shown. Ctrl-C
 * stops a reply that is being written, and otherwise the conversation.
 */
export async function chat(client: TwinClient, twinId: string, { input, output }: Terminal): Promise<void> {
  const twin = await findTwin(client, twinId);
  const { id } = await client.conversations.create({ twinId });
  const name = visibleLine(twin.name);
  output.write(`${name}: ${visible(twin.greeting ?? "Hello!")}\n`);
  const isTerminal = input.isTTY === true;
  const lines = createInterface({ input, output, terminal: isTerminal, prompt: isTerminal ? "> " : "" });
  let stopReply: (() => void) | undefined;
  let pending: NonNullable<Message["pendingCalls"]> = [];
  const left = new AbortController();
  lines.once("close", () => left.abort());
  const said = ({ author, content }: Message) => {
    output.write(`${isTerminal ? "\n" : ""}${visibleLine(author ?? name)}: ${visible(content)}\n`);
    lines.prompt(true);
  };
  followSaid(client, id, left.signal, said).catch((error: Error) => {
    if (left.signal.aborted) return;
    output.write(`(what a person says is not shown any more: ${visibleLine(error.message)})\n`);
    lines.prompt(true);
  });
  lines.on("SIGINT", () => (stopReply ? stopReply() : lines.close()));
  for await (const line of promptedLines(lines)) {
    const isYes = pending.length > 0 && /^y(es)?$/i.test(line.trim());
    const calls = Object.fromEntries(pending.map(({ callId }) => [callId, "approve" as const]));
    const reply = client.messages.stream(id, isYes ? { calls } : { content: line });
    stopReply = () => void reply.cancel().catch(() => {}); // one that has ended by then needs no stop
    output.write(`${name}: `);
    try {
      for await (const piece of reply.text) output.write(visible(piece));
      const { role, status, content, pendingCalls } = await reply.final();
      pending = pendingCalls ?? [];
      const wanted = pending.map((call) => visibleLine(`${call.name} ${JSON.stringify(call.arguments)}`));
      const asks = wanted.length > 0 ? `(wants to run ${wanted.join(" and ")}; y allows that)` : "";
      const note = status === "cancelled" ? "(stopped)" : asks;
      if (role === "user") output.write("(a person answers here; what you said waits)\n");
      else output.write(`${content && note && " "}${note}\n`);
    } catch (error) {
      if (!(error instanceof TwinServiceError)) throw error;
      output.write(`(${visibleLine(error.message)})\n`);
      if (reply.messageId !== undefined) pending = []; // what is refused decides nothing
    }
    stopReply = undefined;
  }
}

/** Tells of what people say in the twin's place. */
async function followSaid(
  { conversations }: TwinClient,
  id: string,
  signal: AbortSignal,
  said: (message: Message) => void,
): Promise<void> {
  for await (const event of conversations.follow(id, { signal, maxRetries: Infinity })) {
    if (event.type !== "message") continue;
    const { role, inReplyTo } = event.message;
    if (role === "assistant" && inReplyTo === null) said(event.message);
  }
}

/** The lines that are not blank, each asked for with a prompt. */
async function* promptedLines(lines: Interface): AsyncGenerator<string> {
  let ended = false; // lines may still be waiting then, and a prompt would throw
  lines.once("close", () => {
    ended = true;
  });
  lines.prompt();
  for await (const line of lines) {
    if (line.trim() !== "") yield line;
    if (!ended) lines.prompt();
  }
}

/** Holds a conversation with a twin. */
export async function talk(config: CommandConfig<"chat">, samples: string): Promise<void> {
  await whileOpen(connectToTwins(config, samples), ({ client }) =>
    chat(client, config.twinId, { input: process.stdin, output: process.stdout }),
  );
}
