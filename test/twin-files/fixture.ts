import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { TestContext } from "node:test";
import { openTwinFiles, type TwinFiles, type TwinFilesOptions } from "../../adapters/twin-files/mod.ts";
import type { LogLevel } from "../../core/base/log.ts";
import { createManualClock } from "../support/clock.ts";

interface Entry {
  readonly level: LogLevel;
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

/** Collects log entries, and resolves promises for the next of a level. */
export function createRecorder() {
  const entries: Entry[] = [];
  const waiting: { level: LogLevel; resolve: (entry: Entry) => void }[] = [];
  return {
    entries,
    log(level: LogLevel, message: string, fields: Readonly<Record<string, unknown>> = {}) {
      const entry = { level, message, fields };
      entries.push(entry);
      const at = waiting.findIndex((wait) => wait.level === level);
      if (at !== -1) waiting.splice(at, 1)[0]?.resolve(entry);
    },
    next: (level: LogLevel) => new Promise<Entry>((resolve) => waiting.push({ level, resolve })),
    of: (level: LogLevel) => entries.filter((entry) => entry.level === level).map((entry) => entry.message),
  };
}

/** A new folder with these files, some of them in folders of their own. */
export async function createFolder(
  t: TestContext,
  files: Readonly<Record<string, string | Uint8Array>>,
): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "twin-files-"));
  t.after(() => rm(folder, { recursive: true }));
  await write(folder, files);
  return folder;
}

/** Writes files, below folders that are made where there are none. */
export async function write(
  folder: string,
  files: Readonly<Record<string, string | Uint8Array>>,
): Promise<void> {
  for (const [file, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, file)), { recursive: true });
    await writeFile(join(folder, file), text);
  }
}

/** Opens a folder that is reloaded only when a test says so, unless its options include a clock. */
export async function open(
  t: TestContext,
  folder: string,
  options: Partial<TwinFilesOptions> = {},
): Promise<TwinFiles> {
  const files = await openTwinFiles(folder, {
    defaultEngine: "knowledge",
    clock: createManualClock(),
    ...options,
  });
  t.after(() => files.close());
  return files;
}

/** A new folder with these files, opened, with what it logs. */
export async function openFolder(
  t: TestContext,
  files: Readonly<Record<string, string>>,
  options: Partial<TwinFilesOptions> = {},
) {
  const folder = await createFolder(t, files);
  const recorder = createRecorder();
  const twins = await open(t, folder, { log: recorder.log, ...options });
  return {
    folder,
    recorder,
    twins,
    /** Writes these files, and has the folder read again. */
    async change(changed: Readonly<Record<string, string>>): Promise<void> {
      await write(folder, changed);
      await twins.reload();
    },
    idsFor: (owner: string) => idsFor(twins, owner),
    nameOf: async (owner: string, id: string) => (await twins.get(owner, id))?.name,
  };
}

export async function idsFor(files: TwinFiles, owner: string): Promise<string[]> {
  const { items } = await files.list(owner, { offset: 0, limit: 100 });
  return items.map((twin) => twin.id);
}
