/**
 * The reference server's JWTs: how they are verified, and how it signs one itself.
 *
 * @module
 */

import { existsSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import process from "node:process";
import { urlOf } from "../adapters/servers/running-server.ts";
import { createJwtVerifier, signToken, type VerifyToken } from "../core/auth/jwt.ts";
import { readPublicKey } from "../core/auth/public-key.ts";
import type { Log } from "../core/base/log.ts";
import { programWords, quoteForShell } from "./process.ts";
import { createSecret, readOrCreateSecret, readSecret } from "./secret-file.ts";
import { ConfigError, type DatabaseChoice, nameOf, type Settings } from "./settings.ts";

/** How JWTs are verified. */
export interface Tokens {
  readonly verifyToken: VerifyToken;
  /** The secret that this process can also sign JWTs with. Undefined: they are signed with a private key elsewhere. */
  readonly secret: string | undefined;
}

/** Creates the verifier that the settings choose. Rejects with a one-line error if they cannot be used. */
export async function openTokens(settings: Settings, log: Log): Promise<Tokens> {
  const { jwtJwksUrl, jwtPublicKey } = settings;
  if (tokenSource(settings) !== "secret" && settings.jwtAudience === undefined) {
    const source = jwtJwksUrl === undefined ? "JWT_PUBLIC_KEY" : "JWT_JWKS_URL";
    const reason = "or JWTs issued for other services would make keys here";
    throw new ConfigError(
      `${nameOf("jwtAudience")} is required with ${source}, ${reason}: the \`aud\` of this service, or "any".`,
    );
  }
  const common = { ...claimsOf(settings), log };
  if (jwtJwksUrl !== undefined) {
    return { secret: undefined, verifyToken: createJwtVerifier({ jwksUrl: jwtJwksUrl, ...common }) };
  }
  if (jwtPublicKey !== undefined) {
    const publicKey = await readPublicKey(jwtPublicKey).catch((cause: Error) => {
      throw new ConfigError(`${nameOf("jwtPublicKey")} cannot be used: ${cause.message}.`, { cause });
    });
    return { secret: undefined, verifyToken: createJwtVerifier({ publicKey, ...common }) };
  }
  const { jwtSecret, database } = settings;
  const made = () => (database.kind === "memory" ? createSecret() : readOrCreateSecret(secretPath(database)));
  const secret = jwtSecret ?? (await made());
  return { secret, verifyToken: createJwtVerifier({ secret, ...common }) };
}

/** What JWTs are verified with, for the log. */
export function tokenSource({ jwtJwksUrl, jwtPublicKey }: Settings): "jwks" | "public key" | "secret" {
  if (jwtJwksUrl !== undefined) return "jwks";
  return jwtPublicKey === undefined ? "secret" : "public key";
}

/** Says how to sign in where no terminal shows it, and warns of settings for JWTs that are easily overlooked. */
export function logTokens(settings: Settings, log: Log): void {
  const { jwtSecret, database } = settings;
  if (tokenSource(settings) === "secret" && jwtSecret === undefined && database.kind === "memory") {
    log(
      "info",
      "JWTs are verified with a secret that is lost when this process ends; set JWT_SECRET to keep one",
    );
  } else if (tokenSource(settings) === "secret" && !process.stderr.isTTY) {
    const command = tokenCommand(settings, "<owner>");
    log(
      "info",
      "to sign in, run this command here (in a container: by its exec), and make a key with its token",
      {
        command,
      },
    );
  }
  if (tokenSource(settings) !== "secret" && settings.jwtAudience === "any") {
    log("warn", "JWTs issued for other services are accepted, too, because JWT_AUDIENCE is any");
  }
}

/** The command, for a shell in this process's folder, that prints a token which this server accepts. */
export function tokenCommand({ database }: Settings, sub: string): string {
  const place = database.kind === "sqlite" ? ["--database", `sqlite:${database.path}`] : [];
  return [...programWords(), "token", "--sub", sub, ...place].map(quoteForShell).join(" ");
}

/** The content of a JWT. */
export interface TokenRequest {
  readonly sub: string;
  readonly expiresInSeconds: number;
  /** The greatest limit of its own that the token's holder may give a key. */
  readonly requestsPerHour?: number | undefined;
  /** The owner's budget, in tokens of models a day of UTC. Default: the server's. */
  readonly tokensPerDay?: number | undefined;
}

/** Signs a JWT with a secret of a server with these settings. */
export function signFor(settings: Settings, secret: string, request: TokenRequest): Promise<string> {
  return signToken({ ...claimsOf(settings), secret, ...request });
}

/** Signs a JWT that a server with these settings accepts. Rejects with a one-line error if it cannot. */
export async function makeToken(settings: Settings, request: TokenRequest): Promise<string> {
  return signFor(settings, await signingSecret(settings), request);
}

async function signingSecret(settings: Settings): Promise<string> {
  const { jwtSecret, database } = settings;
  if (jwtSecret !== undefined) return jwtSecret;
  if (tokenSource(settings) !== "secret") {
    throw new ConfigError(
      "A token needs a secret to sign with: these settings have a public key, so sign with its private key.",
    );
  }
  if (database.kind === "memory") {
    throw new ConfigError(
      "A token needs JWT_SECRET: with DATABASE_URL=memory:, a server makes a secret and does not store it.",
    );
  }
  const known = await readSecret(secretPath(database));
  if (known !== undefined) return known;
  // A server that had to make its secret has stored it beside the database, before the database was used.
  if (database.kind === "postgres" || existsSync(database.path)) {
    throw foreignSecret("the server of this database");
  }
  throw noDatabase(database.path, "whose server could verify a token");
}

/**
 * Makes the secret of a server that is started later, if there is no database yet. `address`: where that server will
 * be; rejects with a one-line error if another one is there.
 */
export async function makeSecret(settings: Settings, address?: string): Promise<void> {
  const { jwtSecret, database } = settings;
  if (jwtSecret !== undefined || tokenSource(settings) !== "secret") return;
  if (database.kind !== "sqlite" || existsSync(database.path)) return;
  // A server that runs already has a secret, so a new one would be another.
  const stranger = await signFor(settings, createSecret(), { sub: "stranger", expiresInSeconds: 60 });
  if (address !== undefined && (await isRefused(address, stranger)))
    throw foreignSecret(`the server at ${address}`);
  await readOrCreateSecret(secretPath(database));
}

/** The error for a path where no server has made its database: most likely, it is the wrong one. */
export function noDatabase(path: string, wanted: string): ConfigError {
  const instead = `name the server's by ${nameOf("database")}, or add --new to begin one there`;
  return new ConfigError(`There is no database at ${resolve(path)} ${wanted}: ${instead}.`);
}

/** Refuses to look for something in a database that is not there. `what`: such as "that has keys". */
export function requireDatabase({ database }: Settings, what: string): void {
  if (database.kind !== "sqlite" || existsSync(database.path)) return;
  const instead = `name the server's by ${nameOf("database")}, or a running server by --url`;
  throw new ConfigError(`There is no database at ${resolve(database.path)} ${what}: ${instead}.`);
}

/** The error for a secret that a server does not have. */
export function foreignSecret(server: string): ConfigError {
  return new ConfigError(
    `${server} has another secret, and would refuse a JWT that is signed here: set JWT_SECRET to the same text for both.`,
  );
}

/** How long a server may take to say whether it accepts a token, in milliseconds. */
const probeMs = 5_000;

/** Whether a server listens at an address, and refuses a token. */
export async function isRefused(address: string, token: string): Promise<boolean> {
  try {
    const response = await fetch(`${address}/api/v1/auth/api-keys?limit=1`, {
      headers: { Authorization: `Bearer ${token}` },
      signal: AbortSignal.timeout(probeMs),
    });
    const { error } = (await response.json()) as { readonly error?: { readonly code?: unknown } };
    return response.status === 401 && error?.code === "invalid_token";
  } catch {
    return false; // no server listens there, or it is none of this project
  }
}

/** Where a server with these settings listens, if it is on this machine. */
export function addressOf({ host, port, basePath }: Settings): string {
  return urlOf(host, port) + basePath;
}

/** Next to the SQLite file; in `./data` for any other database. */
function secretPath(database: Exclude<DatabaseChoice, { kind: "memory" }>): string {
  return join(database.kind === "sqlite" ? dirname(database.path) : "./data", "jwt-secret");
}

function claimsOf({ jwtIssuer: issuer, jwtAudience, jwtRequire: requiredClaim }: Settings) {
  return { issuer, audience: jwtAudience === "any" ? undefined : jwtAudience, requiredClaim };
}
