/**
 * The test suites that every store and every limiter must pass, for authors of new ones: `twin-service/testing`. They
 * run under `node:test` and need `fast-check`.
 *
 * @module
 */

export { createManualClock, type ManualClock } from "../support/clock.ts";
export { limiterContract, type OpenLimiter } from "./limiter.contract.ts";
export { type OpenStore, storeContract } from "./store.contract.ts";
