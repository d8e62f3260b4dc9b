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

  /** Finds it. Does nothing if there is only one host. Rejects if no host accepts writes. */
  async find(): Promise<void> {
    if (this.#addresses.length === 1) return;
    const problems: unknown[] = [];
    for (const address of this.#addresses) {
      const problem = await this.#problemOf(address);
      if (problem === undefined) {
        this.address = address;
        return;
      }
      problems.push(problem);
    }
    throw problems.find((problem) => problem !== readOnly) ?? readOnly;
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
      if ((await this.#problemOf(before)) === undefined) return;
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

  /** Why a host is not the primary. Undefined: it is. */
  async #problemOf(address: string): Promise<unknown> {
    const client = this.#connect(address);
    client.on("error", () => {}); // a broken connection, whose query rejects, too
    try {
      await client.connect();
      const { rows } = await client.query("SHOW transaction_read_only");
      return rows[0]?.transaction_read_only === "off" ? undefined : readOnly;
    } catch (error) {
      return error;
    } finally {
      void client.end().catch(() => {});
    }
  }
}

const readOnly = new Error("none of its hosts accepts writes.");
