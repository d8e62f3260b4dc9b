import assert from "node:assert/strict";
import { execFile, spawnSync } from "node:child_process";
import { readFile } from "node:fs/promises";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { build } from "esbuild";
import { parse, parseAllDocuments } from "yaml";
import { settings } from "../../server/settings.ts";

function pathOf(name: string): string {
  return fileURLToPath(new URL(`../../deploy/${name}`, import.meta.url));
}

function read(name: string): Promise<string> {
  return readFile(pathOf(name), "utf8");
}

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

  test("the image contains everything that the server imports", async () => {
    const { metafile } = await build({
      entryPoints: [fileURLToPath(new URL("../../server.ts", import.meta.url))],
      absWorkingDir: fileURLToPath(new URL("../..", import.meta.url)),
      bundle: true,
      write: false,
      metafile: true,
      outdir: "dist",
      format: "esm",
      platform: "node",
      packages: "external",
    });
    const sources = [...dockerfile.matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(([, names = ""]) =>
      names.split(" "),
    );
    const copied = new RegExp(`^(${sources.map((name) => name.replaceAll("*", "[^/]*")).join("|")})(/|$)`);
    assert.deepEqual(
      Object.keys(metafile.inputs).filter((path) => !copied.test(path)),
      [],
    );
  });

  test("servers, and the proxy of Compose, get longer to stop than SHUTDOWN_GRACE_MS gives running replies", () => {
    const { terminationGracePeriodSeconds, containers } = deployment.spec.template.spec;
    const [, pause] = containers[0].lifecycle.preStop.exec.command;
    const { "twins-1": twins, nginx } = compose.services;
    const waits = {
      compose: parseInt(twins.stop_grace_period, 10),
      nginx: parseInt(nginx.stop_grace_period, 10),
      kubernetes: terminationGracePeriodSeconds - Number(pause),
      systemd: Number(/^TimeoutStopSec=(\d+)$/m.exec(unit)?.[1]),
    };
    const grace = Number(settings.shutdownGraceMs.fallback) / 1000;
    for (const [name, seconds] of Object.entries(waits)) assert.ok(seconds > grace, `${name}: ${seconds}`);
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
