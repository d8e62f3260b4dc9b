/**
 * What tests of tools share: a tool that remembers its calls, and models that call it.
 *
 * @module
 */

import {
  createOpenAIEngine,
  type ModelTransport,
  type OpenAIOptions,
} from "../../adapters/openai-models/mod.ts";
import type { Tool, ToolContext } from "../../core/mod.ts";
import { createOutput, inPieces, turn, twin } from "./fixture.ts";
import * as model from "./model-server.ts";

/** A message that a model is told. */
export interface Message {
  readonly role: string;
  readonly content: string | null;
  readonly tool_calls?: readonly { readonly id: string; readonly function: object }[];
  readonly tool_call_id?: string;
}

/** What a model is asked. */
export interface Body {
  readonly tool_choice?: string;
  readonly tools?: readonly { readonly function: { readonly name: string; readonly parameters: object } }[];
  readonly messages: readonly Message[];
}

/** A tool that finds orders, and remembers what it was asked for. */
export function orders(run: Tool["run"] = ({ number }) => ({ number, state: "sent" })) {
  const inputs: object[] = [];
  const contexts: ToolContext[] = [];
  const tool: Tool = {
    name: "orders/find",
    description: "Finds an order by its number.",
    inputSchema: { type: "object", properties: { number: { type: "integer" } }, required: ["number"] },
    run(input, context) {
      inputs.push(input);
      contexts.push(context);
      return run(input, context);
    },
  };
  return { tool, inputs, contexts };
}

/** The event for parts of calls. */
export function parts(...calls: readonly object[]): string {
  return model.event({ choices: [{ index: 0, delta: { tool_calls: calls }, finish_reason: null }] });
}

/** The event for a whole call. */
export function called(args: unknown, fields: object = {}): string {
  const given = typeof args === "string" ? args : JSON.stringify(args);
  return parts({
    index: 0,
    id: "call_1",
    type: "function",
    function: { name: "orders_find", arguments: given },
    ...fields,
  });
}

/** A completion that calls the tool for order 7. */
export const asksForOrder =
  called({ number: 7 }) + model.finish("tool_calls") + model.usage(100, 10) + model.endMarker;
/** What the model says then. */
export const answers = model.completion("It is sent.");

/** Asks an engine whose model answers with these bodies, one after the other, the last one again and again. */
export async function ask(
  bodies: readonly string[],
  tools: readonly Tool[],
  options: Partial<OpenAIOptions> = {},
  names = ["orders"],
) {
  const asked: Body[] = [];
  const transport: ModelTransport = (url, request, listener) => {
    const body = bodies[Math.min(asked.length, bodies.length - 1)] ?? "";
    asked.push(JSON.parse(request.body) as Body);
    return inPieces(body)(url, request, listener);
  };
  const out = createOutput();
  const engine = createOpenAIEngine({
    baseUrl: "http://127.0.0.1:1/v1",
    transport,
    tools,
    log: () => {},
    ...options,
  });
  const replied = engine.reply(turn({ twin: twin({ tools: names }) }), out.output);
  return { asked, out, result: await replied };
}

/** The results that the model was told of its calls in the last request. */
export function toldIn(asked: readonly Body[]): (string | null)[] {
  return (asked.at(-1)?.messages ?? []).filter(({ role }) => role === "tool").map(({ content }) => content);
}

/** A refusal: a status, and the error that is its body. */
export interface Refused {
  readonly status: number;
  readonly error?: unknown;
}

/** A model's server as a function of what it is asked: an event stream, or a refusal. */
export function serverThat(answer: (body: Body) => string | Refused): ModelTransport & { asked: Body[] } {
  const asked: Body[] = [];
  const transport: ModelTransport = (url, request, listener) => {
    const body = JSON.parse(request.body) as Body;
    asked.push(body);
    const made = answer(body);
    if (typeof made === "string") return inPieces(made)(url, request, listener);
    queueMicrotask(() => {
      listener.begin(made.status, new Headers({ "content-type": "application/json" }));
      listener.read(new TextEncoder().encode(JSON.stringify(made.error ?? {})));
      listener.end();
    });
    return () => {};
  };
  return Object.assign(transport, { asked });
}
