import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openSqlite } from "../../adapters/sqlite/mod.ts";
import { createMemoryStore } from "../../core/store/memory.ts";
import { storeContract } from "../contracts/store.contract.ts";

storeContract("memory", async () => {
  const store = createMemoryStore();
  return { store, dispose: () => store.close() };
});

storeContract("SQLite", async () => {
  const folder = await mkdtemp(join(tmpdir(), "twins-store-"));
  const path = join(folder, "data", "twins.db");
  let sqlite = await openSqlite(path);
  return {
    store: sqlite.store,
    async reopen() {
      await sqlite.close();
      sqlite = await openSqlite(path);
      return sqlite.store;
    },
    async dispose() {
      await sqlite.close();
      await rm(folder, { recursive: true });
    },
  };
});
