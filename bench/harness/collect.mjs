// Loaded into each server under test by NODE_OPTIONS: collects garbage at SIGUSR2, so that memory in use can be read.

import process from "node:process";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc");
process.on("SIGUSR2", () => collect());
