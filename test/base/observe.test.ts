/**
 * What a service tells its observer, in which order, and that an observer cannot do harm.
 */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Observer } from "../../core/observe.ts";
import { openChat } from "../support/chat.ts";
import { readConversation } from "../support/event-reader.ts";
import { inProcess, openFixture } from "../support/harness.ts";

/** An observer that notes each callback with its event. */
function createRecorder() {
  const told: [name: string, event: Readonly<Record<string, unknown>>][] = [];
  const note = (name: string) => (event: object) => void told.push([name, { ...event }]);
  const observe: Observer = {
    requestBegan: note("requestBegan"),
    requestEnded: note("requestEnded"),
    replyBegan: note("replyBegan"),
    replyFirstText: note("replyFirstText"),
    replyEnded: note("replyEnded"),
    streamOpened: note("streamOpened"),
    streamClosed: note("streamClosed"),
    rateLimited: note("rateLimited"),
  };
  const events = (name: string) => told.filter(([each]) => each === name).map(([, event]) => event);
  return { observe, told, names: () => told.map(([name]) => name), events };
}

describe("an observer", () => {
  test("is told of a streamed reply from the request to its end", async () => {
    const recorder = createRecorder();
    await using chat = await openChat(inProcess, { observe: recorder.observe });
    recorder.told.length = 0;
    const { stream, run } = await chat.begin();
    run.write("Hello");
    run.write(" there");
    run.finish();
    await stream.rest();
    assert.deepEqual(recorder.names(), [
      "requestBegan",
      "replyBegan",
      "requestEnded",
      "streamOpened",
      "replyFirstText",
      "replyEnded",
      "streamClosed",
    ]);
    const [ended] = recorder.events("replyEnded");
    assert.equal(ended?.status, "completed");
    assert.equal(ended?.finishReason, "stop");
    assert.equal(recorder.events("requestEnded")[0]?.route, "/api/v1/conversations/{id}/messages/stream");
    assert.equal(recorder.events("replyBegan")[0]?.requestId, recorder.events("requestBegan")[0]?.requestId);
  });

  test("is told of a conversation's stream once, whatever is said in it", async () => {
    const recorder = createRecorder();
    await using chat = await openChat(inProcess, { observe: recorder.observe });
    const response = await chat.get("/stream");
    const conversation = readConversation(response);
    await conversation.next();
    const { run, stream } = await chat.begin();
    run.write("Hello");
    run.finish();
    await stream.rest();
    await conversation.until("complete");
    await conversation.leave();
    const told = (name: string) => recorder.events(name).filter(({ messageId }) => messageId === undefined);
    const expected = [{ requestId: response.headers.get("x-request-id"), messageId: undefined }];
    assert.deepEqual(told("streamOpened"), expected);
    assert.deepEqual(told("streamClosed"), expected);
    assert.equal(recorder.events("streamOpened").length, 2); // the other is the send's
  });

  test("is told how long a reply took to its first text and to its end", async () => {
    const recorder = createRecorder();
    await using chat = await openChat(inProcess, { observe: recorder.observe });
    const { stream, run } = await chat.begin();
    await chat.clock.advance(300);
    run.write("Hello");
    await chat.clock.advance(700);
    run.finish();
    await stream.rest();
    assert.equal(recorder.events("replyFirstText")[0]?.durationMs, 300);
    assert.equal(recorder.events("replyEnded")[0]?.durationMs, 1000);
  });

  test("is told of a reply that fails, with its code", async () => {
    const recorder = createRecorder();
    await using chat = await openChat(inProcess, { observe: recorder.observe });
    const { stream, run } = await chat.begin();
    run.fail(new Error("The model is gone."));
    await stream.rest();
    const [ended] = recorder.events("replyEnded");
    assert.equal(ended?.status, "failed");
    assert.equal(ended?.errorCode, "model_error");
  });

  test("is told of a refusal by the limit, with the key's scope", async () => {
    const recorder = createRecorder();
    await using fixture = await openFixture(inProcess, { observe: recorder.observe });
    const key = await fixture.key("read_only");
    for (let count = 0; count < 201; count++) await fixture.call("GET", "/twins/echo", key);
    assert.deepEqual(recorder.events("rateLimited"), [{ scope: "read_only" }]);
  });

  test("gets only a trace context that is one", async () => {
    const recorder = createRecorder();
    await using fixture = await openFixture(inProcess, { observe: recorder.observe });
    const valid = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    const zeros = `00-${"0".repeat(32)}-b7ad6b7169203331-01`;
    for (const traceparent of [valid, zeros, `ff${valid.slice(2)}`, "anything"]) {
      await fixture.send("/healthz", { headers: { traceparent } });
    }
    const told = recorder.events("requestBegan").map(({ traceparent }) => traceparent);
    assert.deepEqual(told, [valid, undefined, undefined, undefined]);
  });

  test("that throws changes nothing but the log", async () => {
    const logged: unknown[] = [];
    const fail = () => {
      throw new Error("The observer is broken.");
    };
    await using fixture = await openFixture(inProcess, {
      observe: {
        requestBegan: fail,
        requestEnded: fail,
        replyBegan: fail,
        replyEnded: fail,
        traceparentOf: fail,
      },
      log: (level, message, fields) => void (level === "error" && logged.push([message, fields?.callback])),
    });
    const key = await fixture.key();
    const conversation = await fixture.conversation(key);
    logged.length = 0;
    const path = `/conversations/${conversation}/messages`;
    assert.equal((await fixture.call("POST", path, key, { content: "Hi" })).status, 200);
    assert.deepEqual(
      logged,
      ["requestBegan", "replyBegan", "traceparentOf", "replyEnded", "requestEnded"].map((name) => [
        "a callback of observe failed",
        name,
      ]),
    );
  });

  test("with a misspelt callback is refused", async () => {
    const observe = { replyEnd() {} } as Observer;
    await assert.rejects(
      openFixture(inProcess, { observe }),
      /observe must be an object with any of the functions/,
    );
  });
});
