/**
 * A queue for what few may use at the same time, so that who asks for much makes others wait for one turn, not for all of it.
 *
 * @module
 */

/** Who takes turns: an owner, or one of its members, such as an end user. */
type Name = string | undefined;

/** One that waits for its turn. */
interface Waiting {
  begin(): void;
  fail(reason: unknown): void;
}

/** Whether an owner may have a turn now, beside those that have one: an owner that has several is named as often. */
type MayBegin = (owner: Name, running: readonly Name[]) => boolean;

/** Owners take turns, and so do the members of each. What one member asks for keeps its order. */
export class FairQueue {
  readonly #atOnce: number;
  readonly #mayBegin: MayBegin;
  readonly #running: Name[] = [];
  /** By owner, then by member: their turns come in this order. None is empty. */
  readonly #waiting = new Map<Name, Map<Name, Waiting[]>>();

  /** At most `atOnce` have a turn at the same time. */
  constructor(atOnce: number, mayBegin: MayBegin = () => true) {
    this.#atOnce = atOnce;
    this.#mayBegin = mayBegin;
  }

  /** Resolves when the turn has come, with what ends it, to be called once. Rejects if the signal is aborted before. */
  take(owner: Name, member?: Name, signal?: AbortSignal): Promise<() => void> {
    return new Promise((resolve, reject) => {
      signal?.throwIfAborted();
      const leave = () => {
        this.#remove(owner, member, waiting);
        reject(signal?.reason);
      };
      const waiting: Waiting = {
        begin: () => {
          signal?.removeEventListener("abort", leave);
          resolve(() => this.#end(owner));
        },
        fail: reject,
      };
      signal?.addEventListener("abort", leave, { once: true });
      this.#add(owner, member, waiting);
      this.#beginNext();
    });
  }

  /** Rejects for all that wait. */
  failAll(reason: unknown): void {
    const waiting = [...this.#waiting.values()].flatMap((ofOwner) => [...ofOwner.values()].flat());
    this.#waiting.clear();
    for (const { fail } of waiting) fail(reason);
  }

  #end(owner: Name): void {
    this.#running.splice(this.#running.indexOf(owner), 1);
    this.#beginNext();
  }

  /** Begins what may: the oldest of the next member of the next owner. Whose turn it was is then the last. */
  #beginNext(): void {
    for (const [owner, ofOwner] of this.#waiting) {
      if (this.#running.length >= this.#atOnce) return;
      if (!this.#mayBegin(owner, this.#running)) continue;
      const [[member, ofMember] = [undefined, []]] = ofOwner;
      const next = ofMember.shift();
      ofOwner.delete(member);
      if (ofMember.length > 0) ofOwner.set(member, ofMember);
      this.#waiting.delete(owner);
      if (ofOwner.size > 0) this.#waiting.set(owner, ofOwner);
      this.#running.push(owner);
      next?.begin();
    }
  }

  #add(owner: Name, member: Name, waiting: Waiting): void {
    const ofOwner = this.#waiting.get(owner) ?? new Map<Name, Waiting[]>();
    const ofMember = ofOwner.get(member) ?? [];
    ofMember.push(waiting);
    this.#waiting.set(owner, ofOwner.set(member, ofMember));
  }

  #remove(owner: Name, member: Name, waiting: Waiting): void {
    const ofOwner = this.#waiting.get(owner);
    const ofMember = ofOwner?.get(member) ?? [];
    const at = ofMember.indexOf(waiting);
    if (at === -1) return;
    ofMember.splice(at, 1);
    if (ofMember.length === 0) ofOwner?.delete(member);
    if (ofOwner?.size === 0) this.#waiting.delete(owner);
  }
}
