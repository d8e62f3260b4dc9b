/**
 * How much memory requests may hold together: of all owners, and of each.
 *
 * @module
 */

/** What is held, in bytes. */
export interface Weight {
  /** For all owners. */
  readonly all: number;
  /** For one of them. */
  readonly own: number;
}

/** Memory that is held for an owner. */
export interface Held {
  /** Holds at least so many bytes in all, unless that would be too many: then it changes nothing, and returns false. */
  reserve(bytes: number): boolean;
  /** Holds so many bytes in all, however many they are: they are there already. */
  set(bytes: number): void;
  /** Holds nothing any more. Idempotent. */
  release(): void;
}

const mebi = 1024 * 1024;

/** The most that is held for all owners, in bytes. */
const mostOfAll = 256 * mebi;

/** The most that is held for one owner, in bytes. */
const mostOfOwner = 64 * mebi;

/** Counts what requests hold while they are answered, so that what would be too much is refused before it is allocated. */
export class MemoryBudget {
  readonly #weigh: (owner: string) => Weight;
  #all = 0;
  readonly #owners = new Map<string, number>();

  /** `weigh`: what is held besides, by replies. */
  constructor(weigh: (owner: string) => Weight) {
    this.#weigh = weigh;
  }

  /** Whether so many bytes more would be too many. */
  exceeds(owner: string, bytes: number): boolean {
    const { all, own } = this.#weigh(owner);
    return this.#all + all + bytes > mostOfAll || (this.#owners.get(owner) ?? 0) + own + bytes > mostOfOwner;
  }

  /** Holds memory for an owner, until it is released. */
  hold(owner: string): Held {
    let held = 0;
    const set = (bytes: number) => {
      const own = (this.#owners.get(owner) ?? 0) + bytes - held;
      this.#all += bytes - held;
      held = bytes;
      if (own > 0) this.#owners.set(owner, own);
      else this.#owners.delete(owner);
    };
    const reserve = (bytes: number) => {
      if (bytes <= held) return true;
      if (this.exceeds(owner, bytes - held)) return false;
      set(bytes);
      return true;
    };
    return { reserve, set, release: () => set(0) };
  }
}
