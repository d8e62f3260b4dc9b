/**
 * What an address says beside where the database is: parameters of libpq, and of the strings that providers hand out.
 *
 * @module
 */

/** An address, read. */
export interface Address {
  /** The same with the parameters that the package pg reads as they are meant. */
  readonly url: string;
  /** How long to wait for a connection, in milliseconds. */
  readonly connectMs?: number;
  /** Whether a password is bound to the TLS connection, where the server offers that. */
  readonly bindsChannel: boolean;
  /** Values of `sslmode` of which the first is tried first, and the other one if the server refuses. Absent: it is settled. */
  readonly tlsModes?: readonly [first: string, second: string];
}

/** The parameters that the package pg reads. */
const read = [
  ["sslmode", "sslrootcert", "sslcert", "sslkey", "sslnegotiation", "ssl", "uselibpqcompat"],
  ["host", "port", "user", "password", "options", "client_encoding"],
  ["application_name", "fallback_application_name", "statement_timeout", "lock_timeout"],
  ["idle_in_transaction_session_timeout", "query_timeout", "target_session_attrs"],
].flat();

/**
 * Those that are understood here, and what each may be. `pgbouncer`, `supa` and `workaround` tell other programs of a
 * pooler, which is noticed without.
 */
const understood: Readonly<Record<string, RegExp>> = {
  connect_timeout: /^\d{1,4}$/,
  channel_binding: /^(?:disable|prefer|require)$/,
  gssencmode: /^(?:disable|prefer)$/,
  pgbouncer: /^(?:true|false)$/,
  supa: /^/,
  workaround: /^/,
};

/** Values of `sslmode`, and what pg is told. It would print a warning for `require` and `verify-ca`, and take them for `verify-full`. */
const tlsModes: Readonly<Record<string, string | readonly [first: string, second: string]>> = {
  disable: "disable",
  allow: ["disable", "no-verify"],
  prefer: ["no-verify", "disable"],
  "no-verify": "no-verify",
  require: "verify-full",
  "verify-ca": "verify-full",
  "verify-full": "verify-full",
};

/**
 * Reads an address.
 *
 * @throws {Error} with one line, without a secret, for no database, and for a parameter that is unknown or cannot be what it is:
 * what is not read would be ignored, such as a `schema`, and the tables made in another one.
 */
export function readAddress(url: string): Address {
  const [, before = url, query = "", fragment = ""] = /^([^?]*)\?([^#]*)(.*)$/s.exec(url) ?? [];
  const given = new URLSearchParams(query);
  const unknown = [...given.keys()].find((name) => !read.includes(name) && !understood[name]);
  if (unknown !== undefined) throw unknownParameter(unknown, query);
  for (const [name, value] of given) {
    const accepted = understood[name] ?? (name === "sslmode" ? isTlsMode : anything);
    if (!accepted.test(value)) throw new Error(`the address's ${name} ${rules[name]}`);
  }
  // The package pg would take the database that has the user's name.
  if (/^[^/]*\/\/[^/#]*\/?(?:#|$)/.test(before))
    throw new Error("the address names no database; postgres://<user>:<password>@<host>/<database> does");
  const mode = given.get("uselibpqcompat") === "true" ? undefined : tlsModes[given.get("sslmode") ?? ""];
  const binding = given.get("channel_binding");
  if (binding === "require" && mode !== "verify-full")
    throw new Error("the address's channel_binding=require needs sslmode=verify-full");
  const seconds = Number(given.get("connect_timeout"));
  const left = query.split("&").filter((pair) => {
    const [name = ""] = pair.split("=");
    return read.includes(name) && !isSystemRoots(pair) && !(mode && name === "sslmode");
  });
  if (typeof mode === "string") left.push(`sslmode=${mode}`);
  return {
    url: before + (left.length > 0 ? `?${left.join("&")}` : "") + fragment,
    bindsChannel: binding === "require",
    ...(seconds > 0 && { connectMs: seconds * 1000 }),
    ...(Array.isArray(mode) && { tlsModes: mode as readonly [string, string] }),
  };
}

/** The same address with a value of `sslmode`. */
export function withTlsMode(url: string, mode: string): string {
  return `${url}${url.includes("?") ? "&" : "?"}sslmode=${mode}`;
}

const anything = /^/;
const isTlsMode = new RegExp(`^(?:${Object.keys(tlsModes).join("|")})$`);
const rules: Readonly<Record<string, string>> = {
  connect_timeout: "must be a number of seconds; 0: 2 seconds",
  channel_binding: "must be disable, prefer or require",
  gssencmode: "must be disable or prefer: there is no GSSAPI here",
  pgbouncer: "must be true or false",
  sslmode: `must be ${Object.keys(tlsModes).join(", ")}`,
};

/** libpq's name for the roots that the system trusts. Node's own list is used then, as without it. */
function isSystemRoots(pair: string): boolean {
  return pair === "sslrootcert=system";
}

function unknownParameter(name: string, query: string): Error {
  const shown = query.includes("@") ? "" : ` ${name}`; // it may be the rest of a password that has a "?"
  const known = [...read, ...Object.keys(understood)].join(", ");
  return new Error(
    `the address has a parameter${shown} that would be ignored; it may have ${known}. ` +
      "A limit of connections is DATABASE_POOL_SIZE; for the schema twins, write options=-c%20search_path%3Dtwins",
  );
}
