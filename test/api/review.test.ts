/**
 * What an owner sees of how replies are taken.
 */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { TwinEngine } from "../../core/mod.ts";
import { createMemoryStore } from "../../core/store/mod.ts";
import type {
  ClientTokenResource,
  ConversationResource,
  FeedbackResource,
  MessageResource,
} from "../../core/wire/schemas.ts";
import { openCutOff } from "../replies/cut-off.ts";
import { type Chat, openChat } from "../support/chat.ts";
import {
  assertErrorAnswer,
  assertRefusedField,
  dataOf,
  type Fixture,
  inProcess,
  openFixture,
  transports,
} from "../support/harness.ts";

/** Says what it was asked, and that it has no source for it, unless it is greeted. */
const puzzled: TwinEngine = {
  async reply({ content }, output) {
    if (content !== "Hello") output.progress({ stage: "sources", sources: [] });
    output.write(content);
    return { finishReason: "stop", usage: null };
  },
};

const engines = { echo: puzzled };

/** Sends a message into a new conversation, and returns the reply and where its feedback is. */
async function ask(fixture: Fixture, key: string, content = "Why?", fields: object = {}) {
  const conversation = { twinId: "echo", ...fields };
  const { id } = await dataOf<ConversationResource>(
    await fixture.call("POST", "/conversations", key, conversation),
  );
  const sent = await fixture.call("POST", `/conversations/${id}/messages`, key, { content });
  const reply = await dataOf<MessageResource>(sent);
  return { reply, path: `/conversations/${id}/messages/${reply.id}/feedback` };
}

async function list(fixture: Fixture, key: string, path: string) {
  const { data } = await (await fixture.call("GET", path, key)).json();
  return data;
}

for (const transport of transports) {
  describe(`feedback, ${transport.name}`, () => {
    test("is given to a reply, replaced, read with it, and taken back as often as one likes", async () => {
      await using fixture = await openFixture(transport);
      const key = await fixture.key();
      const { reply, path } = await ask(fixture, key);
      assert.equal(reply.feedback, null);
      const rate = async (body: object) =>
        dataOf<FeedbackResource>(await fixture.call("PUT", path, key, body));
      assert.deepEqual(await rate({ rating: "up", comment: "Nice" }), {
        rating: "up",
        comment: "Nice",
        updatedAt: "2026-01-02T03:04:05.678Z",
      });
      const given = await rate({ rating: "down", comment: null });
      assert.equal(given.comment, null);
      const read = async () => (await list(fixture, key, path.slice(0, -"/feedback".length))).feedback;
      assert.deepEqual(await read(), given);
      for (const _ of [1, 2]) assert.equal((await fixture.call("DELETE", path, key)).status, 204);
      assert.equal(await read(), null);
    });

    test("names a rating, and a comment of at most 1,000 characters", async () => {
      await using fixture = await openFixture(transport);
      const key = await fixture.key();
      const { path } = await ask(fixture, key);
      for (const body of [{}, { rating: "good" }, { rating: null }]) {
        await assertRefusedField(await fixture.call("PUT", path, key, body), "rating");
      }
      for (const comment of ["", " ", "x".repeat(1001), 7]) {
        await assertRefusedField(await fixture.call("PUT", path, key, { rating: "up", comment }), "comment");
      }
      const longest = { rating: "up", comment: "😀".repeat(1000) };
      assert.equal((await fixture.call("PUT", path, key, longest)).status, 200);
    });

    test("is of a reply: a question is 400, an unknown message 404, read_only 403", async () => {
      await using fixture = await openFixture(transport);
      const key = await fixture.key();
      const { reply, path } = await ask(fixture, key);
      const question = path.replace(reply.id, String(reply.inReplyTo));
      const body = { rating: "up" };
      await assertRefusedField(await fixture.call("PUT", question, key, body), "messageId");
      await assertRefusedField(await fixture.call("DELETE", question, key), "messageId");
      const unknown = await fixture.call("PUT", path.replace(reply.id, "msg_none"), key, body);
      await assertErrorAnswer(unknown, 404, "message_not_found");
      const reader = await fixture.key("read_only");
      await assertErrorAnswer(await fixture.call("PUT", path, reader, body), 403, "insufficient_scope");
    });

    test("is given with the person's own client token, and listed with the owner's keys alone", async () => {
      await using fixture = await openFixture(transport);
      const key = await fixture.key();
      const { reply, path } = await ask(fixture, key, "Why?", { endUser: "ann" });
      const tokenOf = async (endUser: string) => {
        const made = await fixture.call("POST", "/client-tokens", key, { endUser });
        return (await dataOf<ClientTokenResource>(made)).token;
      };
      const [ann, bob] = [await tokenOf("ann"), await tokenOf("bob")];
      const body = { rating: "down", comment: "Wrong." };
      await assertErrorAnswer(await fixture.call("PUT", path, bob, body), 404, "conversation_not_found");
      assert.equal((await fixture.call("PUT", path, ann, body)).status, 200);
      await assertErrorAnswer(await fixture.call("GET", "/feedback", ann), 403, "insufficient_scope");
      assert.deepEqual(await list(fixture, await fixture.key("read_only"), "/feedback"), [
        {
          messageId: reply.id,
          conversationId: reply.conversationId,
          twinId: "echo",
          endUser: "ann",
          rating: "down",
          comment: "Wrong.",
          question: "Why?",
          content: "Why?",
          sources: null,
          twinRevision: reply.twinRevision,
          updatedAt: "2026-01-02T03:04:05.678Z",
        },
      ]);
      assert.equal((await fixture.call("DELETE", "/end-users/ann", key)).status, 200);
      assert.deepEqual(await list(fixture, key, "/feedback"), []);
    });

    test("is listed by rating, twin and days", async () => {
      await using fixture = await openFixture(transport);
      const key = await fixture.key();
      const first = await ask(fixture, key);
      await fixture.call("PUT", first.path, key, { rating: "up" });
      await fixture.clock.advance(86_400_000);
      const second = await ask(fixture, key, "And?", { twinId: "private" });
      await fixture.call("PUT", second.path, key, { rating: "down" });
      const ids = async (query: string) =>
        (await list(fixture, key, `/feedback?${query}`)).map(
          ({ messageId }: { messageId: string }) => messageId,
        );
      assert.deepEqual(await ids(""), [second.reply.id, first.reply.id]);
      assert.deepEqual(await ids("limit=1&page=2"), [first.reply.id]);
      assert.deepEqual(await ids("rating=up"), [first.reply.id]);
      assert.deepEqual(await ids("twinId=private"), [second.reply.id]);
      assert.deepEqual(await ids("to=2026-01-02"), [first.reply.id]);
      assert.deepEqual(await ids("from=2026-01-03&to=2026-01-03"), [second.reply.id]);
      for (const query of ["rating=x", "rating=", "twinId=", "from=2026-02-30", "from=x", "to=x"]) {
        await assertRefusedField(
          await fixture.call("GET", `/feedback?${query}`, key),
          query.split("=")[0] ?? "",
        );
      }
      await assertRefusedField(
        await fixture.call("GET", "/feedback?from=2026-01-03&to=2026-01-02", key),
        "from",
      );
    });

    test("questions without an answer are listed by their words, whatever their case, space and end marks", async () => {
      await using fixture = await openFixture(transport, { engines });
      const key = await fixture.key();
      await ask(fixture, key, "Who built it?");
      await ask(fixture, key, "Where is it?");
      await ask(fixture, key, "Hello");
      const last = await ask(fixture, key, " who  built IT ！");
      const asked = await list(fixture, key, "/questions/unanswered");
      assert.equal(asked.length, 2);
      assert.deepEqual(asked[0], {
        question: " who  built IT ！",
        count: 2,
        lastAskedAt: "2026-01-02T03:04:05.678Z",
        conversationId: last.reply.conversationId,
        messageId: last.reply.id,
      });
      assert.deepEqual(await list(fixture, key, "/questions/unanswered?twinId=private"), []);
      assert.deepEqual(await list(fixture, key, "/questions/unanswered?to=2026-01-01"), []);
      assert.equal(
        (await fixture.call("DELETE", `/conversations/${last.reply.conversationId}`, key)).status,
        204,
      );
      const left = await list(fixture, key, "/questions/unanswered");
      assert.deepEqual(
        left.map(({ count }: { count: number }) => count),
        [1, 1],
      );
      await assertRefusedField(await fixture.call("GET", "/questions/unanswered?from=x", key), "from");
    });
  });
}

test("a running reply takes no feedback", async () => {
  await using chat = await openChat(inProcess);
  const { messageId, run } = await chat.begin();
  const path = `/conversations/${chat.conversationId}/messages/${messageId}/feedback`;
  const refused = await chat.fixture.call("PUT", path, chat.key, { rating: "up" });
  await assertErrorAnswer(refused, 409, "conversation_busy");
  run.finish();
});

/** What a chat's owner reads of unanswered questions: each reply, and how often equal ones were asked. */
async function unansweredOf({ fixture, key }: Chat): Promise<[messageId: string, count: number][]> {
  const asked = await list(fixture, key, "/questions/unanswered");
  return asked.map(({ messageId, count }: { messageId: string; count: number }) => [messageId, count]);
}

describe("a question whose reply another process ends", () => {
  for (const [how, isCancelled] of [
    ["as interrupted", false],
    ["as cancelled", true],
  ] as const) {
    for (const [sources, isListed] of [
      [[], true],
      [[{ heading: "Prices", score: 1 }], false],
    ] as const) {
      test(`${how}, with ${sources.length} sources, is ${isListed ? "" : "not "}listed`, async () => {
        await using cutOff = await openCutOff({ saved: "I do" });
        const { run, clock, messageId } = cutOff;
        run.progress({ stage: "sources", sources });
        run.write(" not know.");
        await clock.advance(1000);
        cutOff.cutOff();
        await using other = await cutOff.another();
        const cancelling = isCancelled ? other.cancel(messageId) : undefined;
        await cutOff.expire();
        await cancelling;
        const { status, sources: stored } = await other.message(messageId);
        assert.deepEqual([status, stored?.length], [isCancelled ? "cancelled" : "failed", sources.length]);
        assert.deepEqual(await unansweredOf(other), isListed ? [[messageId, 1]] : []);
      });
    }
  }

  for (const [by, body, isListed] of [
    ["another question", { content: "And?" }, true],
    ["what a person says", { role: "assistant", content: "Here.", author: "Eva" }, false],
  ] as const) {
    test(`in the place of which there is ${by}, is ${isListed ? "" : "not "}listed`, async () => {
      const store = { ...createMemoryStore(), exclusive: false };
      await using chat = await openChat(inProcess, { store });
      const { messageId, run } = await chat.begin("Why?");
      run.progress({ stage: "sources", sources: [] });
      run.write("I do");
      await chat.clock.advance(1000);
      await using other = await chat.another();
      const sent = other.post("/messages", { ...body, whenBusy: "replace" });
      for (const ms of [1000, 250]) await chat.clock.advance(ms); // the first process is asked to yield the reply, and does
      if (isListed) (await chat.engine.next()).finish();
      await sent;
      const { status, sources } = await other.message(messageId);
      assert.deepEqual([status, sources], ["cancelled", []]);
      assert.deepEqual(await unansweredOf(other), isListed ? [[messageId, 1]] : []);
    });
  }
});
