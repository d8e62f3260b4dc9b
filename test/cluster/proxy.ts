/**
 * The reverse proxies of `deploy/`, with their configuration files there, on ports of this machine.
 */

import { type ChildProcess, execFile, spawn, spawnSync } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { promisify } from "node:util";
import { freePort, untilListening } from "../support/ports.ts";

/** A proxy that runs in front of two servers. */
export interface RunningProxy {
  readonly url: string;
  /** Where it speaks TLS and HTTP/2, with a certificate of its own making. */
  readonly secureUrl: string;
  stop(): Promise<void>;
}

/** A kind of proxy. */
export interface ProxyProgram {
  readonly name: string;
  /** Why it cannot be tested here, or false. */
  readonly skip: string | false;
  /** The `Connection` of its answer to a POST over HTTP/1.1: Caddy must close it, or it would cut some streams. */
  readonly connectionAfterPost: "keep-alive" | "close";
  start(servers: readonly [number, number]): Promise<RunningProxy>;
}

function skipWithout(program: string, ...flags: string[]): string | false {
  return spawnSync(program, flags).status === 0 ? false : `there is no ${program} on this machine`;
}

/** A file of `deploy/` adapted to this machine: with the ports of two servers, and any other replacements. */
async function deployed(
  file: string,
  [one, other]: readonly [number, number],
  replaced: Readonly<Record<string, string>>,
): Promise<string> {
  let text = await readFile(new URL(`../../deploy/${file}`, import.meta.url), "utf8");
  const all = { "127.0.0.1:8787": `127.0.0.1:${one}`, "127.0.0.1:8788": `127.0.0.1:${other}`, ...replaced };
  for (const [from, to] of Object.entries(all)) {
    if (!text.includes(from)) throw new Error(`deploy/${file} no longer contains "${from}".`);
    text = text.replaceAll(from, to);
  }
  return text;
}

async function run(
  folder: string,
  [port, securePort]: readonly [number, number],
  program: string,
  flags: readonly string[],
): Promise<RunningProxy> {
  const env = { ...process.env, HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder };
  const stdio = process.env.CLUSTER_LOG ? "inherit" : "ignore";
  const child: ChildProcess = spawn(program, flags, { stdio, env });
  const ended = new Promise((resolve) => child.once("exit", resolve));
  await untilListening(port);
  return {
    url: `http://127.0.0.1:${port}`,
    secureUrl: `https://localhost:${securePort}`,
    async stop() {
      child.kill("SIGTERM");
      await ended;
      await rm(folder, { recursive: true });
    },
  };
}

/** How this nginx is told to listen with TLS and HTTP/2, as its configuration says. */
async function secureListen(): Promise<string> {
  const config = await readFile(new URL("../../deploy/nginx.conf", import.meta.url), "utf8");
  const [older = "", newer = ""] = [...config.matchAll(/^ *# +(listen 443 .+?;) +# /gm)].map(
    ([, line]) => line,
  );
  const { stderr } = spawnSync("nginx", ["-v"], { encoding: "utf8" });
  const [major = 0, minor = 0, patch = 0] = /(\d+)\.(\d+)\.(\d+)/.exec(stderr)?.slice(1).map(Number) ?? [];
  return major * 1e6 + minor * 1e3 + patch >= 1_025_001 ? newer : older;
}

async function makeCertificate(folder: string): Promise<{ readonly cert: string; readonly key: string }> {
  const [cert, key] = [join(folder, "cert.pem"), join(folder, "key.pem")];
  const request = "req -x509 -newkey rsa:2048 -nodes -days 1 -subj /CN=localhost".split(" ");
  await promisify(execFile)("openssl", [...request, "-out", cert, "-keyout", key]);
  return { cert, key };
}

const nginx: ProxyProgram = {
  name: "nginx",
  skip: skipWithout("nginx", "-v") || skipWithout("openssl", "version"),
  connectionAfterPost: "keep-alive",
  async start(servers) {
    const ports = [await freePort(), await freePort()] as const;
    const [port, securePort] = ports;
    const folder = await mkdtemp(join(tmpdir(), "twins-nginx-"));
    const certificate = await makeCertificate(folder);
    const site = await deployed("nginx.conf", servers, {
      "\n    listen 80;": `
        listen 127.0.0.1:${port};
        ${(await secureListen()).replace("443", `127.0.0.1:${securePort}`)}
        ssl_certificate ${certificate.cert};
        ssl_certificate_key ${certificate.key};`,
      "access_log /var/log/nginx/access.log twins;": "",
    });
    const main = `
      daemon off;
      ${process.getuid?.() === 0 ? "user root;" : ""}
      pid ${folder}/pid;
      error_log ${process.env.CLUSTER_LOG ? "stderr" : `${folder}/log`};
      events { worker_connections 1024; }
      http {
        access_log off;
        gzip on; # as is common
        ${["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map((of) => `${of}_temp_path ${folder}/${of};`).join(" ")}
        ${site}
      }`;
    await writeFile(join(folder, "nginx.conf"), main);
    return run(folder, ports, "nginx", ["-p", folder, "-c", join(folder, "nginx.conf"), "-e", "stderr"]);
  },
};

const caddy: ProxyProgram = {
  name: "Caddy",
  skip: skipWithout("caddy", "version"),
  connectionAfterPost: "close",
  async start(servers) {
    const ports = [await freePort(), await freePort()] as const;
    const [port, securePort] = ports;
    const folder = await mkdtemp(join(tmpdir(), "twins-caddy-"));
    const site = await deployed("Caddyfile", servers, {
      "twins.example.com {": `http://127.0.0.1:${port}, https://localhost:${securePort} {\n\ttls internal`,
    });
    const ofThisMachine = "admin off\n\tskip_install_trust\n\tauto_https disable_redirects";
    await writeFile(join(folder, "Caddyfile"), `{\n\t${ofThisMachine}\n}\n${site}`);
    return run(folder, ports, "caddy", [
      "run",
      "--adapter",
      "caddyfile",
      "--config",
      join(folder, "Caddyfile"),
    ]);
  },
};

export const proxies: readonly ProxyProgram[] = [nginx, caddy];
