/**
 * Sparklines of the rows in sight: fetched together when rows come into sight, then grown with the stream. Nothing is asked
 * for twice but after a break of the stream.
 */
import { useCallback, useEffect, useSyncExternalStore } from "react";
import { metric } from "../model/job";
import { extend, SPARK_POINTS, type SparkPoint } from "../model/spark";
import { getSparklines } from "./client";
import { useStore } from "./react";
import type { JobStore, Seen } from "./store";
import { keyText } from "./types";

const BATCH = 60;
const GATHER = 60;

export class SparkStore {
  readonly #courses = new Map<string, readonly SparkPoint[]>();
  readonly #wanted = new Set<string>();
  readonly #asked = new Set<string>();
  readonly #listeners = new Map<string, Set<() => void>>();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #live = true;

  constructor(store: JobStore) {
    store.subscribeChanges((changed) => {
      for (const seen of changed) this.#grow(seen);
    });
    store.subscribeConnection(() => {
      const live = store.connection().kind === "live";
      // What happened meanwhile is not in the stream: ask anew for what is in sight.
      if (live && !this.#live) this.#refresh();
      this.#live = live;
    });
  }

  course(key: string): readonly SparkPoint[] | undefined {
    return this.#courses.get(key);
  }

  subscribe(key: string, listener: () => void): () => void {
    const listeners = this.#listeners.get(key) ?? new Set();
    listeners.add(listener);
    this.#listeners.set(key, listeners);
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0) this.#listeners.delete(key);
    };
  }

  /** A row has come into sight. */
  want(key: string): void {
    if (this.#asked.has(key)) return;
    this.#wanted.add(key);
    this.#timer ??= setTimeout(() => void this.#fetch(), GATHER);
  }

  async #fetch(): Promise<void> {
    this.#timer = undefined;
    // Rows that were only scrolled past are not asked for.
    const keys = [...this.#wanted].filter((key) => this.#listeners.has(key)).slice(0, BATCH);
    for (const key of keys) this.#asked.add(key);
    const left = [...this.#wanted].filter((key) => this.#listeners.has(key) && !this.#asked.has(key));
    this.#wanted.clear();
    for (const key of left) this.want(key);
    if (keys.length === 0) return;
    try {
      const found = new Map((await getSparklines(keys, SPARK_POINTS)).map((each) => [keyText(each), each.points]));
      for (const key of keys) this.#set(key, found.get(key) ?? []);
    } catch {
      for (const key of keys) this.#asked.delete(key); // asked again when the stream is back or the row comes anew
    }
  }

  #grow({ key, job }: Seen): void {
    const course = this.#courses.get(key);
    const value = metric(job, "loss");
    const step = job.progress.step;
    if (course && value !== null && step !== undefined && step !== null) this.#set(key, extend(course, step, value));
  }

  #refresh(): void {
    this.#asked.clear();
    for (const key of this.#courses.keys()) if (!this.#listeners.has(key)) this.#courses.delete(key);
    for (const key of this.#listeners.keys()) this.want(key);
  }

  #set(key: string, course: readonly SparkPoint[]): void {
    if (this.#courses.get(key) === course) return;
    this.#courses.set(key, course);
    for (const listener of this.#listeners.get(key) ?? []) listener();
  }
}

const stores = new WeakMap<JobStore, SparkStore>();

/** The loss of one job in few points; undefined while it is not known. */
export function useSpark(key: string): readonly SparkPoint[] | undefined {
  const jobs = useStore();
  let sparks = stores.get(jobs);
  if (!sparks) {
    sparks = new SparkStore(jobs);
    stores.set(jobs, sparks);
  }
  const known = sparks;
  useEffect(() => known.want(key), [known, key]);
  return useSyncExternalStore(
    useCallback((listener) => known.subscribe(key, listener), [known, key]),
    () => known.course(key),
  );
}
