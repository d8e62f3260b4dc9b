/**
 * Lists and revokes an owner's API keys.
 *
 * @module
 */

import type { TwinClient } from "../../client/mod.ts";
import { ConfigError } from "../settings.ts";

/** A line for each key, the newest first. */
export async function listKeys({ keys }: TwinClient): Promise<string[]> {
  const lines: string[] = [];
  for await (const { id, prefix, scope, name, expiresAt, revokedAt, lastUsedAt } of keys.list()) {
    const end = revokedAt ? `revoked ${revokedAt}` : expiresAt ? `until ${expiresAt}` : "without end";
    lines.push([id, prefix, scope, end, `used ${lastUsedAt ?? "never"}`, JSON.stringify(name)].join("  "));
  }
  return lines;
}

/** Which keys to revoke. */
interface RevokeRequest {
  readonly id: string | undefined;
  /** What the key begins with, such as `twin_8aG3k0x`. */
  readonly prefix: string | undefined;
}

/** Revokes the keys that are meant and not revoked yet, and returns a line for each. */
export async function revokeKeys({ keys }: TwinClient, { id, prefix }: RevokeRequest): Promise<string[]> {
  const revoked: string[] = [];
  for await (const key of keys.list({ limit: 100 })) {
    const isMeant =
      (id ?? key.id) === key.id &&
      (prefix === undefined || prefix.startsWith(key.prefix) || key.prefix.startsWith(prefix));
    if (!isMeant || key.revokedAt) continue;
    await keys.revoke(key.id);
    revoked.push(`revoked ${key.id}  ${key.prefix}`);
  }
  if (revoked.length === 0) throw new ConfigError("There is no such key that is not revoked yet.");
  return revoked;
}
