/**
 * What goes wrong elsewhere where a person steps in beside a bot: it answers over the colleague, says its last words twice, stays
 * silent for ever, works by a state that is late; two colleagues lose each other's words; a question falls between both.
 */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { TwinEngine } from "../../core/mod.ts";
import type { ConversationResource, MessageResource } from "../../core/wire/schemas.ts";
import { type Chat, openChat } from "../support/chat.ts";
import { dataOf, inProcess } from "../support/harness.ts";

const eva = { role: "assistant", content: "I am Eva.", author: "Eva" };

function letAnswer({ fixture, conversationId, key }: Chat, answeredBy: "person" | "twin"): Promise<Response> {
  return fixture.call("PATCH", `/conversations/${conversationId}`, key, { answeredBy });
}

async function path(chat: Chat): Promise<string[]> {
  const { data } = await (await chat.get("/messages")).json();
  return data.map(({ content, author }: MessageResource) => author ?? content);
}

const who = (chat: Chat) => chat.get("").then((response) => dataOf<ConversationResource>(response));

/** An engine that answers what it is asked, and hands over where that is "person". Counts how often it was asked. */
function createDesk() {
  const desk = { asked: 0 };
  const engine: TwinEngine = {
    async reply({ content }, output) {
      desk.asked++;
      output.write(content === "person" ? "A colleague comes." : `Re: ${content}`);
      if (content === "person") output.handOver();
      return { finishReason: "stop", usage: null };
    },
  };
  return { desk, engines: { scripted: engine } };
}

describe("where a person steps in", () => {
  test("a twin that was still writing ends its reply, and answers nothing more", async () => {
    await using chat = await openChat(inProcess);
    const { run, stream } = await chat.begin("One?");
    await letAnswer(chat, "person");
    run.write("One.");
    run.finish();
    await stream.rest();
    assert.equal((await chat.send("Two?")).status, 202);
    assert.deepEqual(await path(chat), ["One?", "One.", "Two?"]);
  });

  test("a colleague who answers in its place has the last word, whatever the engine still writes", async () => {
    await using chat = await openChat(inProcess);
    const { run, messageId } = await chat.begin("One?");
    run.write("Well,");
    const said = await chat.post("/messages", { ...eva, answeredBy: "person", whenBusy: "replace" });
    assert.equal(said.status, 201);
    run.write(" far too late");
    run.finish();
    assert.deepEqual(await path(chat), ["One?", "Well,", "Eva"]);
    const { status, content } = await chat.message(messageId);
    assert.deepEqual([status, content], ["cancelled", "Well,"]);
  });

  test("a question that is sent again after a colleague took over is not answered after all", async () => {
    const { desk, engines } = createDesk();
    await using chat = await openChat(inProcess, { engines });
    await letAnswer(chat, "person");
    const once = { "Idempotency-Key": "once" };
    assert.equal((await chat.send("One?", once)).status, 202);
    await letAnswer(chat, "twin");
    assert.equal(
      (await chat.send("One?", once)).status,
      202,
      "a retry has the same effect, whoever answers now",
    );
    assert.deepEqual([desk.asked, await path(chat)], [0, ["One?"]]);
  });

  test("a twin that hands over says so once, however often its question is sent", async () => {
    const { desk, engines } = createDesk();
    await using chat = await openChat(inProcess, { engines });
    const once = { "Idempotency-Key": "once" };
    const [first, again] = await Promise.all([chat.send("person", once), chat.send("person", once)]);
    assert.deepEqual([first.status, again.status], [200, 200]);
    assert.equal((await chat.send("person", once)).status, 200);
    assert.equal((await chat.send("person")).status, 202, "another question waits, and is told nothing");
    assert.deepEqual([desk.asked, await path(chat)], [1, ["person", "A colleague comes.", "person"]]);
  });

  test("a conversation that is handed back is answered each time, and may be handed over again", async () => {
    const { engines } = createDesk();
    await using chat = await openChat(inProcess, { engines });
    for (let time = 0; time < 3; time++) {
      assert.equal((await chat.send("person")).status, 200);
      assert.equal((await who(chat)).answeredBy, "person");
      await chat.post("/messages", { ...eva, answeredBy: "twin" });
      const { answeredBy, waitingSince } = await who(chat);
      assert.deepEqual([answeredBy, waitingSince], ["twin", null]);
      assert.equal((await chat.send("And now?")).status, 200);
    }
    assert.equal((await path(chat)).filter((each) => each === "Re: And now?").length, 3);
  });

  test("a process that was not told works by what is stored", async () => {
    const { engines } = createDesk();
    await using one = await openChat(inProcess, { engines });
    await using two = await one.another();
    for (let time = 0; time < 3; time++) {
      assert.equal((await two.send("Hello?")).status, 200); // it remembers the conversation
      await letAnswer(one, "person");
      assert.equal((await two.send("Anybody?")).status, 202);
      await letAnswer(two, "twin");
      assert.equal((await one.send("Twin?")).status, 200);
    }
  });

  test("of two colleagues at once, on two processes, neither's words are lost, nor off the path", async () => {
    await using one = await openChat(inProcess);
    await using two = await one.another();
    await letAnswer(one, "person");
    assert.equal((await one.send("Anybody?")).status, 202);
    const said = await Promise.all(
      ["Eva", "Tom", "Ida", "Max"].map((author, at) =>
        (at % 2 === 0 ? one : two).post("/messages", { ...eva, author }),
      ),
    );
    assert.ok(said.every(({ status }) => status === 201));
    const [asked, ...authors] = await path(one);
    assert.deepEqual([asked, authors.sort()], ["Anybody?", ["Eva", "Ida", "Max", "Tom"]]);
    assert.equal((await who(two)).waitingSince, null);
  });

  test("a question in the moment of the switch, on another process, has a reply or waits, and never both", async () => {
    const { desk, engines } = createDesk();
    await using one = await openChat(inProcess, { engines });
    await using two = await one.another();
    let [answered, waited] = [0, 0];
    for (let n = 0; n < 60; n++) {
      const switched = letAnswer(n % 2 === 0 ? one : two, n % 3 === 0 ? "person" : "twin");
      const { status } = await (n % 2 === 0 ? two : one).send(`${n}`);
      await switched;
      if (status === 200) answered++;
      else if (status === 202) waited++;
      else assert.fail(String(status));
    }
    assert.equal(desk.asked, answered);
    assert.equal((await who(one)).messageCount, 2 * answered + waited);
    assert.ok(answered > 0 && waited > 0);
  });

  test("what waits is as old as its first question, until a person has answered", async () => {
    await using chat = await openChat(inProcess);
    await letAnswer(chat, "person");
    const first = await dataOf<MessageResource>(await chat.send("One?"));
    await chat.clock.advance(1_000);
    await chat.send("Two?");
    assert.equal((await who(chat)).waitingSince, first.createdAt);
    await chat.post("/messages", eva);
    await chat.clock.advance(1_000);
    const next = await dataOf<MessageResource>(await chat.send("Three?"));
    assert.equal((await who(chat)).waitingSince, next.createdAt);
  });
});
