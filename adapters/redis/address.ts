/**
 * Addresses of Redis: of one server, of a cluster's nodes, or of the sentinels that know the primary.
 *
 * @module
 */

/** One host of several. */
export interface RedisHost {
  readonly host: string;
  readonly port: number;
}

/** What the servers behind several hosts have in common. */
interface Servers {
  readonly hosts: readonly RedisHost[];
  readonly tls: boolean;
  readonly username: string | undefined;
  readonly password: string | undefined;
}

/** Where limits are kept. */
export type RedisAddress =
  | { readonly kind: "single"; readonly url: string }
  | ({ readonly kind: "cluster" } & Servers)
  | ({
      readonly kind: "sentinel";
      /** What the sentinels call the primary. */
      readonly name: string;
      readonly database: number;
    } & Servers);

/** The forms of an address, for messages. */
export const redisAddresses: string =
  "redis://<host>:<port>, redis://<user>:<password>@<host>:<port> (special characters percent-encoded), " +
  "redis+cluster://<host>:<port>,<host>:<port> or redis+sentinel://<host>:<port>,<host>:<port>/<name>, " +
  "with rediss for TLS";

const several =
  /^redis(?<tls>s?)\+(?<kind>cluster|sentinel):\/\/(?:(?<user>[^:@/?#]*)(?::(?<password>[^@/?#]*))?@)?(?<hosts>[^@/?#]+)(?:\/(?<name>[^/?#]*))?(?:\/(?<database>\d{1,3}))?$/;

const usualPort = { cluster: 6379, sentinel: 26379 } as const;

/** The address that a text stands for. Undefined: it stands for none. */
export function parseRedisAddress(text: string): RedisAddress | undefined {
  const parts = several.exec(text)?.groups;
  if (!parts) {
    const url = URL.canParse(text) ? new URL(text) : undefined;
    const isSingle = /^rediss?:$/.test(url?.protocol ?? "") && url?.hostname !== "";
    return isSingle ? { kind: "single", url: text } : undefined;
  }
  const kind = parts.kind === "cluster" ? "cluster" : "sentinel";
  const hosts = (parts.hosts ?? "").split(",").map((host) => parseHost(host, usualPort[kind]));
  if (!hosts.every((host) => host !== undefined)) return undefined;
  const servers = {
    hosts,
    tls: parts.tls === "s",
    username: decoded(parts.user),
    password: decoded(parts.password),
  };
  if (kind === "cluster") return parts.name ? undefined : { kind, ...servers };
  const name = decoded(parts.name);
  return name === undefined ? undefined : { kind, name, database: Number(parts.database ?? 0), ...servers };
}

function parseHost(text: string, usual: number): RedisHost | undefined {
  const [, bracketed, plain, port = String(usual)] =
    /^(?:\[([0-9a-f:.]+)\]|([A-Za-z0-9._-]+))(?::(\d{1,5}))?$/i.exec(text) ?? [];
  const host = bracketed ?? plain;
  return host === undefined || Number(port) > 65_535 ? undefined : { host, port: Number(port) };
}

function decoded(text: string | undefined): string | undefined {
  if (!text) return undefined;
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** The hosts of an address, for the log. */
export function hostsOf(address: RedisAddress): string {
  if (address.kind === "single") return new URL(address.url).host;
  return address.hosts
    .map(({ host, port }) => `${host.includes(":") ? `[${host}]` : host}:${port}`)
    .join(",");
}
