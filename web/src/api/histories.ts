/** Metric histories of several jobs at once, each kept up to date as its job moves; and a finer look at a part of one. */
import { type QueryClient, useQueries, useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef } from "react";
import { joinSeries, lastStep, longest } from "../model/series";
import { useSameBy } from "../useSame";
import { getSeries } from "./client";
import { useStore } from "./react";
import { type Job, keyText, type Series } from "./types";

/** Least time between two requests for what is new of one job, in milliseconds. */
const PAUSE = 2000;
const NONE: readonly Series[] = [];

export interface HistoryRequest {
  readonly job: Job;
  readonly metrics: readonly string[];
}

export interface JobHistory {
  readonly series: readonly Series[];
  readonly isPending: boolean;
  readonly error: Error | null;
}

const queryKey = (request: HistoryRequest, points: number) =>
  ["series", keyText(request.job), request.metrics.join("\n"), points] as const;

/** The histories in the order asked for; the same array while nothing changes. `points`: most per metric and attempt. */
export function useHistories(requests: readonly HistoryRequest[], points: number): readonly JobHistory[] {
  const store = useStore();
  const queries = useQueryClient();
  const latest = useRef(requests);
  latest.current = requests;
  useEffect(() => {
    const follower = new Follower(queries, points);
    const unsubscribe = store.subscribeChanges((changed) => {
      const keys = new Set(changed.map((seen) => seen.key));
      for (const { job } of latest.current) {
        const key = keyText(job);
        if (keys.has(key)) follower.moved(key, () => latest.current.find((each) => keyText(each.job) === key));
      }
    });
    return () => {
      unsubscribe();
      follower.close();
    };
  }, [queries, store, points]);
  const results = useQueries({
    queries: requests.map((request) => ({
      queryKey: queryKey(request, points),
      queryFn: ({ signal }: { readonly signal: AbortSignal }) =>
        getSeries(request.job, { metrics: request.metrics, points }, signal),
      enabled: request.metrics.length > 0,
    })),
  });
  return useSameBy(
    results.map(({ data, isLoading, error }): JobHistory => ({ series: data ?? NONE, isPending: isLoading, error })),
    isSame,
  );
}

const isSame = (one: JobHistory, other: JobHistory): boolean =>
  one.series === other.series && one.isPending === other.isPending && one.error === other.error;

/** Asks for what is new of jobs that moved: one request at a time for each, with a pause between. */
class Follower {
  readonly #queries: QueryClient;
  readonly #points: number;
  readonly #waiting = new Map<string, ReturnType<typeof setTimeout>>();
  readonly #abort = new AbortController();

  constructor(queries: QueryClient, points: number) {
    this.#queries = queries;
    this.#points = points;
  }

  /** `present` gives the request as it is when its turn has come. */
  moved(id: string, present: () => HistoryRequest | undefined): void {
    if (this.#waiting.has(id)) return;
    const ask = async () => {
      const request = present();
      try {
        if (request) await this.#catchUp(request);
      } catch {
        // The stream tells how it is with the server; the next change asks again.
      } finally {
        this.#waiting.delete(id);
      }
    };
    this.#waiting.set(
      id,
      setTimeout(() => void ask(), PAUSE),
    );
  }

  close(): void {
    for (const timer of this.#waiting.values()) clearTimeout(timer);
    this.#abort.abort();
  }

  async #catchUp(request: HistoryRequest): Promise<void> {
    const key = queryKey(request, this.#points);
    const known = this.#queries.getQueryData<readonly Series[]>(key);
    const attempt = request.job.attempts.at(-1)?.id;
    if (!known) return;
    const last = attempt === undefined ? null : lastStep(known, attempt);
    if (attempt === undefined || last === null || longest(known) > 2 * this.#points) {
      await this.#queries.invalidateQueries({ queryKey: key });
      return;
    }
    const asked = { metrics: request.metrics, points: this.#points, attempt, from: last };
    const fresh = await getSeries(request.job, asked, this.#abort.signal);
    this.#queries.setQueryData<readonly Series[]>(key, (held) => joinSeries(held ?? known, fresh));
  }
}

/** Steps to look at more closely. */
export type Steps = readonly [from: number, to: number];

/** A finer look at some steps of one job; empty while none is asked for or it has not come. */
export function useDetail(request: HistoryRequest, points: number, steps: Steps | null): readonly Series[] {
  const query = useQuery({
    queryKey: [...queryKey(request, points), "steps", steps?.[0], steps?.[1]],
    queryFn: ({ signal }) =>
      getSeries(request.job, { metrics: request.metrics, points, from: steps?.[0] ?? 0, to: steps?.[1] ?? 0 }, signal),
    enabled: steps !== null && request.metrics.length > 0,
    placeholderData: (before) => before,
    gcTime: 30_000,
  });
  return steps === null ? NONE : (query.data ?? NONE);
}
