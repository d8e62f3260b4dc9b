import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";
import { bundle } from "./bundle.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const { exports: entries } = JSON.parse(await readFile(join(root, "deno.json"), "utf8"));
const { name } = JSON.parse(await readFile(join(root, "package.json"), "utf8"));

/** What examples expect their reader to have. */
const given = `
declare const service: import("twin-service").Service;
declare const options: import("twin-service").ServiceOptions;
declare const findOrder: import("twin-service").Tool;
declare module "react" {
  namespace JSX {
    interface IntrinsicElements {}
  }
}
declare module "ai" {
  export function jsonSchema(schema: object): { readonly schema: object };
  export function stepCountIs(count: number): { readonly count: number };
  export function dynamicTool(tool: {
    readonly description: string;
    readonly inputSchema: { readonly schema: object };
    execute(input: unknown, options: { readonly toolCallId: string }): unknown;
  }): object;
  export function streamText(options: {
    readonly model: string | object;
    readonly instructions: string;
    readonly tools: object;
    readonly stopWhen: object;
    readonly messages: readonly { readonly role: "user" | "assistant"; readonly content: string }[];
    readonly abortSignal: AbortSignal;
    readonly onError: () => void;
  }): {
    readonly fullStream: AsyncIterable<
      | { readonly type: "text-delta"; readonly text: string }
      | { readonly type: "error"; readonly error: unknown }
      | { readonly type: "abort" }
    >;
    readonly totalUsage: PromiseLike<Partial<import("twin-service").Usage>>;
    readonly finishReason: PromiseLike<"stop" | "length" | "content-filter" | "tool-calls" | "error" | "other">;
  };
}
declare const model: string;
declare const request: Request;
declare const token: string;
declare const pem: string;
declare const apiKey: string;
declare const key: string;
declare const client: import("twin-service/client").TwinClient;
declare const conversation: { readonly id: string };
declare const conversationId: string;
declare function show(text: string): void;
declare const redisClient: import("twin-service/redis").RedisScriptClient;
declare const router: {
  get(path: string, handle: (request: Request, params: { id: string }) => Promise<Response>): void;
};
declare function openTwins(): Promise<import("twin-service").Service>;
declare function setMessages(change: (shown: readonly object[]) => readonly object[]): void;
declare function endUserOf(cookie: string | undefined): string | undefined;
declare function ownerOf(token: string): Promise<string>;
declare function userOf(
  request: import("twin-service").IncomingRequest,
): Promise<import("twin-service").HostUser | null>;
declare const baseUrl: string;
declare function findOrderOf(
  owner: string | undefined,
  endUser: string | null | undefined,
  number: unknown,
  signal: AbortSignal,
): Promise<object>;
declare function myModel(...about: unknown[]): AsyncIterable<string>;
declare function openMyStore(): Promise<import("twin-service").Store>;
declare function createMyLimiter(): Promise<import("twin-service").RateLimiter>;
`;

describe("examples", () => {
  test("those in doc comments and documents pass the type check", async (t) => {
    const folder = await mkdtemp(join(tmpdir(), "twin-service-examples-"));
    t.after(() => rm(folder, { recursive: true }));
    await symlink(join(root, "node_modules"), join(folder, "node_modules"), "junction"); // on Windows, anyone may create one
    await writeFile(join(folder, "given.d.ts"), given);
    for (const file of await filesWithExamples()) {
      for (const [index, code] of examplesOf(file, await readFile(join(root, file), "utf8")).entries()) {
        const place = `${file.replaceAll(/[/.]/g, "-")}-${index + 1}.mts`;
        await writeFile(join(folder, place), `${code}\nexport {};\n`);
      }
    }
    await writeFile(join(folder, "tsconfig.json"), JSON.stringify(compilerSettings()));
    assert.equal(compile(folder), "");
  });

  test("every function that an entry point exports has one", async () => {
    const documented = new Set<string>();
    for (const file of await filesWithExamples()) {
      for (const [, name = ""] of (await readFile(join(root, file), "utf8")).matchAll(functionWithExample)) {
        documented.add(name);
      }
    }
    const sources = Object.values<string>(entries);
    const modules = await bundle(sources);
    for (const [index, source] of sources.entries()) {
      const { href } = pathToFileURL(modules[index] ?? "");
      for (const [name, value] of Object.entries(await import(href))) {
        const isFunction = typeof value === "function" && !/^class\b/.test(String(value));
        assert.ok(!isFunction || documented.has(name), `${name} of ${source} has no example`);
      }
    }
  });
});

const functionWithExample = /@example(?:(?!\*\/)[\s\S])*\*\/\nexport (?:async )?function (\w+)/g;

async function filesWithExamples(): Promise<string[]> {
  const files = ["README.md"];
  for (const [folder, suffix] of [
    ["docs", ".md"],
    ["core", ".ts"],
    ["adapters", ".ts"],
    ["knowledge", ".ts"],
    ["client", ".ts"],
    ["web", ".ts"],
    ["test", ".ts"],
  ] as const) {
    const names = (await readdir(join(root, folder), { recursive: true })).filter(
      (name) => name.endsWith(suffix) && !name.includes("node_modules"),
    );
    files.push(...names.map((name) => `${folder}/${name}`));
  }
  return files.filter((file) => file !== "test/project/doc-examples.test.ts");
}

/** The fenced blocks of TypeScript in a document, or in a source's doc comments. */
function examplesOf(file: string, text: string): string[] {
  const prose = file.endsWith(".md") ? text : docComments(text);
  const blocks = [...prose.matchAll(/^```(\S*)\n([\s\S]*?)^```$/gm)];
  for (const [, language = ""] of blocks) {
    assert.ok(
      ["ts", "tsx", "js", "py", "go", "sh", "json", "markdown", "nginx", "yaml", "html", ""].includes(
        language,
      ),
      `${file}: ${language}`,
    );
  }
  return blocks.filter(([, language]) => language === "ts").map(([, , code = ""]) => code);
}

function docComments(source: string): string {
  const comments = source.match(/^ *\/\*\*[\s\S]*?\*\//gm) ?? [];
  return comments.map((comment) => comment.replaceAll(/^ *\* ?/gm, "")).join("\n");
}

function compilerSettings(): object {
  const paths = Object.entries<string>(entries).map(([entry, source]) => [
    name + entry.slice(1),
    [join(root, source)],
  ]);
  return {
    extends: join(root, "tsconfig.json"),
    compilerOptions: {
      paths: Object.fromEntries(paths),
      typeRoots: [join(root, "node_modules/@types")],
      noUnusedLocals: false, // what an example makes is for its reader to use
    },
    include: ["*.mts", "given.d.ts"],
    exclude: [],
  };
}

/** The compiler's output. */
function compile(folder: string): string {
  const compiler = join(root, "node_modules/typescript/bin/tsc");
  const { stdout, stderr } = spawnSync(process.execPath, [compiler, "-p", folder], { encoding: "utf8" });
  return stdout + stderr;
}
