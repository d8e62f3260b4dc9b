import { openSqlite } from "../../adapters/sqlite/mod.ts";
import { createMemoryStore } from "../../core/store/memory.ts";
import { storeContract } from "../contracts/store.contract.ts";
import { makeFolder } from "../sqlite/fixture.ts";

const folder = await makeFolder();

storeContract("memory", async () => {
  const store = createMemoryStore();
  return { store, dispose: () => store.close() };
});

storeContract("SQLite", async () => {
  const path = folder.newPath();
  let sqlite = await openSqlite(path);
  return {
    store: sqlite.store,
    async reopen() {
      await sqlite.close();
      sqlite = await openSqlite(path);
      return sqlite.store;
    },
    dispose: () => sqlite.close(),
  };
});
