/**
 * What `npm start` loads before the sources: the package that lets every Node run TypeScript, or else a line that says
 * what is missing.
 */

import process from "node:process";

await import("tsx").catch((error) => {
  if (error.code !== "ERR_MODULE_NOT_FOUND") throw error;
  process.stderr.write("twin-service: the packages are not installed: run npm ci, then npm start again.\n");
  process.exit(1);
});
