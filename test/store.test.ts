import { createMemoryStore } from "../core/memory-store.ts";
import { storeContract } from "./store.contract.ts";

storeContract("memory", async () => {
  const store = createMemoryStore();
  return { store, dispose: () => store.close() };
});
