/**
 * Run by a test in a process that forbids code generation from strings: prints the outcome of an attempt, of a
 * valid body and of an invalid one.
 */

import { signToken } from "../../core/auth/jwt.ts";
import {
  createEchoEngine,
  createJwtVerifier,
  createMemoryLimiter,
  createMemoryStore,
  createService,
  createTwinList,
} from "../../core/mod.ts";

const secret = "a secret for tests, 32 bytes long or more";
const service = createService({
  store: createMemoryStore(),
  twins: createTwinList([]),
  engines: { echo: createEchoEngine() },
  limiter: createMemoryLimiter(),
  verifyToken: createJwtVerifier({ secret }),
});
const token = await signToken({ secret, sub: "alice", expiresInSeconds: 60 });

async function createKey(body: unknown): Promise<number> {
  const headers = { Authorization: `Bearer ${token}`, "Content-Type": "application/json" };
  const request = { method: "POST", headers, body: JSON.stringify(body) };
  return (await service.fetch(new Request("http://twins.test/api/v1/auth/api-keys", request))).status;
}

console.log(`${attempt()} ${await createKey({ name: "laptop" })} ${await createKey({ name: 1 })}`);
await service.close({ graceMs: 0 });

function attempt(): string {
  try {
    return String(new Function("return 1")());
  } catch (error) {
    return (error as Error).name;
  }
}
