// Loaded into the server under test: says for how long its thread was held at most since it was last asked.

import { performance } from "node:perf_hooks";
import process from "node:process";
import { setInterval } from "node:timers";

const cpu = () => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
};

let longest = 0;
let before = { at: performance.now(), cpu: cpu() };
setInterval(() => {
  const now = { at: performance.now(), cpu: cpu() };
  // The lesser: other processes may have had the core, and garbage is collected by other threads, too.
  longest = Math.max(longest, Math.min(now.at - before.at, now.cpu - before.cpu));
  before = now;
}, 1).unref();

process.on("message", () => {
  process.send(longest);
  longest = 0;
});
