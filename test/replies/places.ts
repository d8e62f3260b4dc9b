/**
 * Where a conversation is followed, for the tests of its stream: on the process that sends, with any store, or on another.
 */

import { openPostgres } from "../../adapters/postgres/mod.ts";
import { openSqlite } from "../../adapters/sqlite/mod.ts";
import { createDatabase, skipWithoutPostgres } from "../postgres/database.ts";
import { makeFolder } from "../sqlite/fixture.ts";
import { type Chat, openChat } from "../support/chat.ts";
import type { ManualClock } from "../support/clock.ts";
import { inProcess, overSocket } from "../support/harness.ts";

/** The process that sends, and the one that follows: they may be the same. */
export interface Place extends AsyncDisposable {
  readonly sender: Chat;
  readonly follower: Chat;
}

interface PlaceKind {
  readonly name: string;
  readonly skip: string | false;
  open(): Promise<Place>;
}

const folder = await makeFolder();

export const places: readonly PlaceKind[] = [
  ...[inProcess, overSocket].map((transport) => ({
    name: transport.name,
    skip: false as const,
    async open() {
      const chat = await openChat(transport);
      return { sender: chat, follower: chat, [Symbol.asyncDispose]: () => chat[Symbol.asyncDispose]() };
    },
  })),
  {
    name: "on SQLite",
    skip: false,
    async open() {
      const { store, close } = await openSqlite(folder.newPath());
      const chat = await openChat(inProcess, { store });
      return {
        sender: chat,
        follower: chat,
        async [Symbol.asyncDispose]() {
          await chat[Symbol.asyncDispose]();
          await close();
        },
      };
    },
  },
  {
    name: "on another process, by PostgreSQL",
    skip: await skipWithoutPostgres(),
    async open() {
      const database = await createDatabase();
      const [here, there] = [await openPostgres(database.url), await openPostgres(database.url)];
      const sender = await openChat(inProcess, { store: here.store });
      const follower = await sender.another({ store: there.store });
      const stop = letTimePass(sender.clock);
      return {
        sender,
        follower,
        async [Symbol.asyncDispose]() {
          await stop();
          await follower[Symbol.asyncDispose]();
          await sender[Symbol.asyncDispose]();
          await Promise.all([here.close(), there.close()]);
          await database.drop();
        },
      };
    },
  },
];

/** Advances a clock while a database, which has time of its own, does its work. Returns what stops it. */
function letTimePass(clock: ManualClock): () => Promise<void> {
  let stopped = false;
  const passing = (async () => {
    while (!stopped) {
      await clock.advance(50);
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  })();
  return () => {
    stopped = true;
    return passing;
  };
}
