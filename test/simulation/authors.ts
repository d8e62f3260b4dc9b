/**
 * The simulation's authors: they make twins of their own, change them, take them back and delete them, several at once, and
 * check everything that the service answers.
 */

import type { Answer } from "../../core/mod.ts";
import { type Ask, type Asking, createAsk, dataOf, errorOf } from "./asking.ts";
import type { Process, Processes } from "./processes.ts";
import { fileOf, noticeMs, type StoredVersion, type Versions } from "./versions.ts";
import type { World } from "./world.ts";

/** The ids of their twins: few, so that authors meet. */
export const ownTwinIds = ["anna", "bert"] as const;

const documentPaths = ["prices.md", "hours/summer.txt"] as const;

/** A version, as it is answered. */
interface MadeVersion {
  readonly version: number;
  readonly revision: string;
}

interface ListedVersion extends MadeVersion {
  readonly current: boolean;
}

/** A change of a twin. */
interface Change {
  readonly id: string;
  readonly method: "PUT" | "POST" | "DELETE";
  readonly path: string;
  readonly text?: string;
  readonly condition: Readonly<Record<string, string>>;
  /** Whether a version is what the change makes of the one before. */
  readonly isMade: (made: StoredVersion) => boolean;
}

export interface AuthorSetting {
  readonly world: World;
  readonly versions: Versions;
  readonly processes: Processes;
  readonly apiKey: string;
}

export class Authors {
  readonly #world: World;
  readonly #versions: Versions;
  readonly #processes: Processes;
  readonly #ask: Ask;
  /** As everybody who may use the twins. */
  readonly #askAsUser: Ask;
  /** What was acknowledged last, or read, of each twin. */
  readonly #known = new Map<string, MadeVersion>();
  #count = 0;

  constructor({ world, versions, processes, apiKey }: AuthorSetting) {
    this.#world = world;
    this.#versions = versions;
    this.#processes = processes;
    this.#ask = createAsk(world, { Authorization: "Bearer token" });
    this.#askAsUser = createAsk(world, { "X-API-Key": apiKey });
  }

  /** Acts as one author for a number of steps. */
  async act(steps: number): Promise<void> {
    for (let rest = steps; rest > 0; rest--) {
      await this.#step(this.#world.random.pick(ownTwinIds));
      await this.#world.pause(this.#world.random.pick([0, 0, 50, 500, 2_000]));
    }
  }

  #step(id: string): Promise<void> {
    const dice = this.#world.random.next();
    if (!this.#known.has(id) || dice < 0.35) return this.#change(this.#file(id));
    if (dice < 0.5) return this.#change(this.#document(id));
    if (dice < 0.56) return this.#change(this.#withoutDocument(id));
    if (dice < 0.68) return this.#change(this.#restored(id));
    if (dice < 0.74) return this.#remove(id);
    if (dice < 0.87) return this.#readFile(id);
    return this.#list(id);
  }

  #file(id: string): Change {
    const text = fileOf(`${id} ${++this.#count}`);
    return this.#put(id, `/twins/${id}/file`, "", text);
  }

  #document(id: string): Change {
    const path = this.#world.random.pick(documentPaths);
    return this.#put(id, `/twins/${id}/documents/${encodeURIComponent(path)}`, path, `Text ${++this.#count}`);
  }

  #put(id: string, address: string, path: string, text: string): Change {
    this.#versions.noteSent(path, text);
    const isMade = ({ texts }: StoredVersion) => texts.get(path) === text;
    return { id, method: "PUT", path: address, text, condition: this.#condition(id), isMade };
  }

  #withoutDocument(id: string): Change {
    const path = this.#world.random.pick(documentPaths);
    const isMade = ({ texts }: StoredVersion) => !texts.has(path);
    const address = `/twins/${id}/documents/${encodeURIComponent(path)}`;
    return { id, method: "DELETE", path: address, condition: this.#condition(id), isMade };
  }

  #restored(id: string): Change {
    const version = this.#world.random.between(1, this.#known.get(id)?.version ?? 1);
    const texts = this.#versions.find(id, version)?.texts;
    const isMade = (made: StoredVersion) =>
      texts !== undefined &&
      made.texts.size === texts.size &&
      [...texts].every(([path, text]) => made.texts.get(path) === text);
    const path = `/twins/${id}/versions/${version}/restore`;
    return { id, method: "POST", path, condition: this.#condition(id), isMade };
  }

  /** What must hold for a change: usually that nobody has changed the twin since it was read. */
  #condition(id: string): Change["condition"] {
    const known = this.#known.get(id);
    if (this.#world.random.chance(0.3)) return {};
    return known ? { "If-Match": `"${known.revision}"` } : { "If-None-Match": "*" };
  }

  /** Sends a change, and perhaps the same one again, at once or later. */
  async #change(change: Change): Promise<void> {
    const { random } = this.#world;
    const times = random.pick([1, 1, 1, 2, 3]);
    if (random.chance(0.3)) {
      await Promise.all(Array.from({ length: times }, () => this.#changeOnce(change)));
      return;
    }
    for (let time = 0; time < times; time++) {
      await this.#changeOnce(change);
      if (time + 1 < times) await this.#world.pause(random.between(0, 2_000));
    }
  }

  async #changeOnce(change: Change): Promise<void> {
    const { id, method, path, text, condition } = change;
    const since = this.#world.now();
    const asking: Asking = { headers: condition, ...(text !== undefined && { text }) };
    const answer = await this.#ask(this.#processes.any(), method, path, asking);
    if (!answer) return;
    if (answer.status === 204) return this.#requireMade(change, since);
    if (answer.status === 200 || answer.status === 201) {
      const made = dataOf<MadeVersion>(answer);
      this.#requireAcknowledged(change, made);
      this.#known.set(id, made);
      if (this.#world.random.chance(0.5)) await this.#requireNoticed(id);
      return;
    }
    this.#requireRefused(change, answer, since);
  }

  /** A version that was acknowledged is there, is what the change makes, and came in the place of the one that it names. */
  #requireAcknowledged({ id, path, condition, isMade }: Change, { version, revision }: MadeVersion): void {
    const stored = this.#versions.find(id, version);
    const answered = `${path} was answered with version ${version}`;
    if (!stored || stored.revision !== revision) this.#world.violate(`${answered}, which is not stored`);
    else if (!isMade(stored)) this.#world.violate(`${answered}, which is something else`);
    const named = condition["If-Match"];
    // What changes nothing is answered with the version that there is.
    if (named !== undefined && ![revision, stored.before?.revision].some((one) => named === `"${one}"`))
      this.#world.violate(`${answered}, which came in another's place than ${named}`);
    if (condition["If-None-Match"] && stored.before) this.#world.violate(`${answered}, not the first`);
  }

  /** What has no answer but that it is done was so at some moment. */
  #requireMade({ id, path, isMade }: Change, since: number): void {
    if (!this.#versions.wasEver(id, since, (current) => current !== undefined && isMade(current)))
      this.#world.violate(`${path} was answered as done, and is not`);
  }

  #requireRefused({ id, path, condition }: Change, answer: Answer, since: number): void {
    const { code } = errorOf(answer);
    const named = condition["If-Match"];
    const isOther = (current: StoredVersion | undefined) =>
      named === undefined ? current !== undefined : named !== `"${current?.revision}"`;
    const version = Number(/versions\/(\d+)/u.exec(path)?.[1]);
    const isAllowed =
      code === "unavailable" ||
      code === "shutting_down" ||
      (code === "revision_mismatch" &&
        condition !== undefined &&
        this.#versions.wasEver(id, since, isOther)) ||
      (code === "twin_not_found" && this.#versions.wasMissing(id, since)) ||
      (code === "version_not_found" && !this.#isKept(id, version));
    if (!isAllowed) this.#world.violate(`${path} was answered ${answer.status} ${answer.body}`);
  }

  /** Whether a version is one of the twin that there is now. */
  #isKept(id: string, version: number): boolean {
    for (let next = this.#versions.current(id); next; next = next.before)
      if (next.version === version) return true;
    return false;
  }

  async #remove(id: string): Promise<void> {
    const since = this.#world.now();
    const answer = await this.#ask(this.#processes.any(), "DELETE", `/twins/${id}`);
    if (answer?.status === 204) {
      if (!this.#versions.wasMissing(id, since)) this.#world.violate(`${id} was deleted, and is there`);
      if (this.#world.random.chance(0.5)) await this.#requireNoticed(id);
    } else if (answer && answer.status !== 503) {
      this.#world.violate(`a deletion was answered ${answer.status} ${answer.body}`);
    }
  }

  async #readFile(id: string): Promise<void> {
    const since = this.#world.now();
    const version = this.#world.random.chance(0.5) ? this.#known.get(id)?.version : undefined;
    const query = version === undefined ? "" : `?version=${version}`;
    const answer = await this.#ask(this.#processes.any(), "GET", `/twins/${id}/file${query}`);
    if (answer?.status === 200) {
      const file = new TextDecoder().decode(answer.body as Uint8Array);
      const isSame = (stored: StoredVersion | undefined) => stored?.texts.get("") === file;
      const isRight =
        version === undefined
          ? this.#versions.wasEver(id, since, isSame)
          : isSame(this.#versions.find(id, version));
      if (!isRight) this.#world.violate(`${id}, version ${version ?? "now"}, was read as ${file}`);
    } else if (answer?.status === 404) {
      const isGone = version !== undefined && !this.#isKept(id, version);
      if (!isGone && !this.#versions.wasMissing(id, since))
        this.#world.violate(`${id} has no version ${version ?? "now"}: ${answer.body}`);
    } else if (answer && answer.status !== 503) {
      this.#world.violate(`a file was answered ${answer.status}`);
    }
  }

  async #list(id: string): Promise<void> {
    const since = this.#world.now();
    const before = this.#versions.current(id);
    const answer = await this.#ask(this.#processes.any(), "GET", `/twins/${id}/versions?limit=100`);
    if (answer?.status === 200) {
      const listed = dataOf<ListedVersion[]>(answer);
      for (const { version, revision } of listed)
        if (this.#versions.find(id, version)?.revision !== revision)
          this.#world.violate(`${id} is said to have a version ${version}, ${revision}`);
      if (
        before &&
        this.#isKept(id, before.version) &&
        !listed.some(({ version }) => version === before.version)
      )
        this.#world.violate(`${id} lacks version ${before.version}`);
      const current = listed.find((version) => version.current);
      if (!this.#versions.wasEver(id, since, (stored) => stored?.version === current?.version))
        this.#world.violate(`${id} is said to be ${current?.version}`);
      if (current) this.#known.set(id, current);
    } else if (
      answer?.status === 404 ? !this.#versions.wasMissing(id, since) : answer && answer.status !== 503
    ) {
      this.#world.violate(`versions were answered ${answer?.status} ${answer?.body}`);
    }
  }

  /** After a while, each process answers with what is stored. */
  async #requireNoticed(id: string): Promise<void> {
    await this.#world.pause(noticeMs);
    await Promise.all(this.#processes.all().map((process) => this.#lookAt(id, process)));
  }

  async #lookAt(id: string, process: Process): Promise<void> {
    const askedAt = this.#world.now();
    const answer = await this.#askAsUser(process, "GET", `/twins/${id}`);
    if (answer?.status === 200)
      this.#versions.requireNotice(id, dataOf<{ name: string }>(answer).name, askedAt);
    else if (answer?.status === 404) this.#versions.requireNoticeOfNone(id, askedAt);
    else if (answer && answer.status !== 503) this.#world.violate(`a twin was answered ${answer.status}`);
  }
}
