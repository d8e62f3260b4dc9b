/**
 * Certificates for servers that speak TLS, made by openssl.
 */

import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";

/** A key and a certificate, of which a client may be told that it is an authority's. */
export interface Certificate {
  readonly key: Buffer;
  readonly cert: Buffer;
  readonly file: string;
  readonly keyFile: string;
}

/**
 * Makes a certificate for hosts, such as `DNS:model.test,IP:127.0.0.1`, in a folder of its own below another. Undefined: this
 * machine has no openssl.
 *
 * `authority`: who signs it. Absent: it signs itself, as authorities do. `days`: for how long it holds; -1: it has expired.
 */
export function makeCertificate(
  folder: string,
  hosts: string,
  { authority, days = 2 }: { readonly authority?: Certificate | undefined; readonly days?: number } = {},
): Certificate | undefined {
  const own = mkdtempSync(join(folder, "certificate-"));
  const [keyFile, file] = [join(own, "key.pem"), join(own, "cert.pem")];
  const [asked, extensions] = [join(own, "asked.pem"), join(own, "extensions")];
  writeFileSync(extensions, `basicConstraints=critical,CA:${!authority}\nsubjectAltName=${hosts}\n`);
  const newKey = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", keyFile];
  const signer = authority
    ? ["-CA", authority.file, "-CAkey", authority.keyFile, "-CAcreateserial"]
    : ["-signkey", keyFile];
  try {
    run(["req", "-new", ...newKey, "-subj", `/CN=${basename(own)}`, "-out", asked]);
    run(["x509", "-req", "-in", asked, ...signer, "-extfile", extensions, "-days", `${days}`, "-out", file]);
  } catch {
    return undefined;
  }
  return { key: readFileSync(keyFile), cert: readFileSync(file), file, keyFile };
}

function run(options: readonly string[]): void {
  execFileSync("openssl", options, { stdio: "ignore" });
}
