/**
 * Which addresses webhooks may be at: public ones, and those that the operator lists. Otherwise an owner could have the server
 * ask what only the server can reach.
 *
 * @module
 */

import { lookup } from "node:dns/promises";
import { isIP } from "node:net";

/** Finds all addresses of a name. Rejects if there are none. */
export type LookUp = (name: string) => Promise<readonly string[]>;

/** The system's own look-up, which also knows names of its own. */
export const systemLookUp: LookUp = async (name) => {
  const found = await lookup(name, { all: true });
  return found.map(({ address }) => address);
};

/** A host that may be told although it is not public, and over `http:`. */
export interface ListedHost {
  /** A name in lower case, or an address; of IPv6 in brackets. */
  readonly name: string;
  /** Absent: any port. */
  readonly port?: string | undefined;
}

/** A host as operators write it: `hooks.internal`, `127.0.0.1:9000`, `[::1]:9000`. Undefined: it is none. */
export function parseHost(text: string): ListedHost | undefined {
  const [, name, port] = /^(\[[0-9a-fA-F:.]+\]|[^\s:/?#@\\[\]%]+)(?::([1-9][0-9]{0,4}))?$/.exec(text) ?? [];
  if (name === undefined || !URL.canParse(`http://${name}/`) || Number(port ?? 1) > 65_535) return undefined;
  return { name: new URL(`http://${name}/`).hostname, port };
}

/** What is accepted as the address of a webhook. */
export const expectedAddress =
  "must be an https: address of a public host that resolves, without a user, password or fragment, or one that the operator lists";

/** Where a delivery goes: the address that was checked, and what names it. */
export interface Target {
  readonly url: URL;
  /** The IP address to connect to. */
  readonly address: string;
}

/** An address cannot be told. */
export class RefusedAddress extends Error {
  override readonly name = "RefusedAddress";
}

/**
 * Resolves an address, and chooses a checked one to connect to.
 *
 * @throws {RefusedAddress}
 */
export async function findTarget(
  text: string,
  hosts: readonly ListedHost[],
  lookUp: LookUp,
): Promise<Target> {
  if (!URL.canParse(text)) throw new RefusedAddress();
  const url = new URL(text);
  const { protocol, username, password, hash, hostname } = url;
  if (username !== "" || password !== "" || hash !== "") throw new RefusedAddress();
  const isListed = hosts.some((host) => host.name === hostname && (host.port ?? portOf(url)) === portOf(url));
  if (protocol !== "https:" && !(protocol === "http:" && isListed)) throw new RefusedAddress();
  const bare = hostname.replace(/^\[|\]$/g, "");
  const addresses = isIP(bare) ? [bare] : await lookUp(bare).catch(() => []);
  const address = addresses.find((one) => isListed || isPublic(one));
  if (address === undefined) throw new RefusedAddress();
  return { url, address };
}

/** The port of an address, also where it is its protocol's own. */
export function portOf({ protocol, port }: URL): string {
  return port || (protocol === "https:" ? "443" : "80");
}

/**
 * What the registries of special-purpose addresses (https://www.iana.org/assignments/iana-ipv4-special-registry, and of IPv6)
 * and of multicast name, apart from what is as public as any other.
 */
const special4 = [
  "0.0.0.0/8",
  "10.0.0.0/8",
  "100.64.0.0/10",
  "127.0.0.0/8",
  "169.254.0.0/16",
  "172.16.0.0/12",
  "192.0.0.0/24",
  "192.0.2.0/24",
  "192.31.196.0/24",
  "192.52.193.0/24",
  "192.88.99.0/24",
  "192.168.0.0/16",
  "192.175.48.0/24",
  "198.18.0.0/15",
  "198.51.100.0/24",
  "203.0.113.0/24",
  "224.0.0.0/3", // multicast, reserved, broadcast
].map(rangeOf);

/** Of IPv6, only this is given to the public, without Teredo and other protocols, documentation, 6to4, and what answers for private names. */
const public6 = rangeOf("2000::/3");
const special6 = ["2001::/23", "2001:db8::/32", "2002::/16", "2620:4f:8000::/48", "3fff::/20"].map(rangeOf);

/** Whether an IP address is one of the public internet, and of no range that stands for another address. */
function isPublic(address: string): boolean {
  const bits = bitsOf(address);
  if (bits === undefined) return false;
  if (isIP(address) === 4) return !special4.some((range) => isWithin(bits, range));
  return isWithin(bits, public6) && !special6.some((range) => isWithin(bits, range));
}

interface Range {
  /** The bits that all its addresses begin with. */
  readonly prefix: string;
}

function rangeOf(text: string): Range {
  const [address = "", length] = text.split("/");
  return { prefix: (bitsOf(address) ?? "").slice(0, Number(length)) };
}

function isWithin(bits: string, { prefix }: Range): boolean {
  return bits.startsWith(prefix);
}

/** An address as 32 or 128 binary digits. Undefined: it is none, or is one of a link. */
function bitsOf(address: string): string | undefined {
  if (isIP(address) === 4) return binary(address.split("."), 10, 8);
  if (isIP(address) !== 6 || address.includes("%")) return undefined;
  // As URLs write it: groups in hexadecimal, also where the end was written as IPv4.
  const [head = "", tail] = new URL(`http://[${address}]/`).hostname.slice(1, -1).split("::");
  const groups = (part: string) => (part === "" ? [] : part.split(":"));
  const [before, after] = [groups(head), groups(tail ?? "")];
  const zeros = Array.from({ length: 8 - before.length - after.length }, () => "0");
  return binary([...before, ...zeros, ...after], 16, 16);
}

function binary(parts: readonly string[], base: number, bits: number): string {
  return parts.map((part) => Number.parseInt(part, base).toString(2).padStart(bits, "0")).join("");
}
