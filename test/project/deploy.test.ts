import assert from "node:assert/strict";
import { execFile, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { build } from "esbuild";
import { parse, parseAllDocuments } from "yaml";
import { mostDocumentBytes } from "../../core/twins/own-twins.ts";
import packageInfo from "../../package.json" with { type: "json" };
import { settings } from "../../server/settings.ts";
import { freePort, untilListening } from "../support/ports.ts";

function pathOf(name: string): string {
  return fileURLToPath(new URL(`../../deploy/${name}`, import.meta.url));
}

function read(name: string): Promise<string> {
  return readFile(pathOf(name), "utf8");
}

const skipWithoutNginx = spawnSync("nginx", ["-v"]).error !== undefined && "needs nginx";

const root = fileURLToPath(new URL("../..", import.meta.url));
/** What the server consists of. */
const { metafile } = await build({
  entryPoints: [join(root, "server.ts")],
  absWorkingDir: root,
  bundle: true,
  write: false,
  metafile: true,
  outdir: "dist",
  format: "esm",
  platform: "node",
  packages: "external",
});
const dockerfile = await read("Dockerfile");
const compose = parse(await read("compose.yaml"), { merge: true });
const [deployment] = parseAllDocuments(await read("kubernetes.yaml")).map((document) => document.toJS());
const unit = await read("twin-service.service");

describe("the files of deploy/", () => {
  test("promtool takes the alerts, and they fire when they should and not before", {
    skip: spawnSync("promtool", ["--version"]).error !== undefined && "needs promtool",
  }, async () => {
    await promisify(execFile)("promtool", ["check", "rules", pathOf("alerts.yaml")]);
    await promisify(execFile)("promtool", ["test", "rules", pathOf("alerts.test.yaml")]);
  });

  test("the image contains everything that the server imports", () => {
    const sources = [...dockerfile.matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(([, names = ""]) =>
      names.split(" "),
    );
    const copied = new RegExp(`^(${sources.map((name) => name.replaceAll("*", "[^/]*")).join("|")})(/|$)`);
    assert.deepEqual(
      Object.keys(metafile.inputs).filter((path) => !copied.test(path)),
      [],
    );
  });

  test("the image contains each optional package that the server can load, in the version that is tested", () => {
    const script = /optional=\$\(node -p "(.+)"\)/.exec(dockerfile)?.[1] ?? "";
    const installed = spawnSync(process.execPath, ["-p", script], { cwd: root, encoding: "utf8" }).stdout;
    const external = Object.values(metafile.inputs).flatMap(({ imports }) => imports);
    const loaded = Object.keys(packageInfo.peerDependenciesMeta).filter((name) =>
      external.some(({ path }) => path === name || path.startsWith(`${name}/`)),
    );
    const versions: Readonly<Record<string, string>> = packageInfo.devDependencies;
    assert.deepEqual(
      installed.trim().split(" ").sort(),
      loaded
        .filter((name) => name !== "libsql") // for Node before 22.13, which the image does not have
        .map((name) => `${name}@${versions[name]}`)
        .sort(),
    );
    assert.ok(Number(/^ARG NODE_IMAGE=node:(\d+)/m.exec(dockerfile)?.[1]) >= 24);
  });

  test("servers, and the proxy of Compose, get longer to stop than SHUTDOWN_GRACE_MS gives running replies", () => {
    const { terminationGracePeriodSeconds, containers } = deployment.spec.template.spec;
    const delay = containers[0].env.find(({ name }: { name: string }) => name === "SHUTDOWN_DELAY_MS").value;
    const { "twins-1": twins, nginx } = compose.services;
    const waits = {
      compose: parseInt(twins.stop_grace_period, 10),
      nginx: parseInt(nginx.stop_grace_period, 10),
      kubernetes: terminationGracePeriodSeconds - Number(delay) / 1000,
      systemd:
        Number(/^TimeoutStopSec=(\d+)$/m.exec(unit)?.[1]) -
        Number(/ SHUTDOWN_DELAY_MS=(\d+)$/m.exec(unit)?.[1]) / 1000,
    };
    const grace = Number(settings.shutdownGraceMs.fallback) / 1000;
    for (const [name, seconds] of Object.entries(waits)) assert.ok(seconds > grace, `${name}: ${seconds}`);
  });

  test("what nginx refuses itself is JSON, floods included, and its log has no end user", {
    skip: (process.getuid?.() !== 0 && "nginx writes its log as root") || skipWithoutNginx,
  }, async () => {
    const folder = await mkdtemp(join(tmpdir(), "twins-nginx-"));
    const port = await freePort();
    const site = (await read("nginx.conf"))
      .replace("listen 80;", `listen 127.0.0.1:${port};`)
      .replace("/var/log/nginx/access.log", `${folder}/log`)
      .replaceAll(/server 127\.0\.0\.1:878\d/g, "server 127.0.0.1:1");
    const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(
      (of) => `${of}_temp_path ${folder}/${of};`,
    );
    const main = `daemon off; user root; pid ${folder}/pid; error_log /dev/null;
      events { worker_connections 2048; } http { ${temporary.join(" ")} ${site} }`;
    await writeFile(join(folder, "nginx.conf"), main);
    const nginx = spawn("nginx", ["-p", folder, "-c", join(folder, "nginx.conf"), "-e", "/dev/null"], {
      stdio: "ignore",
    });
    await using _ = {
      async [Symbol.asyncDispose]() {
        const ended = once(nginx, "exit");
        nginx.kill();
        await ended;
        await rm(folder, { recursive: true });
      },
    };
    await untilListening(port);
    const url = `http://127.0.0.1:${port}`;
    const told = async (response: Response) => [response.status, (await response.json()).error.code];
    const person = `${url}/api/v1/end-users/bob@example.com/export?endUser=bob`;
    assert.deepEqual(await told(await fetch(person)), [503, "unavailable"]);
    const document = { method: "PUT", body: "x".repeat(mostDocumentBytes) };
    assert.deepEqual(await told(await fetch(url, document)), [503, "unavailable"]); // it would be taken
    const more = { method: "PUT", body: `${document.body}x` };
    assert.deepEqual(await told(await fetch(url, more)), [413, "payload_too_large"]);
    assert.deepEqual(await told(await fetch(`${url}/${"x".repeat(40_000)}`)), [414, "uri_too_long"]);
    const flood = await Promise.all(Array.from({ length: 800 }, () => fetch(url)));
    const [refused] = flood.filter(({ status }) => status === 429);
    assert.ok(refused);
    assert.match(refused.headers.get("retry-after") ?? "", /^\d+$/);
    assert.deepEqual(await told(refused), [429, "rate_limited"]);
    for (const response of flood) if (!response.bodyUsed) await response.body?.cancel();
    const log = await readFile(join(folder, "log"), "utf8");
    assert.match(log, / GET \/api\/v1\/end-users\/-\/export 503 /);
    assert.doesNotMatch(log, /bob/);
  });

  test("Compose's nginx forwards to its services instead of this machine's ports", {
    skip: process.platform === "win32" && "Windows has no sh and no sed",
  }, async () => {
    const { services } = compose;
    const command = /^sh -c "(sed .+) \/twins\.conf > /.exec(services.nginx.command)?.[1];
    const { stdout } = await promisify(execFile)("sh", ["-c", `${command} "$0"`, pathOf("nginx.conf")]);
    const names = Object.keys(services).filter((name) => services[name].build);
    const servers = [...stdout.matchAll(/^ +server (\S+ \S+) .*;$/gm)].map(([, server]) => server);
    assert.deepEqual(
      servers,
      names.map((name) => `${name}:8787 resolve`),
    );
    assert.match(stdout, /^ +zone .+;[^}]*^ +resolver .+; least_conn;/m);
    assert.match(stdout, /^ +proxy_connect_timeout 200ms;$/m);
  });
});
