/**
 * A limiter that admits everything, for tests of something else.
 */

import type { RateLimiter } from "../../core/mod.ts";

const admitted = { allowed: true, debt: 0 };

export const unlimited: RateLimiter = {
  take: async () => admitted,
  takeBoth: async () => [admitted, admitted],
  peek: async () => admitted,
  forget: async () => {},
};
