/**
 * How long a question may be.
 */

import { test } from "node:test";
import { inProcess } from "../support/harness.ts";
import { assertParam, openOpenAI } from "./fixture.ts";

test("a question has as many characters as the setting says, and what was said before any number", async () => {
  await using openai = await openOpenAI(inProcess, {}, { maxMessageCharacters: 10 });
  const history = [
    { role: "user", content: "x".repeat(100) },
    { role: "assistant", content: "y".repeat(100) },
  ];
  const chat = (content: string) => openai.chat({ messages: [...history, { role: "user", content }] });
  const respond = (input: unknown) => openai.send("POST", "/responses", { model: "ada", input });
  await assertParam(chat("x".repeat(11)), 400, "messages");
  await assertParam(respond("x".repeat(11)), 400, "input");
  await assertParam(respond([{ role: "user", content: "🙂".repeat(11) }]), 400, "input");
  const accepted = chat("🙂".repeat(10)); // a character may be two code units
  (await openai.engine.next()).finish();
  await accepted;
});
