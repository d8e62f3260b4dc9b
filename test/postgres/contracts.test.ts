import { describe } from "node:test";
import { openPostgres } from "../../adapters/postgres/mod.ts";
import { limiterContract } from "../contracts/limiter.contract.ts";
import { storeContract } from "../contracts/store.contract.ts";
import { sharedDatabase, skipWithoutPostgres } from "./database.ts";

const skip = await skipWithoutPostgres();

describe("PostgreSQL", { skip }, () => {
  const shared = sharedDatabase();

  storeContract("PostgreSQL", async () => {
    let database = await openPostgres(shared.url);
    return {
      store: database.store,
      async reopen() {
        await database.close();
        database = await openPostgres(shared.url);
        return database.store;
      },
      dispose: () => database.close(),
    };
  });

  limiterContract("PostgreSQL", async () => {
    let databases = await Promise.all([openPostgres(shared.url), openPostgres(shared.url)]);
    const [first, second] = databases;
    return {
      limiter: first.limiter,
      other: second.limiter,
      async reopen() {
        await Promise.all(databases.map((database) => database.close()));
        databases = await Promise.all([openPostgres(shared.url), openPostgres(shared.url)]);
        return databases[0].limiter;
      },
      async dispose() {
        await Promise.all(databases.map((database) => database.close()));
      },
    };
  });
});
