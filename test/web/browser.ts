/**
 * Real browsers, each with a page that runs what tests ask it to, as a script of that page's origin.
 */

import { spawn, spawnSync } from "node:child_process";
import { EventEmitter, once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { limitedTime, surroundings } from "../support/child-process.ts";
import { listen } from "../support/ports.ts";

/** A browser. */
export interface Browser {
  readonly name: string;
  /** The command that starts it, by the name that this machine has. Undefined: it is not installed. */
  readonly program: string | undefined;
  /** The arguments with which it shows a page, without a window, and with a profile of its own. */
  arguments(profile: string, url: string): readonly string[];
}

const withoutSandbox = process.getuid?.() === 0 ? ["--no-sandbox"] : []; // it needs another user than root

export const browsers: readonly Browser[] = [
  {
    name: "Chromium",
    program: installed("chromium", "google-chrome"),
    arguments: (profile, url) => ["--headless", ...withoutSandbox, `--user-data-dir=${profile}`, url],
  },
  {
    name: "Firefox",
    program: installed("firefox-esr", "firefox"),
    arguments: (profile, url) => ["--headless", "--no-remote", "--profile", profile, url],
  },
];

function installed(...programs: readonly string[]): string | undefined {
  return programs.find((program) => spawnSync(program, ["--version"]).status === 0);
}

/** Why a browser cannot be started here, or false. */
export function skipWithout({ name, program }: Browser): string | false {
  return !program && `there is no ${name} on this machine`;
}

/** A page that a browser shows. */
export interface Page extends AsyncDisposable {
  readonly origin: string;
  /**
   * Runs a function in the page, one at a time, and resolves or rejects as that does. It sees only its arguments, and what
   * earlier functions left in `globalThis`. What passes either way is JSON.
   */
  run<Given extends readonly unknown[], Result>(
    inPage: (...given: Given) => Promise<Result>,
    ...given: Given
  ): Promise<Result>;
}

/** How a function in the page ended. */
interface Outcome {
  readonly value?: unknown;
  readonly error?: string;
}

// Asks for a function, runs it, tells its outcome and asks for the next. tsx has functions call `__name`.
const html = `<!doctype html>
<meta charset="utf-8">
<title>Tests</title>
<link rel="icon" href="data:,">
<script type="module">
  globalThis.__name = (named) => named;
  let outcome = {};
  for (;;) {
    const asked = await fetch("/", { method: "POST", body: JSON.stringify(outcome) });
    const { source, given } = await asked.json();
    outcome = await (0, eval)("(" + source + ")")(...given).then(
      (value) => ({ value }),
      (error) => ({ error: String(error) }),
    );
  }
</script>`;

/** Starts a browser, and resolves once it shows its page. */
export async function openPage({ name, program = "", arguments: argumentsFor }: Browser): Promise<Page> {
  const asked = new EventEmitter<{ asked: [ServerResponse, Outcome] }>();
  const server = createServer(async (request, response) => {
    if (request.method === "POST") asked.emit("asked", response, JSON.parse(await text(request)));
    else response.setHeader("Content-Type", "text/html").end(html);
  });
  const origin = `http://127.0.0.1:${await listen(server)}`;
  const profile = await mkdtemp(join(tmpdir(), "twins-browser-"));
  const child = spawn(program, argumentsFor(profile, `${origin}/`), {
    env: { ...surroundings, HOME: profile },
    stdio: "ignore",
    detached: true, // so that it ends with all its processes
    ...limitedTime,
  });
  const ended = new AbortController();
  child.once("exit", () => ended.abort());

  async function nextAsked(): Promise<[ServerResponse, Outcome]> {
    return (await once(asked, "asked", { signal: ended.signal })) as [ServerResponse, Outcome];
  }

  let [waiting] = await nextAsked();
  return {
    origin,
    async run(inPage, ...given) {
      waiting.end(JSON.stringify({ source: String(inPage), given }));
      const [next, { value, error }] = await nextAsked();
      waiting = next;
      if (error !== undefined) throw new Error(`In ${name}: ${error}`);
      return value as Awaited<ReturnType<typeof inPage>>;
    },
    async [Symbol.asyncDispose]() {
      const exited = ended.signal.aborted || once(child, "exit");
      if (child.pid && !ended.signal.aborted) process.kill(-child.pid, "SIGKILL");
      await exited;
      server.close();
      server.closeAllConnections();
      await rm(profile, { recursive: true, maxRetries: 10 });
    },
  };
}
