/**
 * Two devices in one conversation, on two processes, in any order of what people do and of what breaks: once all is at rest,
 * each shows what the service has.
 */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { type OpenConversation, TwinServiceError } from "../../client/mod.ts";
import { createTwinList } from "../../core/mod.ts";
import { createMemoryStore, type Store } from "../../core/store/mod.ts";
import { openChat, withOutages } from "../support/chat.ts";
import type { ManualClock } from "../support/clock.ts";
import { inProcess, newTwin } from "../support/harness.ts";
import { Device, hurry, pause } from "./device.ts";

const acts = [
  ...["send", "edit", "again", "choose", "cancel", "cut", "lose", "advance", "take over"],
  ...["replace", "decide", "say", "person", "twin"],
] as const;
const step = fc.record({ act: fc.constantFrom(...acts), device: fc.nat(1), pick: fc.nat(1000) });
type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never;

/** Waits with the replies to some questions. */
const pending = { calls: [{ callId: "call", name: "orders/cancel", arguments: {} }], state: "{}" };

/** An engine that writes a word every 50 ms. */
function slowEngine(clock: () => ManualClock) {
  return {
    continues: "partial" as const,
    async reply(
      turn: { content: string; partial?: string },
      output: { write(text: string): void; signal: AbortSignal },
    ) {
      const begun = (turn.partial ?? "").length;
      for (let word = Math.floor(begun / 5); word < 4 && !output.signal.aborted; word++) {
        await new Promise<void>((resolve) => clock().after(50, resolve));
        output.write(`word${word}`.slice(word === Math.floor(begun / 5) ? begun % 5 : 0));
      }
      const isAsking = /[369]$/.test(turn.content);
      if (isAsking) return { finishReason: "tool_calls" as const, usage: null, pending };
      return { finishReason: "stop" as const, usage: null };
    },
  };
}

/** Two processes, and a device at each, with one conversation open. */
async function openTwo() {
  const store: Store = { ...createMemoryStore(), exclusive: false };
  let clock: ManualClock | undefined;
  let away = false;
  const engine = slowEngine(() => clock as ManualClock);
  const options = {
    twins: createTwinList([newTwin({ id: "scripted", engine: "slow", confirm: ["orders/cancel"] })]),
    engines: { slow: engine },
  };
  const one = await openChat(inProcess, { store: withOutages(store, () => away), ...options });
  clock = one.clock;
  const two = await one.another({ store });
  const devices = [one, two].map((chat) => new Device(chat));
  const seen: OpenConversation[] = [];
  for (const device of devices) seen.push(await device.open(one.conversationId));
  return {
    clock: one.clock,
    devices,
    seen,
    /** The first process is gone; the second takes its replies over, and is what both devices reach. */
    async takeOver() {
      away = true;
      for (const device of devices) device.service = two.service;
      devices[0]?.cut();
      await one.clock.advance(40_000);
    },
    async [Symbol.asyncDispose]() {
      away = false;
      for (const conversation of seen) conversation.close();
      await two[Symbol.asyncDispose]();
      await one[Symbol.asyncDispose]();
    },
  };
}

/** Does what a step says, as far as it can be done. `asks` is told the words that are sent. */
async function take(
  { act, pick }: Step,
  { device, conversation, words }: { device: Device; conversation: OpenConversation; words: string },
  asks: (words: string) => void,
) {
  const { path } = conversation;
  const ofRole = (role: string) => {
    const messages = path.filter((message) => message.role === role);
    return messages[pick % messages.length];
  };
  const [question, reply] = [ofRole("user"), ofRole("assistant")];
  if (act === "send") {
    asks(words);
    await conversation.send(words);
  }
  if (act === "edit" && question) {
    asks(words);
    await conversation.edit(question, words);
  }
  if (act === "replace") {
    asks(words);
    await conversation.send(words, { whenBusy: "replace" });
  }
  const [waiting] = path.at(-1)?.pendingCalls ?? [];
  if (act === "decide" && waiting)
    await conversation.send("", { calls: { [waiting.callId]: pick % 2 ? "approve" : "deny" } });
  if (act === "say") await device.client.messages.say(conversation.id, { content: words });
  if (act === "person" || act === "twin") await conversation.handTo(act);
  if (act === "again" && reply?.inReplyTo) {
    asks(path.find(({ id }) => id === reply.after)?.content ?? "");
    await conversation.again(reply);
  }
  if (act === "cancel") await conversation.cancel();
  if (act === "cut") device.cut();
  if (act === "choose" && question) {
    const versions = conversation.branchesOf(question);
    const version = versions[pick % versions.length];
    if (version) await conversation.choose(version);
  }
  if (act === "lose") device.lose();
}

describe("an open conversation on two devices, in any order", () => {
  test("shows what the service has, each message once and in order", async () => {
    using _hurried = hurry();
    const runs = Number(process.env.CONVERSATION_ORDERS ?? 60);
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 14 }), async (steps) => {
        await using two = await openTwo();
        const { clock, devices, seen } = two;
        const doing: Promise<unknown>[] = [];
        const asked: string[] = [];
        for (const [number, each] of steps.entries()) {
          const [device, conversation] = [devices[each.device], seen[each.device]];
          assert.ok(device && conversation);
          if (each.act === "advance") await clock.advance(each.pick);
          if (each.act === "take over") await two.takeOver();
          const words = `${each.act} ${number}`;
          const done = take(each, { device, conversation, words }, (words) => asked.push(words)).catch(
            (error) => assert.ok(error instanceof TwinServiceError, String(error)),
          );
          doing.push(done);
          await new Promise((resolve) => pause(resolve, each.pick % 3));
        }
        let unfinished = doing.length;
        for (const each of doing) void each.finally(() => unfinished--);
        for (let turns = 0, quiet = 0; quiet < 4; turns++) {
          assert.ok(turns < 400, `not at rest: ${seen.map(({ state }) => state)}, ${unfinished} unfinished`);
          await clock.advance(1000);
          await new Promise((resolve) => pause(resolve, 5));
          quiet = unfinished === 0 && seen.every(({ state }) => state === "idle") ? quiet + 1 : 0;
          for (const conversation of seen) {
            const { unsent, state } = conversation;
            if (!unsent || state === "sending") continue;
            if (unsent.content === "") {
              conversation.discard(); // a yes is not for later
              continue;
            }
            unfinished++; // else a person tries again
            doing.push(conversation.send(unsent.content).finally(() => unfinished--));
          }
        }
        await Promise.all(doing);
        const [device] = devices;
        assert.ok(device);
        const stored = [];
        for await (const message of device.client.messages.list(seen[0]?.id ?? "", { limit: 100 }))
          stored.push(message);
        const { answeredBy, waitingSince } = await device.client.conversations.get(seen[0]?.id ?? "");
        for (const conversation of seen) {
          assert.deepEqual(conversation.path, stored);
          const who = [conversation.answeredBy, conversation.waitingSince];
          assert.deepEqual(who, [answeredBy, waitingSince]);
        }
        const all = [];
        for await (const { role, content } of device.client.messages.list(seen[0]?.id ?? "", { path: "all" }))
          if (role === "user" && content !== "") all.push(content);
        const times = (list: readonly string[], words: string) =>
          list.filter((each) => each === words).length;
        for (const words of all)
          assert.ok(times(all, words) <= times(asked, words), `${words} is stored twice`);
      }),
      { numRuns: runs, includeErrorInReport: true },
    );
  });
});
