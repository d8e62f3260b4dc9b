/**
 * A secret that is generated once and stored in a file.
 *
 * @module
 */

import { randomBytes } from "node:crypto";
import { link, readFile, rm, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { codeOf, makeFolder } from "../adapters/system.ts";

/** Generates a secret: 256 random bits as base64url text. */
export function createSecret(): string {
  return randomBytes(32).toString("base64url");
}

/** The minimum length of a secret in a file, in characters. */
const shortest = 32;

/**
 * The secret in a file. If it does not exist, it is created, readable only by its owner (mode 0600). Processes that do
 * so at the same time get the same secret. Rejects with a one-line error if the file contains none or cannot be
 * created.
 */
export async function readOrCreateSecret(path: string): Promise<string> {
  const known = await readSecret(path);
  if (known !== undefined) return known;
  await createFile(path, createSecret());
  // Read back, as another process may have been first.
  const made = await readSecret(path);
  if (made === undefined) throw new Error(`The secret's file ${path} has vanished.`);
  return made;
}

/** The secret in a file. Undefined if the file does not exist. Rejects with a one-line error if it contains none. */
export async function readSecret(path: string): Promise<string | undefined> {
  const text = await readIfThere(path);
  if (text === undefined) return undefined;
  const secret = text.trim();
  if (secret.length >= shortest) return secret;
  throw new Error(
    `The file ${path} does not hold a secret of at least ${shortest} characters; delete it, and a new one is created.`,
  );
}

async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined;
    const instead = "let this process read it, or set JWT_SECRET";
    const problem = `cannot be read (${codeOf(error) ?? error}): ${instead}`;
    throw new Error(`The secret's file ${path} ${problem}.`, { cause: error });
  }
}

/** Creates a file with its text, or leaves an existing one. */
async function createFile(path: string, text: string): Promise<void> {
  // Written under another name and linked, so that no process reads half a secret.
  const draft = `${path}.${randomBytes(8).toString("hex")}`;
  try {
    await makeFolder(dirname(path));
    await writeNew(draft, text);
    await putUnlessThere(draft, path, text);
  } catch (error) {
    const instead = "let this process write there, or set JWT_SECRET";
    const problem = `cannot be created (${codeOf(error) ?? error}): ${instead}`;
    throw new Error(`The secret's file ${path} ${problem}.`, { cause: error });
  } finally {
    await rm(draft, { force: true });
  }
}

async function putUnlessThere(draft: string, path: string, text: string): Promise<void> {
  try {
    // Some file systems have no hard links, such as exFAT, Android's, and folders shared with a virtual machine.
    await link(draft, path).catch(() => writeNew(path, text));
  } catch (error) {
    if (codeOf(error) !== "EEXIST") throw error;
  }
}

function writeNew(path: string, text: string): Promise<void> {
  return writeFile(path, `${text}\n`, { flag: "wx", mode: 0o600 });
}
