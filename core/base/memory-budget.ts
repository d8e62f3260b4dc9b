/**
 * How much memory requests and replies may hold: all together, for each owner, and for each of its end users. Whatever holds
 * text for a request counts it here as it arrives, and gives it back as it leaves.
 *
 * @module
 */

/** Whom memory is held for. */
export interface Holder {
  readonly owner: string;
  /** One of the owner's end users. Absent: the owner itself. */
  readonly endUser?: string | undefined;
}

/** The memory that one request, reply or stream holds. It begins with none. */
export interface Held {
  /** How much that is, in bytes. */
  readonly bytes: number;
  /** Whether there is any memory left. */
  fits(): boolean;
  /** Holds so many bytes more. False: that would be too many, and nothing has changed. */
  reserve(bytes: number): boolean;
  /** The same, however many they are, because they are there already. Negative: fewer. */
  count(bytes: number): void;
  /**
   * Holds one thing that others may hold, too, such as a twin's text: it counts once, and for nobody but the process. False: with
   * what else is shared, that would be too much, and nothing has changed.
   */
  share(thing: object, bytes: number): boolean;
  /** Holds nothing any more. Idempotent. */
  release(): void;
}

const mebi = 1024 * 1024;

/** The most that is held in a process, for an owner, and for an end user, in bytes. */
const mostOfAll = 256 * mebi;
const mostOfOwner = 64 * mebi;
const mostOfEndUser = 16 * mebi;

/** What is held in a process, for an owner, or for an end user. */
class Account {
  readonly name: string;
  readonly most: number;
  bytes = 0;
  /** How many hold something: with none, the account is forgotten. */
  holders = 0;

  constructor(name: string, most: number) {
    this.name = name;
    this.most = most;
  }
}

/** Counts what is held in memory, so that what would be too much is refused before it is allocated. */
export class MemoryBudget {
  readonly #all = new Account("", mostOfAll);
  readonly #accounts = new Map<string, Account>();
  readonly #mostShared: number;
  /** How many hold each thing that is shared. */
  readonly #shared = new Map<object, number>();
  #sharedBytes = 0;

  /** `mostShared`: how much the things may take together that are shared, in bytes, unless there is only one. */
  constructor(mostShared = Number.POSITIVE_INFINITY) {
    this.#mostShared = mostShared;
  }

  /** Begins to count what an owner or an end user holds. */
  hold(holder: Holder): Held {
    return new Hold(() => this.#open(holder), this.#close, this.#share);
  }

  #open({ owner, endUser }: Holder): readonly Account[] {
    const accounts = [this.#all, this.#account(owner, mostOfOwner)];
    // No name contains a line end.
    if (endUser !== undefined) accounts.push(this.#account(`${owner}\n${endUser}`, mostOfEndUser));
    for (const account of accounts) account.holders++;
    return accounts;
  }

  #account(name: string, most: number): Account {
    const known = this.#accounts.get(name) ?? new Account(name, most);
    this.#accounts.set(name, known);
    return known;
  }

  /** Returns what ends it. Undefined: it is too much. */
  readonly #share = (thing: object, bytes: number): (() => void) | undefined => {
    const holders = this.#shared.get(thing) ?? 0;
    if (holders === 0) {
      if (this.#sharedBytes > 0 && this.#sharedBytes + bytes > this.#mostShared) return undefined;
      this.#sharedBytes += bytes;
    }
    this.#shared.set(thing, holders + 1);
    return () => {
      const left = (this.#shared.get(thing) ?? 1) - 1;
      if (left > 0) this.#shared.set(thing, left);
      else if (this.#shared.delete(thing)) this.#sharedBytes -= bytes;
    };
  };

  readonly #close = (accounts: readonly Account[]): void => {
    for (const account of accounts) {
      account.holders--;
      if (account.holders === 0) this.#accounts.delete(account.name);
    }
  };
}

/** Finds its accounts when it first holds something, and changes them without a look-up after that: once for each token. */
class Hold implements Held {
  readonly #open: () => readonly Account[];
  readonly #close: (accounts: readonly Account[]) => void;
  readonly #share: (thing: object, bytes: number) => (() => void) | undefined;
  #accounts: readonly Account[] = [];
  #unshare: (() => void) | undefined;
  bytes = 0;

  constructor(
    open: () => readonly Account[],
    close: (accounts: readonly Account[]) => void,
    share: (thing: object, bytes: number) => (() => void) | undefined,
  ) {
    this.#open = open;
    this.#close = close;
    this.#share = share;
  }

  reserve(bytes: number): boolean {
    this.count(bytes);
    const fits = bytes <= 0 || this.#accounts.every((account) => account.bytes <= account.most);
    if (!fits) this.count(-bytes);
    return fits;
  }

  fits(): boolean {
    const fits = this.reserve(1);
    if (fits) this.count(-1);
    return fits;
  }

  count(bytes: number): void {
    if (bytes === 0) return;
    if (this.bytes === 0) this.#accounts = this.#open();
    this.bytes += bytes;
    for (const account of this.#accounts) account.bytes += bytes;
    if (this.bytes !== 0) return;
    this.#close(this.#accounts);
    this.#accounts = [];
  }

  share(thing: object, bytes: number): boolean {
    this.#unshare = this.#share(thing, bytes);
    return this.#unshare !== undefined;
  }

  release(): void {
    this.count(-this.bytes);
    this.#unshare?.();
    this.#unshare = undefined;
  }
}
