/**
 * A conversation's stream: all that happens in it, from now on or from any event.
 */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { TwinClient } from "../../client/mod.ts";
import type { AuthenticateUser } from "../../core/auth/host-users.ts";
import { createMemoryStore, type Store } from "../../core/store/mod.ts";
import { openBreakingProxy } from "../client/breaking-proxy.ts";
import { openCutOff } from "../replies/cut-off.ts";
import { type Chat, countCalls, openChat } from "../support/chat.ts";
import { settle } from "../support/clock.ts";
import { type ConversationReader, inShort, readConversation } from "../support/event-reader.ts";
import { assertRefusedField, dataOf, inProcess, overSocket } from "../support/harness.ts";
import { places } from "./places.ts";

const follow = async (chat: Chat, after?: string, key = chat.key) => {
  const query = after === undefined ? "" : `?after=${after}`;
  const path = `/conversations/${chat.conversationId}/stream${query}`;
  return readConversation(await chat.fixture.call("GET", path, key));
};

/** The key that a chat was opened with. */
async function keyOf({ fixture }: Chat): Promise<{ readonly id: string }> {
  const keys = await dataOf<{ id: string }[]>(
    await fixture.call("GET", "/auth/api-keys", await fixture.token()),
  );
  return keys[0] ?? assert.fail();
}

async function revoke(chat: Chat): Promise<void> {
  const { id } = await keyOf(chat);
  await chat.fixture.call("DELETE", `/auth/api-keys/${id}`, await chat.fixture.token());
}

/** Follows as a page of the host's does, for a session of one of its users. */
async function followOnPage({ service, conversationId }: Chat, session: string): Promise<ConversationReader> {
  const url = `http://twins.test/api/v1/conversations/${conversationId}/stream`;
  return readConversation(await service.fetch(new Request(url, { headers: { "x-session": session } })));
}

function rename({ fixture, conversationId }: Chat, key: string): Promise<Response> {
  return fixture.call("PATCH", `/conversations/${conversationId}`, key, { title: "Still here" });
}

/** Sends a message, and plays its reply. */
async function talk(chat: Chat, question: string, reply: string) {
  const { stream, messageId, run } = await chat.begin(question);
  run.write(reply);
  run.finish();
  await stream.rest();
  return messageId;
}

const whole = [
  "1.0 message in_progress ",
  "1.3 delta Hi!",
  "1.4 complete completed Hi!",
  "2.4 message completed And?",
  "3.0 message in_progress ",
  "3.5 delta Fine.",
  "3.6 complete completed Fine.",
];

/**
 * Sends a message, and plays its reply once `stream` was told that it begins: what ends before it was seen is told as a whole.
 * Returns what was told up to the reply's end.
 */
async function talkBefore(stream: ConversationReader, chat: Chat, question: string, reply: string) {
  const { stream: own, run } = await chat.begin(question);
  const events = [await stream.next(), await stream.next()];
  run.write(reply);
  run.finish();
  events.push(...(await stream.until("complete")));
  await own.rest();
  return events;
}

for (const { name, skip, open } of places) {
  describe(`a conversation's stream (${name})`, { skip }, () => {
    test("tells all that happens, in order, with ids of message and offset", async () => {
      await using place = await open();
      const stream = await follow(place.follower);
      assert.deepEqual(inShort([await stream.next()]), ["- conversation null"]);
      const first = await talkBefore(stream, place.sender, "Hello?", "Hi!");
      const events = [...first, ...(await talkBefore(stream, place.sender, "And?", "Fine."))];
      assert.deepEqual(inShort(events), ["0.6 message completed Hello?", ...whole]);
      await stream.leave();
    });

    test("begins with what runs: the reply as it began, and all of its text", async () => {
      await using place = await open();
      const { run, stream } = await place.sender.begin();
      run.write("So far");
      await stream.next();
      const late = await follow(place.follower);
      const begun = [await late.next(), await late.next(), await late.next()];
      assert.deepEqual(inShort(begun), [
        "0.6 conversation null",
        "1.0 message in_progress ",
        "1.6 delta So far",
      ]);
      run.write(", so good");
      run.finish();
      assert.deepEqual(inShort(await late.until("complete")), [
        "1.15 delta , so good",
        "1.16 complete completed So far, so good",
      ]);
      await late.leave();
      await stream.rest();
    });

    test("goes on behind any event, at any time: each of the others comes once", async () => {
      await using place = await open();
      const { sender, follower } = place;
      await talk(sender, "Hello?", "Hi!");
      const { run } = await sender.begin("And?");
      run.write("Fine.");
      await settle();
      const expected: Readonly<Record<string, readonly string[]>> = {
        "0.6": ["1.4 message completed Hi!", ...whole.slice(3)],
        "1.0": ["1.4 message completed Hi!", ...whole.slice(3)],
        "1.3": ["1.4 message completed Hi!", ...whole.slice(3)],
        "1.4": whole.slice(3),
        "2.4": whole.slice(4),
        "3.0": whole.slice(5),
        "3.2": ["3.5 delta ne.", ...whole.slice(6)],
        "3.5": whole.slice(6),
      };
      const begun = await Promise.all(
        Object.keys(expected).map(async (after) => {
          const stream = await follow(follower, after);
          const events = [await stream.next()];
          const seesReply = after.startsWith("3");
          while (!seesReply && events.at(-1)?.id !== "3.0") events.push(await stream.next());
          return { after, stream, events };
        }),
      );
      run.finish();
      for (const { after, stream, events } of begun) {
        const [first, ...rest] = [...events, ...(await stream.until("complete"))];
        assert.deepEqual(inShort(first ? [first] : []), [`${after} conversation null`]);
        assert.deepEqual(inShort(rest), expected[after], after);
        await stream.leave();
      }
      const ended = await follow(follower, "3.2");
      const events = [await ended.next(), await ended.next()];
      assert.deepEqual(inShort(events), ["3.2 conversation null", "3.6 message completed Fine."]);
      await ended.leave();
    });

    test("goes on behind a message; a running reply's text comes from its beginning", async () => {
      await using place = await open();
      const { sender, follower } = place;
      const first = await talk(sender, "Hello?", "Hi!");
      const { run, messageId } = await sender.begin("And?");
      run.write("Fine.");
      const behind = await follow(follower, first);
      const within = await follow(follower, messageId);
      const begun = [await behind.next(), await behind.next(), await behind.next()];
      run.finish();
      const events = [...begun, ...(await behind.until("complete"))];
      assert.deepEqual(inShort(events), ["1.4 conversation null", ...whole.slice(3)]);
      assert.deepEqual(inShort(await within.until("complete")), ["3.0 conversation null", ...whole.slice(5)]);
      await behind.leave();
      await within.leave();
    });

    test("tells of another title, and ends after its deletion", async () => {
      await using place = await open();
      const { sender, follower } = place;
      await talk(sender, "Hello?", "Hi!");
      const stream = await follow(follower);
      await stream.next();
      const path = `/conversations/${sender.conversationId}`;
      await sender.fixture.call("PATCH", path, sender.key, { title: "Ada" });
      assert.deepEqual(inShort([await stream.next()]), ["1.4 conversation Ada"]);
      await sender.remove();
      assert.deepEqual(inShort(await stream.rest()), ["1.4 deleted"]);
      assert.equal((await follower.get("/stream")).status, 404);
    });

    test("tells of a path that was left again for the one before, behind the messages on it", async () => {
      await using place = await open();
      const { sender, follower } = place;
      const first = await talk(sender, "Hello?", "Hi!");
      const stream = await follow(follower);
      await stream.next();
      await talk(sender, "And?", "Fine.");
      const path = `/conversations/${sender.conversationId}`;
      await sender.fixture.call("PATCH", path, sender.key, { lastMessageId: first });
      const late = await follow(follower, "1.4");
      await late.next();
      for (const each of [stream, late]) {
        const events = await each.until("conversation");
        assert.match(inShort(events).join(), /3\.6 (message|complete) completed Fine\./);
        const data = events.at(-1)?.data;
        assert.equal(data?.type === "conversation" && data.conversation.lastMessageId, first);
        await each.leave();
      }
    });

    test("tells of a reply that failed, and goes on", async () => {
      await using place = await open();
      const stream = await follow(place.follower);
      const { run } = await place.sender.begin();
      const begun = [await stream.next(), await stream.next(), await stream.next()];
      assert.deepEqual(inShort(begun.slice(1)), ["0.6 message completed Hello?", whole[0]]);
      run.write("So");
      run.fail(new Error("secret"));
      const events = await stream.until("error");
      assert.deepEqual(inShort(events.slice(-1)), ["1.3 error failed So"]);
      const next = await talkBefore(stream, place.sender, "And?", "Fine.");
      assert.deepEqual(inShort(next), whole.slice(3));
      await stream.leave();
    });

    test("ends after an erasure while a reply runs", async () => {
      await using place = await open();
      const { sender, follower } = place;
      const body = { twinId: "scripted", endUser: "zoe" };
      const made = await sender.fixture.call("POST", "/conversations", sender.key, body);
      const path = `/conversations/${(await dataOf<{ id: string }>(made)).id}`;
      const stream = readConversation(await follower.fixture.call("GET", `${path}/stream`, follower.key));
      const sent = sender.fixture.call("POST", `${path}/messages`, sender.key, { content: "Hello?" });
      await sender.engine.next();
      await sender.fixture.call("DELETE", "/end-users/zoe", sender.key);
      assert.equal((await stream.rest()).at(-1)?.data.type, "deleted");
      await sent;
    });
  });
}

describe("a conversation's stream", () => {
  for (const after of [
    "",
    "4.0",
    "0.7",
    "1.5",
    "1.2",
    "2.0",
    "x",
    "1",
    "1.",
    "-1.0",
    "msg_0",
    "1.0&after=1.0",
  ]) {
    test(`refuses the id ${JSON.stringify(after)}`, async () => {
      await using chat = await openChat(inProcess);
      await talk(chat, "Hello?", "H😀");
      await assertRefusedField(await chat.get(`/stream?after=${after}`), "after");
    });
  }

  test("takes the header before the parameter, and no message's id there", async () => {
    await using chat = await openChat(inProcess);
    const messageId = await talk(chat, "Hello?", "Hi!");
    const stream = readConversation(await chat.get("/stream?after=0.6", { "Last-Event-ID": "1.4" }));
    assert.equal((await stream.next()).id, "1.4");
    await stream.leave();
    await assertRefusedField(await chat.get("/stream", { "Last-Event-ID": messageId }), "Last-Event-ID");
    await assertRefusedField(await chat.get("/stream", { "Last-Event-ID": "9.0" }), "Last-Event-ID");
  });

  test("another conversation's message is none of this one's", async () => {
    await using chat = await openChat(inProcess);
    const messageId = await talk(chat, "Hello?", "Hi!");
    const other = await chat.fixture.conversation(chat.key, "scripted");
    const response = await chat.fixture.call(
      "GET",
      `/conversations/${other}/stream?after=${messageId}`,
      chat.key,
    );
    await assertRefusedField(response, "after");
  });

  test("comes with keep-alives, and ends without a last event when the process stops", async () => {
    await using chat = await openChat(inProcess);
    const response = await chat.get("/stream");
    const text = response.text();
    await chat.clock.advance(5_000);
    await chat.service.close({ graceMs: 0 });
    assert.match(await text, /^data: \{"type":"conversation".*\n\n: keep-alive\n\n$/);
  });

  test("ends within 5 s after its key was revoked, as all streams of that key do", async () => {
    await using chat = await openChat(inProcess);
    const first = await follow(chat);
    await chat.clock.advance(1_000);
    const rests = [(await follow(chat)).rest(), (await follow(chat)).rest()];
    await chat.clock.advance(1_000);
    await first.leave();
    await chat.clock.advance(10_000);
    await revoke(chat);
    await chat.clock.advance(5_000);
    for (const rest of rests) assert.deepEqual(inShort(await rest), ["- conversation null"]);
  });

  test("ends within 5 s after its key was revoked on another process, if it began meanwhile", async () => {
    const store = { ...createMemoryStore(), exclusive: false };
    await using chat = await openChat(inProcess, { store });
    await using other = await chat.another();
    await other.get("");
    await revoke(chat);
    await chat.clock.advance(4_900);
    const rest = (await follow(other)).rest();
    await chat.clock.advance(100);
    assert.deepEqual(inShort(await rest), ["- conversation null"]);
  });

  test("has a key looked at once for all of its streams", async () => {
    const { store, calls } = countCalls(createMemoryStore());
    await using chat = await openChat(inProcess, { store });
    const streams: ConversationReader[] = [];
    for (let opened = 0; opened < 50; opened++) {
      streams.push(await follow(chat));
      await chat.clock.advance(200);
    }
    calls.clear();
    await chat.clock.advance(10_000);
    assert.ok(Number(calls.get("findKey")) <= 3, `${calls.get("findKey")} look-ups`);
    for (const stream of streams) await stream.leave();
  });

  test("with a key's previous secret, ends within 5 s after its time; with the new one, goes on", async () => {
    await using chat = await openChat(inProcess);
    const { fixture } = chat;
    const { id } = await keyOf(chat);
    const path = `/auth/api-keys/${id}/rotate`;
    const rotated = await fixture.call("POST", path, await fixture.token(), { overlapSeconds: 40 });
    const { key } = await dataOf<{ key: string }>(rotated);
    const before = (await follow(chat)).rest();
    const stream = await follow(chat, undefined, key);
    await chat.clock.advance(45_000);
    assert.deepEqual(inShort(await before), ["- conversation null"]);
    await stream.next();
    await rename(chat, key);
    assert.deepEqual(inShort([await stream.next()]), ["- conversation Still here"]);
    await stream.leave();
  });

  test("ends within 5 s after a host's user has signed out, and that of another goes on", async () => {
    const signedIn = new Set(["here", "there"]);
    const authenticate: AuthenticateUser = ({ headers }) =>
      signedIn.has(headers.get("x-session") ?? "") ? { owner: "alice" } : null;
    await using chat = await openChat(inProcess, { authenticate });
    const [here, there] = [await followOnPage(chat, "here"), await followOnPage(chat, "there")];
    const rest = here.rest();
    signedIn.delete("here");
    await chat.clock.advance(5_000);
    assert.deepEqual(inShort(await rest), ["- conversation null"]);
    await there.next();
    await rename(chat, chat.key);
    assert.deepEqual(inShort([await there.next()]), ["- conversation Still here"]);
    await there.leave();
  });

  test("goes on to be looked at if a look never ends", async () => {
    let user: ReturnType<AuthenticateUser> = { owner: "alice" };
    await using chat = await openChat(inProcess, { authenticate: () => user });
    const rest = (await followOnPage(chat, "here")).rest();
    user = new Promise(() => {});
    await chat.clock.advance(4_000);
    user = null;
    await chat.clock.advance(5_000);
    assert.deepEqual(inShort(await rest), ["- conversation null"]);
  });

  test("ends within 5 s after its client token has expired", async () => {
    await using chat = await openChat(inProcess);
    const { fixture } = chat;
    const body = { endUser: "zoe", expiresInSeconds: 60 };
    const { token } = await dataOf<{ token: string }>(
      await fixture.call("POST", "/client-tokens", chat.key, body),
    );
    const made = await fixture.call("POST", "/conversations", token, { twinId: "scripted" });
    const { id } = await dataOf<{ id: string }>(made);
    const rest = readConversation(await fixture.call("GET", `/conversations/${id}/stream`, token)).rest();
    await chat.clock.advance(65_000);
    assert.deepEqual(inShort(await rest), ["- conversation null"]);
  });

  test("one more than a key may have open is refused, until one is closed", async () => {
    await using chat = await openChat(inProcess, { maxConversationStreams: 2 });
    const streams = [await follow(chat), await follow(chat)];
    const refused = await chat.get("/stream");
    assert.deepEqual([refused.status, refused.headers.get("retry-after")], [429, "5"]);
    assert.equal(((await refused.json()) as { error: { code: string } }).error.code, "too_many_streams");
    const otherKey = await chat.fixture.key();
    await (await follow(chat, undefined, otherKey)).leave();
    await streams[0]?.leave();
    await (await follow(chat)).leave();
    await streams[1]?.leave();
  });

  test("all tokens of an end user share what they may have open", async () => {
    await using chat = await openChat(inProcess, { maxConversationStreams: 1 });
    const { fixture } = chat;
    const tokens = await Promise.all(
      [1, 2].map(async () => {
        const made = await fixture.call("POST", "/client-tokens", chat.key, { endUser: "zoe" });
        return (await dataOf<{ token: string }>(made)).token;
      }),
    );
    const [one = "", other = ""] = tokens;
    const { id } = await dataOf<{ id: string }>(
      await fixture.call("POST", "/conversations", one, { twinId: "scripted" }),
    );
    const open = (token: string) => fixture.call("GET", `/conversations/${id}/stream`, token);
    const stream = readConversation(await open(one));
    assert.equal((await open(other)).status, 429);
    await stream.leave();
  });

  test("ends where the store has lost what it was told, as a restored one has", async () => {
    const store = createMemoryStore();
    let isLost = false;
    const restored: Store = {
      ...store,
      async getConversation(...which) {
        const found = await store.getConversation(...which);
        return found && isLost ? { ...found, logLength: 0, lastMessageId: null } : found;
      },
      async listMessages(...which) {
        const found = await store.listMessages(...which);
        return found && isLost ? { items: [], total: 0 } : found;
      },
    };
    await using chat = await openChat(inProcess, { store: restored });
    const stream = await follow(chat);
    await stream.next();
    await talk(chat, "Hello?", "Hi!");
    await stream.until("complete");
    isLost = true;
    await rename(chat, chat.key);
    let rest: unknown[] | undefined;
    void stream.rest().then((events) => {
      rest = events;
    });
    await settle();
    assert.deepEqual(rest, []);
    await assertRefusedField(await chat.get("/stream?after=1.4"), "after");
  });

  test("comes from another process within 2 s, without signals", async () => {
    const store = { ...createMemoryStore(), exclusive: false };
    await using chat = await openChat(inProcess, { store });
    await using other = await chat.another();
    const stream = await follow(other);
    await stream.next();
    const { run } = await chat.begin();
    run.write("Hi!");
    await chat.clock.advance(2_000);
    const told = [await stream.next(), await stream.next(), await stream.next()];
    assert.deepEqual(inShort(told), ["0.6 message completed Hello?", ...whole.slice(0, 2)]);
    run.finish();
    await chat.clock.advance(2_000);
    assert.deepEqual(inShort(await stream.until("complete")), whole.slice(2, 3));
    await stream.leave();
  });

  test("tells of a take-over, and goes on within the reply that was taken over", async () => {
    await using cutOff = await openCutOff({ continues: "partial", saved: "Once" });
    await using other = await cutOff.another();
    const stream = await follow(other);
    cutOff.cutOff();
    await cutOff.expire();
    const run = await cutOff.engine.next();
    run.write(" again");
    run.finish();
    await cutOff.clock.advance(3_000);
    const events = await stream.until("complete");
    const stages = events.flatMap(({ data }) => (data.type === "progress" ? data.progress.stage : []));
    assert.deepEqual(stages, ["continued"]);
    const again = await follow(other, "1.999");
    assert.equal((await again.until("message")).at(-1)?.data.type, "message");
    await again.leave();
    await stream.leave();
    cutOff.reconnect();
  });
});

test("the client follows a conversation, goes on after a cut, and ends after its deletion", async () => {
  await using chat = await openChat(overSocket);
  await using proxy = await openBreakingProxy(chat.fixture.url, [{ after: ['"type":"delta"'], how: "end" }]);
  const client = new TwinClient({ baseUrl: proxy.url, apiKey: chat.key });
  const told: string[] = [];
  let text = "";
  for await (const event of client.conversations.follow(chat.conversationId)) {
    if (told.length === 0) await talk(chat, "Hello?", "Hi!");
    told.push(event.type);
    if (event.type === "delta") text += event.content;
    if (event.type === "message" && event.message.role === "assistant") text += event.message.content;
    if (text === "Hi!" && event.type !== "deleted") await chat.remove();
  }
  assert.equal(text, "Hi!");
  assert.equal(told.at(-1), "deleted");
  assert.equal(proxy.faults.length, 0);
});

test("a client whose connection breaks before the first message is told that message, and what follows", async () => {
  await using chat = await openChat(overSocket);
  await using proxy = await openBreakingProxy(chat.fixture.url, [{ after: ["\n\n"], how: "stall" }]);
  const client = new TwinClient({ baseUrl: proxy.url, apiKey: chat.key, silenceMs: 200 });
  const told: string[] = [];
  for await (const event of client.conversations.follow(chat.conversationId)) {
    if (told.length === 0) await talk(chat, "Hello?", "Hi!");
    told.push("message" in event ? `${event.type} ${event.message.content}` : event.type);
    if (told.at(-1) === "message Hi!") break;
  }
  assert.deepEqual(told, ["conversation", "conversation", "message Hello?", "message Hi!"]);
});

test("a conversation that is deleted while its stream begins is not found", async () => {
  for (const after of ["", "?after=0.6"]) {
    const memory = createMemoryStore();
    let isDeleting = false;
    const store: Store = {
      ...memory,
      async listMessages(reach, id, slice) {
        if (isDeleting) await memory.deleteConversation(reach, id, 0);
        return memory.listMessages(reach, id, slice);
      },
    };
    await using chat = await openChat(inProcess, { store });
    await talk(chat, "Hello?", "Hi!");
    isDeleting = true;
    assert.equal((await chat.get(`/stream${after}`)).status, 404);
  }
});
