/**
 * Whole documents of the few jobs that are looked at closely: asked for when they are first wanted and whenever the stream
 * says that they changed, all together, at most once a second.
 */
import { createContext, useContext, useEffect, useRef, useSyncExternalStore } from "react";
import { useSame } from "../useSame";
import { getJobs } from "./client";
import type { JobStore, Seen } from "./store";
import { type Job, keyText } from "./types";

/** Least time between two requests, in milliseconds. */
const PAUSE = 1000;

type Get = (keys: readonly string[]) => Promise<readonly Job[]>;

export class DetailStore {
  readonly #store: JobStore;
  readonly #get: Get;
  readonly #pause: number;
  readonly #held = new Map<string, Seen<Job>>();
  /** How many want each. */
  readonly #wanted = new Map<string, number>();
  readonly #dirty = new Set<string>();
  readonly #listeners = new Set<() => void>();
  #askedAt = Number.NEGATIVE_INFINITY;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isAsking = false;

  constructor(store: JobStore, get: Get = getJobs, pause = PAUSE) {
    this.#store = store;
    this.#get = get;
    this.#pause = pause;
    store.subscribeChanges((changed) => {
      for (const { key } of changed) this.#mark(key);
    });
    store.subscribeConnection(() => {
      if (store.connection().kind === "live") this.#plan();
    });
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  readonly get = (key: string): Seen<Job> | undefined => this.#held.get(key);

  /** Keeps jobs (as `keyText` writes them) up to date until the returned function is called. */
  readonly want = (keys: readonly string[]): (() => void) => {
    for (const key of keys) {
      this.#wanted.set(key, (this.#wanted.get(key) ?? 0) + 1);
      if (!this.#held.has(key)) this.#mark(key);
    }
    return () => {
      for (const key of keys) {
        const left = (this.#wanted.get(key) ?? 1) - 1;
        if (left > 0) this.#wanted.set(key, left);
        else {
          this.#wanted.delete(key);
          this.#held.delete(key);
          this.#dirty.delete(key);
        }
      }
    };
  };

  #mark(key: string): void {
    if (!this.#wanted.has(key)) return;
    this.#dirty.add(key);
    this.#plan();
  }

  #plan(): void {
    if (this.#timer !== undefined || this.#isAsking || this.#dirty.size === 0) return;
    const wait = Math.max(0, this.#askedAt + this.#pause - Date.now());
    this.#timer = setTimeout(() => void this.#ask(), wait);
  }

  async #ask(): Promise<void> {
    this.#timer = undefined;
    const keys = [...this.#dirty];
    if (keys.length === 0) return;
    this.#dirty.clear();
    this.#askedAt = Date.now();
    this.#isAsking = true;
    try {
      const found = new Map((await this.#get(keys)).map((job) => [keyText(job), job]));
      const at = this.#store.now();
      for (const key of keys) {
        const job = found.get(key);
        if (!job || !this.#wanted.has(key)) this.#held.delete(key);
        else this.#held.set(key, { key, job, at });
      }
      for (const listener of this.#listeners) listener();
      this.#isAsking = false;
      this.#plan();
    } catch {
      // The stream tells how it is with the server: asked again when it is back, or with the next change.
      for (const key of keys) if (this.#wanted.has(key)) this.#dirty.add(key);
      this.#isAsking = false;
    }
  }
}

export const DetailContext = createContext<DetailStore | null>(null);

/** The whole documents of some jobs, in the order asked for; those that have not come or are gone are left out. */
export function useDetails(keys: readonly string[]): readonly Seen<Job>[] {
  const store = useContext(DetailContext);
  if (!store) throw new Error("no DetailStore above this component");
  const wanted = useSame(keys);
  useEffect(() => store.want(wanted), [store, wanted]);
  const last = useRef<readonly Seen<Job>[]>([]);
  return useSyncExternalStore(store.subscribe, () => {
    const found = wanted.map(store.get).filter((seen) => seen !== undefined);
    const before = last.current;
    if (found.length !== before.length || found.some((seen, index) => seen !== before[index])) last.current = found;
    return last.current;
  });
}

/** The whole document of one job; undefined while it has not come. */
export const useDetail = (key: string): Seen<Job> | undefined => useDetails([key])[0];
