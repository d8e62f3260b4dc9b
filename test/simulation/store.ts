/**
 * The simulation's store: what it keeps survives every crash, but calls from a process are late, get lost, or take
 * effect without an answer. It records what was stored, so that every promise can be checked against that.
 */

import {
  type AbandonedReply,
  type BeginReply,
  type EndReply,
  type Lease,
  type MessageRecord,
  type SaveReply,
  type SaveResult,
  type Store,
  StoreUnavailable,
} from "../../core/mod.ts";
import { createSimulatedSignals } from "./signals.ts";
import type { World } from "./world.ts";

/** How unreliable a store is. */
export interface StoreWeather {
  /** Whether one process at a time uses it. */
  readonly exclusive: boolean;
  /** Whether processes send each other signals. */
  readonly signals: boolean;
  /** Probability that a call fails: half of the failures come after it took effect. */
  readonly failure: number;
  /** Probability that a call takes long. */
  readonly delay: number;
}

/** A reply as the store knows it, and what became of it. */
export interface StoredReply {
  readonly owner: string;
  readonly conversationId: string;
  readonly id: string;
  readonly question: MessageRecord;
  readonly begunAt: number;
  /** Whether the process that produces it, or did last, is alive. */
  holder: () => boolean;
  leaseUntil: number;
  attempt: number;
  /** The text that was saved when it was taken over. */
  takenOver: string | undefined;
  /** The last saved text. */
  text: string;
  /** When its producers were last told to stop, because it is cancelled or no longer their own. By lease holder. */
  readonly stopToldAt: Map<string, number>;
  /** Its stored end; undefined while it is in progress. */
  end: EndReply | undefined;
  deleted: boolean;
}

export interface Ledger {
  readonly replies: ReadonlyMap<string, StoredReply>;
  /** The replies in progress. */
  readonly busy: ReadonlySet<StoredReply>;
  /** When the last call that fails or takes long is over: nothing need be in time until shortly after. */
  readonly lastTrouble: number;
  /** Something else is in trouble until then. */
  noteTrouble(until: number): void;
  /** What is stored, read without delay or failure. */
  readonly truth: Store;
}

export interface SimulatedStore extends Ledger {
  /** The store as one process sees it. Calls of a dead process may still arrive; no answer does. */
  connect(process: Connected): Store;
  /** From now on nothing fails and nothing is late. */
  calm(): void;
}

/** A process, as far as its connection matters. */
export interface Connected {
  readonly alive: () => boolean;
  /** Until when it stands still, and hears of nothing. */
  readonly frozenUntil: () => number;
  /** Until when it is cut off from the store. */
  readonly cutOffUntil: () => number;
}

/** A call that takes longer than this counts as trouble, in milliseconds. */
const longCallMs = 200;

export function createSimulatedStore(world: World, truth: Store, weather: StoreWeather): SimulatedStore {
  const { random } = world;
  const signals = weather.signals ? createSimulatedSignals(world) : undefined;
  const replies = new Map<string, StoredReply>();
  const busy = new Set<StoredReply>();
  let lastTrouble = 0;
  let calm = false;

  function noteBegin({ owner, question, reply, lease }: BeginReply, holder: () => boolean): void {
    for (const { conversationId } of busy) {
      if (conversationId === reply.conversationId) world.violate("a conversation has two replies at once");
    }
    const stored: StoredReply = {
      owner,
      conversationId: reply.conversationId,
      id: reply.id,
      question,
      begunAt: world.now(),
      holder,
      stopToldAt: new Map(),
      leaseUntil: lease.until,
      attempt: 1,
      takenOver: undefined,
      text: "",
      end: undefined,
      deleted: false,
    };
    replies.set(reply.id, stored);
    busy.add(stored);
  }

  function noteEnd(end: EndReply): void {
    const stored = replies.get(end.id);
    if (!stored || stored.end) world.violate(`a reply was ended that was not in progress: ${end.id}`);
    const { leaseExpiredBefore: before = Number.MAX_SAFE_INTEGER } = end;
    if (before < Number.MAX_SAFE_INTEGER && stored.leaseUntil >= before) world.violate("a lease was ignored");
    noteText(stored, end.content);
    stored.end = end;
    busy.delete(stored);
  }

  /** Saved text only grows. */
  function noteText(stored: StoredReply, text = stored.text): void {
    if (!text.startsWith(stored.text)) world.violate(`the saved text of ${stored.id} was changed`);
    stored.text = text;
  }

  function noteTakeOver({ id, lease, attempt }: AbandonedReply, next: Lease, holder: () => boolean): void {
    const stored = replies.get(id);
    if (!stored || stored.end || stored.deleted)
      world.violate(`a reply was taken over that is not in progress: ${id}`);
    if (attempt >= 2) world.violate(`${id} was taken over twice`);
    if (stored.leaseUntil !== lease.until) world.violate("a renewed lease was ignored");
    if (!weather.exclusive && lease.until >= world.now()) world.violate("a lease was ignored");
    stored.holder = holder;
    stored.leaseUntil = next.until;
    stored.attempt = attempt + 1;
    stored.takenOver = stored.text;
  }

  function noteDeletion(conversationId: string): void {
    for (const stored of replies.values()) {
      if (stored.conversationId !== conversationId) continue;
      stored.deleted = true;
      busy.delete(stored);
    }
  }

  function noteSave(save: SaveReply, result: SaveResult): void {
    const stored = replies.get(save.id) ?? world.violate("a reply was saved that nobody began");
    if (result !== "lost") {
      stored.leaseUntil = save.lease.until;
      noteText(stored, save.content);
    }
    if (result === "saved") return;
    // It may not have heard that it must stop; if it has, it must not save again.
    const { holder } = save.lease;
    const toldAt = stored.stopToldAt.get(holder);
    if (toldAt !== undefined && toldAt > lastTrouble)
      world.violate(`${save.id} was told to stop, but continues`);
    stored.stopToldAt.set(holder, world.now());
  }

  /** Makes a process's call, and records its effect at the same moment. */
  const effectsOf = (process: () => boolean): Partial<Store> => ({
    async beginReply(begin) {
      const result = await truth.beginReply(begin);
      if (result.result === "begun") noteBegin(begin, process);
      return result;
    },
    async saveReply(save) {
      const result = await truth.saveReply(save);
      noteSave(save, result);
      return result;
    },
    async takeOverReply(found, lease, from) {
      const taken = await truth.takeOverReply(found, lease, from);
      if (taken) noteTakeOver(found, lease, process);
      return taken;
    },
    async endReply(end) {
      const ended = await truth.endReply(end);
      if (ended) noteEnd(end);
      return ended;
    },
    async deleteConversation(owner, id, at) {
      const deleted = await truth.deleteConversation(owner, id, at);
      if (deleted) noteDeletion(id);
      return deleted;
    },
  });

  /** Noted when a call begins: one that is on its way for long keeps things waiting before it arrives. */
  function noteTrouble(until: number): void {
    lastTrouble = Math.max(lastTrouble, until);
  }

  function latency(): number {
    if (calm || random.chance(0.4)) return 0;
    if (random.chance(weather.delay)) return random.between(longCallMs, 4_000);
    return random.between(1, 40);
  }

  async function call(name: string, process: Connected, act: () => Promise<unknown>): Promise<unknown> {
    const { alive, frozenUntil, cutOffUntil } = process;
    const [there, back] = [latency(), latency()];
    const fate = calm ? 1 : random.next();
    const failsBefore = fate < weather.failure / 2 || world.now() < cutOffUntil();
    const failsAfter = !failsBefore && fate < weather.failure;
    if (failsBefore || failsAfter || there + back > longCallMs) noteTrouble(world.now() + there + back);
    if (there > 0) await world.pause(there);
    // With a file, calls die with their process; a database server may still receive them.
    if (!alive() && (weather.exclusive || random.chance(0.5))) return new Promise(() => {});
    const result = failsBefore ? undefined : await act();
    const fateOfCall = failsBefore ? "failed" : failsAfter ? "done, but failed" : "done";
    if (name !== "findKey") world.trace(`store ${name} ${fateOfCall}`);
    const thaw = frozenUntil() - world.now();
    if (back > 0 || thaw > 0) await world.pause(Math.max(back, thaw));
    if (!alive()) return new Promise(() => {});
    if (failsBefore || failsAfter) throw new StoreUnavailable(`${name} failed by chance`);
    return result;
  }

  return {
    replies,
    busy,
    truth,
    get lastTrouble() {
      return lastTrouble;
    },
    noteTrouble,
    connect(process) {
      const { alive } = process;
      const ownSignals = signals?.connect(process);
      return new Proxy<Store>(
        { ...truth, ...effectsOf(alive) },
        {
          get(store, name: keyof Store) {
            if (name === "exclusive") return weather.exclusive;
            if (name === "signals") return ownSignals;
            const method = store[name];
            if (typeof method !== "function") return method;
            return (...args: unknown[]) => call(name, process, () => Reflect.apply(method, undefined, args));
          },
        },
      );
    },
    calm() {
      calm = true;
    },
  };
}
