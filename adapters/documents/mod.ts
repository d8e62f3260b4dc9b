/**
 * The text of a document, as Markdown: Markdown and plain text, HTML, Word, and PDF with the optional package
 * `@embedpdf/pdfium`.
 *
 * Documents come from others, and a small one may unpack to hundreds of megabytes. So they are read in a thread of its own,
 * with limits of size, memory and time: it ends where one of them is passed, and the process goes on.
 *
 * @module
 */

import process from "node:process";
import { clearTimeout, setTimeout } from "node:timers";
import { isMainThread, Worker, workerData } from "node:worker_threads";
import { FairQueue } from "../../core/base/fair-queue.ts";
import { decodeInParts } from "../../core/base/in-parts.ts";
import { DocumentError, type DocumentText, decodeText, type ReadAnswer, type ReadRequest } from "./text.ts";

export { DocumentError, type DocumentText };

/** Tells this thread from others. */
const threadName = "twin-service documents";

// The thread begins with this module, or with the file that it is bundled into, so that a server stays one file.
if (!isMainThread && workerData === threadName) import("./worker.ts");

/** Names of documents that are read. */
export const readable = /\.(?:md|markdown|mdx|txt|html?|pdf|docx)$/iu;

/** The processor time that reading may take, in milliseconds: real documents take a hundredth of it. */
const shortestMs = 4_000;
const longestMs = 60_000;
const msPerByte = shortestMs / 2 ** 20;
/** The heap of the thread, in MiB. What PDFs take has a limit of its own. */
const heapMiB = 256;
/** How long the thread waits for another document, in milliseconds. */
const idleMs = 2_000;

const tooLarge = "takes too much memory to be read: it unpacks to more than a document may.";
const tooLong = "takes too long to be read: it unpacks to more than a document may.";

/** Options of {@link extractText}. */
export interface ExtractOptions {
  /** The processor time that it may take, in milliseconds, where that is less than its size allows. */
  readonly withinMs?: number | undefined;
  /** Whose document it is: owners take turns. Absent: the operator's. */
  readonly owner?: string | undefined;
}

/**
 * Reads a document whose name ends in one of {@link readable}: the ending decides what it is. Text and Markdown are UTF-8,
 * or UTF-16 with its mark; HTML may name another charset.
 *
 * @throws {DocumentError} if it cannot be read, with the reason: among others more than 2,000 pages, 50 MB when it is
 * unpacked, or too much processor time, which is 4 seconds for each MiB that it begins with.
 */
export async function extractText(
  path: string,
  bytes: Uint8Array,
  { withinMs = longestMs, owner }: ExtractOptions = {},
): Promise<DocumentText> {
  if (/\.(?:md|markdown|mdx|txt)$/iu.test(path)) return { text: await decodeText(bytes) };
  const end = await queue.take(owner);
  const answer = await readApart({ path, bytes }, withinMs).finally(end);
  if ("fault" in answer) throw new DocumentError(answer.fault);
  if ("error" in answer) throw answer.error;
  const { encoded, unread } = answer;
  return { text: await decodeInParts(encoded, new TextDecoder("utf-8", { ignoreBOM: true })), unread };
}

/** Documents are read one after another, so that many take no more memory than one. */
const queue = new FairQueue(1);
/** The thread, while it waits for another document. */
let waiting: Thread | undefined;

interface Thread {
  readonly worker: Worker;
  isReady: boolean;
  /** Takes what it says. */
  tell: (message: "ready" | ReadAnswer) => void;
  /** Ends it when it has waited for long. */
  idle?: NodeJS.Timeout;
}

async function readApart(request: ReadRequest, withinMs: number): Promise<ReadAnswer> {
  const thread = waiting ?? startThread();
  waiting = undefined;
  clearTimeout(thread.idle);
  thread.worker.ref();
  const allowedMs = Math.min(withinMs, longestMs, shortestMs + msPerByte * request.bytes.length);
  let stop = () => {};
  const answer = await new Promise<ReadAnswer>((resolve) => {
    // The time begins when the thread is there: a busy machine takes long to start one.
    const begin = () => {
      thread.isReady = true;
      stop = afterProcessorTime(allowedMs, () => resolve({ fault: tooLong, isLast: true }));
      thread.worker.postMessage(request);
    };
    thread.tell = (message) => (message === "ready" ? begin() : resolve(message));
    if (thread.isReady) begin();
  });
  stop();
  thread.tell = () => {};
  const isLast = "error" in answer || ("fault" in answer && answer.isLast);
  if (isLast || !canKeepThreads) await thread.worker.terminate();
  else keep(thread);
  return answer;
}

/**
 * Calls `late` once the process has had this much processor time, or a minute has gone by: on a busy machine a thread may wait
 * longer than it works. Returns what stops that. Node 20 tells only the time of all threads: beside busy ones, what is left to
 * the document is at least the same time by the clock.
 */
function afterProcessorTime(allowedMs: number, late: () => void): () => void {
  const before = process.cpuUsage();
  const endsAt = performance.now() + longestMs;
  let timer: NodeJS.Timeout;
  const wait = () => {
    const { user, system } = process.cpuUsage(before);
    const leftMs = Math.min(allowedMs - (user + system) / 1_000, endsAt - performance.now());
    if (leftMs <= 0) late();
    else timer = setTimeout(wait, leftMs);
  };
  wait();
  return () => clearTimeout(timer);
}

/** On Deno, a thread that was kept may not go on with its next document. */
const canKeepThreads = !("Deno" in globalThis);

/** Keeps the thread for a while, without keeping the process alive. */
function keep(thread: Thread): void {
  thread.worker.unref();
  thread.idle = setTimeout(() => {
    waiting = undefined;
    thread.worker.terminate();
  }, idleMs);
  thread.idle.unref();
  waiting = thread;
}

function startThread(): Thread {
  const worker = new Worker(entry(), {
    workerData: threadName,
    execArgv: [], // not the process's: its loaders may be named from another folder
    // What a library prints is not for the server's log.
    stdout: true,
    stderr: true,
    resourceLimits: { maxOldGenerationSizeMb: heapMiB },
  });
  const thread: Thread = { worker, isReady: false, tell() {} };
  worker.on("message", (message: "ready" | ReadAnswer) => thread.tell(message));
  worker.on("error", (error) => {
    const isOutOfMemory = "code" in error && error.code === "ERR_WORKER_OUT_OF_MEMORY";
    thread.tell(isOutOfMemory ? { fault: tooLarge, isLast: true } : { error });
  });
  worker.on("exit", () => {
    thread.tell({ fault: tooLarge, isLast: true });
    if (waiting === thread) waiting = undefined;
  });
  return thread;
}

/** What the thread begins with. */
function entry(): URL {
  const own = import.meta.url;
  const isRead =
    !own.endsWith(".ts") || process.features.typescript || "Deno" in globalThis || "Bun" in globalThis;
  if (isRead) return new URL(own);
  // Where Node does not read TypeScript by itself, a thread needs a loader of its own.
  const [loader, module] = [import.meta.resolve("tsx/esm/api"), own].map((url) => JSON.stringify(url));
  const code = `import { register } from ${loader}; register(); await import(${module});`;
  return new URL(`data:text/javascript,${encodeURIComponent(code)}`);
}
