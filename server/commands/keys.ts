/**
 * Lists, rotates and revokes an owner's API keys.
 *
 * @module
 */

import { existsSync } from "node:fs";
import process from "node:process";
import { NotFoundError, type TwinClient } from "../../client/mod.ts";
import { apiKeys, prefixLength } from "../../core/auth/secrets.ts";
import { sha256 } from "../../core/base/ids.ts";
import type { Log } from "../../core/base/log.ts";
import { visibleLine } from "../../core/base/visible.ts";
import type { CommandConfig } from "../command-line.ts";
import { openQuietLog } from "../log.ts";
import { ConfigError, type Settings } from "../settings.ts";
import { openStorage } from "../storage.ts";
import { noDatabase, requireDatabase } from "../tokens.ts";
import { connectToKeys, whileOpen } from "./client.ts";
import { quote } from "./mod.ts";

/** A line for each key, the newest first. */
export async function listKeys({ keys }: TwinClient): Promise<string[]> {
  const lines: string[] = [];
  for await (const key of keys.list()) {
    const { id, prefix, scope, name, requestsPerHour, expiresAt, revokedAt, lastUsedAt } = key;
    const limit = requestsPerHour === null ? [] : [`${requestsPerHour} an hour`];
    const end = revokedAt ? `revoked ${revokedAt}` : expiresAt ? `until ${expiresAt}` : "without end";
    lines.push(
      visibleLine(
        [id, prefix, scope, ...limit, end, `used ${lastUsedAt ?? "never"}`, JSON.stringify(name)].join("  "),
      ),
    );
  }
  return lines;
}

/** Gives a key another secret. Returns it, and until when the one before works as well. */
export async function rotateKey(
  { keys }: TwinClient,
  { sub, id, overlapSeconds }: OwnerRequest & { readonly id: string; readonly overlapSeconds: number },
): Promise<{ readonly key: string; readonly previousUntil: string | null }> {
  try {
    return await keys.rotate(id, { overlapSeconds });
  } catch (error) {
    if (error instanceof NotFoundError) throw noSuchKey({ sub, id });
    throw error;
  }
}

/** Whose keys. Undefined: those of whoever has the keys that are meant. */
interface OwnerRequest {
  readonly sub?: string | undefined;
}

/** Which keys to revoke. */
interface RevokeRequest {
  readonly id?: string | undefined;
  /** What the key begins with, such as `twin_8aG3k0x`. */
  readonly prefix?: string | undefined;
}

/**
 * Whose keys are meant, in the database: an operator who finds a key somewhere does not know its owner. A whole secret is
 * found also if it is the one before a rotation.
 */
export async function findMeant(
  settings: Settings,
  { sub, id, prefix = "" }: OwnerRequest & RevokeRequest,
  log: Log,
): Promise<{ readonly owners: readonly string[]; readonly id?: string }> {
  const isWhole = apiKeys.isWellFormed(prefix);
  if (sub !== undefined && !isWhole) return { owners: [sub] };
  const opening = openStorage(settings, { log, signal: new AbortController().signal });
  return whileOpen(opening, async ({ store }) => {
    const key = isWhole ? await store.findKey(sha256(prefix)) : undefined;
    if (key && (sub ?? key.owner) === key.owner) return { owners: [key.owner], id: key.id };
    if (sub !== undefined) return { owners: [sub] };
    const found = await store.findKeys(id === undefined ? { prefix: prefix.slice(0, prefixLength) } : { id });
    if (found.length === 0) throw noSuchKey({ sub, id, prefix });
    return { owners: [...new Set(found.map(({ owner }) => owner))] };
  });
}

function noSuchKey({ sub, id, prefix }: OwnerRequest & RevokeRequest): ConfigError {
  const meant = [
    ...(sub === undefined ? [] : [`of ${quote(sub)}`]),
    ...(id === undefined ? [] : [`with the id ${quote(id)}`]),
    ...(prefix ? [`that begins with ${quote(prefix.slice(0, prefixLength))}`] : []), // what follows may be the secret
  ];
  return new ConfigError(`There is no such key that is not revoked yet: one ${meant.join(", ")}.`);
}

/** Revokes the keys that are meant and not revoked yet, and returns a line for each. */
export async function revokeKeys(
  { keys }: TwinClient,
  { sub, id, prefix }: OwnerRequest & RevokeRequest,
): Promise<string[]> {
  const revoked: string[] = [];
  for await (const key of keys.list({ limit: 100 })) {
    const isMeant =
      (id ?? key.id) === key.id &&
      (prefix === undefined || prefix.startsWith(key.prefix) || key.prefix.startsWith(prefix));
    if (!isMeant || key.revokedAt) continue;
    await keys.revoke(key.id);
    revoked.push(`revoked ${key.id}  ${key.prefix}`);
  }
  if (revoked.length === 0) throw noSuchKey({ sub, id, prefix });
  return revoked;
}

/** Makes a key, and prints it. */
export async function makeKey({ settings, isNew, ...request }: CommandConfig<"key">): Promise<void> {
  const { database } = settings;
  const { sub, url, name, scope, requestsPerHour, tokensPerDay, tokensPerMonth } = request;
  const body = { name, scope, requestsPerHour, tokensPerDay, tokensPerMonth };
  if (url === undefined && database.kind === "memory") {
    throw new ConfigError(
      "With DATABASE_URL=memory:, no server would know the key: name a running one by --url.",
    );
  }
  if (url === undefined && database.kind === "sqlite" && !isNew && !existsSync(database.path))
    throw noDatabase(database.path, "whose server could know a key");
  const { key } = await whileOpen(connectToKeys({ settings, sub, url }), ({ client }) =>
    client.keys.create(body),
  );
  process.stdout.write(`${key}\n`);
}

/** Lists, revokes or rotates the keys of an owner, or of the one whose key is named. */
export async function manageKeys(
  config: CommandConfig<"keys"> | CommandConfig<"revoke"> | CommandConfig<"rotate">,
): Promise<void> {
  const { settings, url } = config;
  const log = openQuietLog(settings);
  if (url === undefined) requireDatabase(settings, "that has keys");
  const meant = url === undefined ? await findMeant(settings, config, log) : { owners: [config.sub ?? ""] };
  const revoking = "id" in meant ? { ...config, id: meant.id, prefix: undefined } : config;
  for (const owner of meant.owners) {
    await whileOpen(connectToKeys({ settings, sub: owner, url }), async ({ client }) => {
      if (config.command === "rotate") {
        const { key, previousUntil } = await rotateKey(client, config);
        process.stdout.write(`${key}\n`);
        process.stderr.write(
          `twin-service: the secret before ${previousUntil ? `works until ${previousUntil}` : "has ended"}.\n`,
        );
        return;
      }
      const lines = config.command === "keys" ? await listKeys(client) : await revokeKeys(client, revoking);
      process.stdout.write(lines.map((line) => `${line}\n`).join(""));
      if (lines.length === 0)
        process.stderr.write(`twin-service: there is no key of ${visibleLine(quote(owner))}.\n`);
    });
  }
}
