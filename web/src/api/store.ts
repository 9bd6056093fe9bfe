/**
 * What this tab knows of all jobs, as an external store for React: filled by the worker's messages, told to React at most once
 * per animation frame.
 */
import type { Connection, Message, Request } from "./feed";
import { type JobRow, keyText } from "./types";

/** What is known of a job, and when the server said so: ages and remaining times in it count from then (Unix seconds). */
export interface Seen<T extends JobRow = JobRow> {
  readonly key: string;
  readonly job: T;
  readonly at: number;
}

/** One state of the store; a new object for each change. */
export interface Fleet {
  /** Whether the whole list is here; while the first one comes, what has come of it is. */
  readonly known: boolean;
  readonly list: readonly Seen[];
  readonly byKey: ReadonlyMap<string, Seen>;
}

type Listener = () => void;
/** Hears of jobs that have just changed; for what grows with them, such as sparklines. */
type ChangeListener = (changed: readonly Seen[]) => void;

export class JobStore {
  #jobs = new Map<string, Seen>();
  #arriving: Map<string, Seen> | undefined;
  #fleet: Fleet = { known: false, list: [], byKey: this.#jobs };
  #connection: Connection = { kind: "connecting" };
  #offset = 0;
  #known = false;
  #dirty = false;
  #frame = 0;
  readonly #listeners = new Set<Listener>();
  readonly #connectionListeners = new Set<Listener>();
  readonly #changeListeners = new Set<ChangeListener>();
  readonly #schedule: (flush: () => void) => void;

  constructor(schedule: (flush: () => void) => void = onNextFrame) {
    this.#schedule = schedule;
  }

  readonly fleet = (): Fleet => this.#fleet;
  readonly connection = (): Connection => this.#connection;
  /** The server's clock, as Unix seconds. */
  readonly now = (): number => Date.now() / 1000 + this.#offset;

  readonly subscribe = (listener: Listener): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };
  readonly subscribeConnection = (listener: Listener): (() => void) => {
    this.#connectionListeners.add(listener);
    return () => this.#connectionListeners.delete(listener);
  };
  readonly subscribeChanges = (listener: ChangeListener): (() => void) => {
    this.#changeListeners.add(listener);
    return () => this.#changeListeners.delete(listener);
  };

  /** Takes in a message of the worker. */
  readonly receive = (message: Message): void => {
    if (message.kind === "connection") {
      this.#connection = message.connection;
      for (const listener of this.#connectionListeners) listener();
      return;
    }
    this.#offset = message.serverTime - message.receivedAt;
    if (message.first) this.#arriving = new Map();
    const target = this.#arriving ?? this.#jobs;
    const changed = message.rows.map((job): Seen => {
      const seen = { key: keyText(job), job, at: job.at };
      target.set(seen.key, seen);
      return seen;
    });
    for (const key of message.deleted) target.delete(key);
    if (this.#arriving && message.last) {
      this.#jobs = this.#arriving;
      this.#arriving = undefined;
      this.#known = true;
    }
    for (const listener of this.#changeListeners) listener(changed);
    if (this.#arriving && !this.#known) this.#jobs = this.#arriving;
    if (!this.#arriving || !this.#known) this.#mark();
  };

  #mark(): void {
    if (this.#dirty) return;
    this.#dirty = true;
    this.#schedule(() => {
      this.#dirty = false;
      this.#frame += 1;
      const byKey = new Map(this.#jobs);
      this.#fleet = { known: this.#known, list: [...byKey.values()], byKey };
      for (const listener of this.#listeners) listener();
    });
  }
}

function onNextFrame(flush: () => void): void {
  // A hidden tab gets no frames; it need not be told more than once a second either.
  if (document.hidden) setTimeout(flush, 1000);
  else requestAnimationFrame(flush);
}

/** Connects a store to the browser's one stream. Returns how to ask for another attempt at once. */
export function connect(store: JobStore): (request: Request) => void {
  const port = openPort();
  port.onmessage = (event: MessageEvent<Message>) => store.receive(event.data);
  const say = (request: Request) => port.postMessage(request);
  window.addEventListener("pagehide", (event) => {
    if (!event.persisted) say("leave");
  });
  window.addEventListener("online", () => say("retry"));
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden) say("retry");
  });
  return say;
}

function openPort(): MessagePort | Worker {
  if (typeof SharedWorker !== "undefined") {
    const shared = new SharedWorker(new URL("./worker.ts", import.meta.url), { type: "module", name: "headway" });
    return shared.port;
  }
  return new Worker(new URL("./worker.ts", import.meta.url), { type: "module", name: "headway" });
}
