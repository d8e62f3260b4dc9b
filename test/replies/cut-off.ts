/**
 * A reply whose process can be cut off from the store, so that it looks dead to the others.
 */

import { sleep } from "../../core/base/clock.ts";
import { createTwinList, type ServiceOptions } from "../../core/mod.ts";
import { createMemoryStore, type Store } from "../../core/store/mod.ts";
import { acceptedId, type Chat, openChat, withOutages } from "../support/chat.ts";
import { createManualClock } from "../support/clock.ts";
import type { EventReader } from "../support/event-reader.ts";
import { inProcess, newTwin, startOfTests } from "../support/harness.ts";
import { createScriptedEngine, type Run, type ScriptedEngine } from "../support/scripted-engine.ts";

/** The Idempotency-Key that the reply is asked for with. */
export const once = { "Idempotency-Key": "once" };

export interface CutOffSetting {
  /** How the engine goes on with a reply. */
  readonly continues?: "exact" | "partial" | undefined;
  /** What the process saves of the text, and what it has sent besides. */
  readonly saved?: string;
  readonly sent?: string;
  /** Parts of the store that all processes share. */
  readonly store?: Partial<Store>;
  /** How many tokens the twin's replies may take in a day. Default: no limit. */
  readonly tokensPerDay?: number;
  /** How long a call hangs while the process is cut off. Default: it fails at once. */
  readonly hangMs?: number;
}

export interface CutOff extends Pick<Chat, "clock">, AsyncDisposable {
  /** The process that has begun the reply to "Hello?". */
  readonly first: Chat;
  readonly engine: ScriptedEngine;
  /** The store as the other processes reach it. */
  readonly store: Store;
  readonly messageId: string;
  /** Follows the reply on the first process. */
  readonly stream: EventReader;
  readonly run: Run;
  cutOff(): void;
  isCutOff(): boolean;
  reconnect(): void;
  /** Lets the lease run out, and the other processes notice. */
  expire(): Promise<void>;
  /** Another process, which is ready. */
  another(options?: Partial<ServiceOptions>): Promise<Chat>;
}

export async function openCutOff(setting: CutOffSetting = {}): Promise<CutOff> {
  const { continues, saved = "", sent = "", hangMs, tokensPerDay } = setting;
  const clock = createManualClock(startOfTests);
  const store: Store = { ...createMemoryStore(), exclusive: false, ...setting.store };
  const engine = Object.defineProperty(createScriptedEngine(), "continues", { value: continues });
  let away = false;
  const isCutOff = () => away;
  const far = withOutages(store, isCutOff, hangMs === undefined ? undefined : () => sleep(clock, hangMs));
  const twin = newTwin({ id: "scripted", engine: "scripted", tokensPerDay: tokensPerDay ?? null });
  const first = await openChat(inProcess, { store: far, engine, clock, twins: createTwinList([twin]) });
  const stream = await first.stream("Hello?", once);
  const messageId = await acceptedId(stream);
  const run = await engine.next();
  if (saved !== "") run.write(saved);
  await clock.advance(1000);
  if (sent !== "") run.write(sent);
  const reconnect = () => {
    away = false;
  };
  return {
    ...{ first, engine, store, messageId, stream, run, clock, isCutOff, reconnect },
    cutOff() {
      away = true;
    },
    expire: () => clock.advance(35_000),
    async another(options = {}) {
      const other = await first.another({ store, ...options });
      await other.service.ready();
      return other;
    },
    async [Symbol.asyncDispose]() {
      reconnect();
      await first[Symbol.asyncDispose]();
    },
  };
}
