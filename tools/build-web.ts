/**
 * Builds what the server serves: each page as one document with its style and script inside, and the widget as one
 * script. Each is a module in `web/built/`. These are committed, so that a server runs from a checkout without building anything.
 *
 * Run as `npm run build:web`.
 */

import { createHash } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { build, type Plugin, transform } from "esbuild";
import { minify } from "terser";
import { style } from "../web/widget/style.ts";

/** The pages, by the names of their folders. */
export const pages = { playground: "Twins: playground", reference: "Twins: API reference" } as const;

const targets = ["chrome123", "firefox120", "safari17.5"];

type PageName = keyof typeof pages;

function pathOf(name: string): string {
  return fileURLToPath(new URL(`../web/${name}`, import.meta.url));
}

/** Where the module of a page, or of the widget, is. */
export function builtPath(name: PageName | "widget"): string {
  return pathOf(`built/${name}.ts`);
}

/** The text of a page's module. */
export async function buildPage(name: PageName): Promise<string> {
  const script = await bundle(`${name}/main.ts`);
  const style = (await bundle("shared/base.css")) + (await bundle(`${name}/page.css`));
  const body = await readFile(pathOf(`${name}/page.html`), "utf8");
  const icon =
    "data:image/svg+xml,%3Csvg%20xmlns='http://www.w3.org/2000/svg'%20viewBox='0%200%2024%2024'%20fill='%23178a84'%3E%3Cpath%20d='M8.5%203a5.5%205.5%200%200%200-2.9%2010.2A7.7%207.7%200%200%200%201%2020a1%201%200%200%200%201%201h9.1a9.4%209.4%200%200%201%203.2-6.9A5.5%205.5%200%200%200%208.5%203Z'%20opacity='.6'/%3E%3Cpath%20d='M17%209.5a4%204%200%200%200-2%207.5%206%206%200%200%200-2.6%203%20.8.8%200%200%200%20.8%201h8.2a.8.8%200%200%200%20.8-1A6%206%200%200%200%2019%2017a4%204%200%200%200-2-7.5Z'/%3E%3C/svg%3E";
  const html = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${pages[name]}</title>
<link rel="icon" href="${icon}">
<style>${style}</style>
</head>
<body>
${body}<script type="module">${script}</script>
</body>
</html>
`;
  const headers = {
    "Content-Type": "text/html; charset=utf-8",
    "Content-Security-Policy": policyFor(style, script),
    "Referrer-Policy": "no-referrer",
  };
  return `${madeOf(name)}\nexport const ${name} = ${JSON.stringify({ content: html, headers })};\n`;
}

/**
 * The text of the widget's module, which is an entry of the package: the script with everything that it needs, as hosts
 * serve it.
 */
export async function buildWidget(): Promise<string> {
  const texts = await minified("widget/languages.ts");
  const textsPath = `/widget-texts-${digestOf(texts)}.js`;
  const content = await minified("widget/mod.ts", [smallClient, loadedFrom("languages.ts", `.${textsPath}`)]);
  const headersFor = (content: string, cacheControl: string) => {
    const type = { "Content-Type": "text/javascript; charset=utf-8", "Cache-Control": cacheControl };
    // Pages of others load it, also those that take nothing else from other origins.
    return JSON.stringify({
      ...type,
      "Cross-Origin-Resource-Policy": "cross-origin",
      ETag: `"${digestOf(content)}"`,
    });
  };
  const forEver = "public, max-age=31536000, immutable";
  return `${madeOf("widget")}
const content = ${JSON.stringify(content)};

/** A path of the widget's script that changes with it: it may be kept for ever. */
export const widgetPath = "/widget-${digestOf(content)}.js";

/**
 * What serves the script, for the option \`pages\` of \`createService\`: at \`/widget.js\`, where browsers ask after five minutes
 * whether it has changed, and at {@link widgetPath}; and beside it its texts in other languages than English, which it loads
 * for pages that need them.
 */
export const widgetPages = {
  "/widget.js": { content, headers: ${headersFor(content, "public, max-age=300")} },
  [widgetPath]: { content, headers: ${headersFor(content, forEver)} },
  "${textsPath}": { content: ${JSON.stringify(texts)}, headers: ${headersFor(texts, forEver)} },
};
`;
}

/** A script for other people's pages: a second minifier takes off another fortieth. */
async function minified(entry: string, plugins: Plugin[] = []): Promise<string> {
  const options = { module: true, ecma: 2022, compress: { passes: 3, hoist_funs: true } } as const;
  return (await minify(await bundle(entry, plugins), options)).code ?? "";
}

function digestOf(content: string): string {
  return createHash("sha256").update(content).digest("hex").slice(0, 16);
}

function madeOf(name: string): string {
  return `// Made by tools/build-web.ts of web/${name}/. Do not edit.`;
}

/** What the page may do: run its own script, ask its own server, and nothing else. */
function policyFor(style: string, script: string): string {
  return [
    "default-src 'none'",
    `script-src '${hashOf(script)}'`,
    `style-src '${hashOf(style)}'`,
    "connect-src 'self'",
    "img-src data:",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join("; ");
}

function hashOf(text: string): string {
  return `sha256-${createHash("sha256").update(text).digest("base64")}`;
}

/** The widget's style is a text, which nothing makes small by itself. */
const smallStyle: Plugin = {
  name: "small style",
  setup({ onLoad }) {
    onLoad({ filter: /widget[\\/]style\.ts$/ }, async () => {
      const { code } = await transform(style, { loader: "css", minify: true, target: targets });
      return { contents: `export const style = ${JSON.stringify(code)};` };
    });
  },
};

/**
 * Parts of the client that the widget never uses, by their files: it has one user, sets no limits, shows neither progress nor
 * who waits, and every browser that it runs in streams bodies.
 */
const unused: Readonly<Record<string, RegExp>> = {
  client: /^ +(this\.(keys|clientTokens|endUsers|memories|usage|questions) = |requireLimits\().*$/gm,
  conversation: /^ +if \(!requests\.streamsBodies\)\n.*$/gm,
  following: /^ +else yield\* \(await import.*$/gm,
  messages: methods("send|say"),
  resources: methods("list|delete"),
  errors: methods("get messageId"),
  review: methods("list"),
  "reply-stream": methods("get (?:messageId|joined|text)|cancel|#accepted|\\*#pieces"),
  "open-conversation": methods("get (?:progress|waitingSince)"),
  state: /^ +else if .*setWaiting\(.*$/gm,
  sending: /^ +setWaiting\(.*$/gm,
  pages: methods("\\*\\[Symbol\\.asyncIterator\\]"),
};

/** Methods of classes, by their names, as they are formatted. */
function methods(names: string): RegExp {
  return new RegExp(`^  (?:async )?(?:${names})\\([^]*?^  \\}\\n`, "gm");
}

/** The client as the widget has it: without those, and with conversations from the start. */
const smallClient: Plugin = {
  name: "small client",
  setup({ onLoad, onEnd }) {
    const late = 'const { OpenConversation } = await import("./conversation/mod.ts");';
    const soon = 'import { OpenConversation } from "./conversation/mod.ts";';
    const left = new Set(Object.keys(unused));
    for (const [name, parts] of Object.entries(unused)) {
      const filter = new RegExp(`client[\\\\/]((reply|http|conversation)[\\\\/])?${name}\\.ts$`);
      onLoad({ filter }, async ({ path }) => {
        const whole = await readFile(path, "utf8");
        const code = whole.replace(parts, "");
        if (code !== whole) left.delete(name);
        if (!code.includes(late)) return { contents: code, loader: "ts" };
        const early = code.replace(late, "").replace("type { OpenConversation, ", "type { ");
        return { contents: soon + early, loader: "ts" };
      });
    }
    onEnd(() => {
      if (left.size > 0)
        throw new Error(`What the widget never uses is not found in: ${[...left].join(", ")}`);
    });
  },
};

/** A module that is no part of a script, which loads it from an address of its own. */
function loadedFrom(module: string, path: string): Plugin {
  return {
    name: "loaded from elsewhere",
    setup({ onResolve }) {
      onResolve({ filter: /./ }, (asked) =>
        asked.path.endsWith(module) ? { path, external: true } : undefined,
      );
    },
  };
}

async function bundle(entry: string, plugins: Plugin[] = []): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [pathOf(entry)],
    absWorkingDir: pathOf(".."),
    bundle: true,
    write: false,
    minify: true,
    format: "esm",
    target: targets,
    charset: "utf8",
    legalComments: "inline",
    plugins: [smallStyle, ...plugins],
  });
  return (outputFiles[0]?.text ?? "").replaceAll("</script", "<\\/script");
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  for (const name of Object.keys(pages) as PageName[])
    await writeFile(builtPath(name), await buildPage(name));
  await writeFile(builtPath("widget"), await buildWidget());
}
