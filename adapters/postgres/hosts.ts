/**
 * A database on several hosts, of which one accepts writes: the primary, which may become another one.
 *
 * @module
 */

import { clearInterval, setInterval } from "node:timers";
import type { Client } from "pg";
import type { Log } from "../../core/base/log.ts";

/**
 * The address of each host in an address such as `postgres://a:5432,b:5432/twins?target_session_attrs=read-write`.
 * Undefined: it is none. Writes need the primary, so that `read-write` is the only value, and may be left out.
 */
export function addressesOf(url: string): readonly string[] | undefined {
  const parts = /^(?<scheme>postgres(?:ql)?:\/\/)(?<login>[^@/?#]*@)?(?<hosts>[^/?#]*)(?<rest>.*)$/s.exec(
    url,
  )?.groups;
  if (!parts) return undefined;
  const { scheme = "", login = "", hosts = "", rest = "" } = parts;
  const own = rest.replace(/([?&])target_session_attrs=read-write(?:&|$)/, "$1").replace(/[?&]$/, "");
  const addresses = hosts.split(",").map((host) => `${scheme}${login}${host}${own}`);
  const isOne = hosts.split(",").every((host) => host !== "" || addresses.length === 1);
  return isOne && addresses.every((address) => URL.canParse(address)) ? addresses : undefined;
}

/** How often to look whether the primary is still one, in milliseconds. */
const lookMs = 1000;

/** Knows which host is the primary. */
export class Primary {
  /** Its address. */
  address: string;
  readonly #addresses: readonly string[];
  readonly #connect: (address: string) => Client;
  readonly #log: Log;
  #timer: ReturnType<typeof setInterval> | undefined;
  #isLooking = false;

  /** `connect`: makes a client that is not connected yet. */
  constructor(addresses: readonly string[], connect: (address: string) => Client, log: Log) {
    const [first = ""] = addresses;
    this.address = first;
    this.#addresses = addresses;
    this.#connect = connect;
    this.#log = log;
  }

  /**
   * Finds it: of those that accept writes, the one that was promoted last, since an old one may not know that it is one no
   * longer. Does nothing if there is only one host. Rejects if no host accepts writes.
   */
  async find(): Promise<void> {
    if (this.#addresses.length === 1) return;
    const hosts = await Promise.all(this.#addresses.map((address) => this.#ask(address)));
    const [best] = hosts
      .flatMap((host) => ("timeline" in host ? host : []))
      .sort((one, other) => other.timeline - one.timeline || Number(other.isCurrent) - Number(one.isCurrent));
    if (best) this.address = best.address;
    else {
      const problems = hosts.flatMap((host) => ("problem" in host ? [host.problem] : []));
      throw problems.find((problem) => problem !== readOnly) ?? readOnly;
    }
  }

  /** Looks every second whether it is still one, and calls `moved` when it has become another host. */
  watch(moved: () => void): void {
    if (this.#addresses.length === 1) return;
    this.#timer = setInterval(() => void this.#look(moved), lookMs);
    this.#timer.unref();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  async #look(moved: () => void): Promise<void> {
    if (this.#isLooking) return;
    this.#isLooking = true;
    const before = this.address;
    try {
      await this.find();
      if (this.address === before) return;
      this.#log("warn", "another host of PostgreSQL accepts writes now", {
        host: new URL(this.address).host,
      });
      moved();
    } catch (error) {
      this.#log("debug", "no host of PostgreSQL accepts writes", { error });
    } finally {
      this.#isLooking = false;
    }
  }

  /** The timeline of a host that accepts writes, which each promotion counts up, or why it does not. */
  async #ask(address: string): Promise<WritableHost | { readonly problem: unknown }> {
    const client = this.#connect(address);
    client.on("error", () => {}); // a broken connection, whose query rejects, too
    try {
      await client.connect();
      const { rows } = await client.query(readState);
      const { read_only: isReadOnly, timeline } = rows[0] ?? {};
      if (isReadOnly !== "off") return { problem: readOnly };
      return { address, timeline: Number(timeline), isCurrent: address === this.address };
    } catch (error) {
      return { problem: error };
    } finally {
      void client.end().catch(() => {});
    }
  }
}

interface WritableHost {
  readonly address: string;
  readonly timeline: number;
  /** Whether it is the one that was the primary so far. */
  readonly isCurrent: boolean;
}

/** The name of a file of the log begins with the timeline. A host in recovery has no such file. */
const readState = `SELECT current_setting('transaction_read_only') AS read_only, CASE WHEN pg_is_in_recovery() THEN 0
  ELSE ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::int END AS timeline`;

const readOnly = new Error("none of its hosts accepts writes.");
