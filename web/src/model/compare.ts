/** Runs side by side: which metrics and hyperparameters there are to compare, who is best, in what order. Pure. */
import { type Job, readKey } from "../api/types";
import { canonicalName, metricName } from "./job";

export type Direction = "min" | "max";

export interface MetricCell {
  /** The run's own name of the metric; null when it has none. */
  readonly name: string | null;
  /** Newest value; may be NaN or infinite; null when unknown. */
  readonly final: number | null;
  /** Best value; null where the direction is not known. */
  readonly best: number | null;
  /** 1 is best; equal values share a rank; null without a direction or a value. */
  readonly rank: number | null;
  readonly isBestFinal: boolean;
  readonly isBest: boolean;
}

/** One metric over all runs, under its canonical name where it has one. */
export interface MetricColumn {
  readonly metric: string;
  readonly direction: Direction | null;
  /** In the order of the runs. */
  readonly cells: readonly MetricCell[];
}

export type ParameterValue = string | number | boolean | null | undefined;

/** One hyperparameter over all runs; undefined where a run does not have it. */
export interface Parameter {
  readonly name: string;
  readonly values: readonly ParameterValue[];
}

/** All metrics of some runs, those with a direction that most runs have first. */
export function metricColumns(jobs: readonly Job[]): MetricColumn[] {
  const names = new Set(jobs.flatMap((job) => Object.keys(job.metrics).map(canonicalName)));
  const columns = [...names].map((metric) => metricColumn(jobs, metric));
  const count = (column: MetricColumn) => column.cells.filter((cell) => cell.name !== null).length;
  return columns.sort(
    (a, b) =>
      Number(b.direction !== null) - Number(a.direction !== null) ||
      count(b) - count(a) ||
      order(a.metric) - order(b.metric) ||
      (a.metric < b.metric ? -1 : 1),
  );
}

const FIRST = ["eval_loss", "loss"];
const order = (metric: string): number => {
  const index = FIRST.indexOf(metric);
  return index < 0 ? FIRST.length : index;
};

function metricColumn(jobs: readonly Job[], metric: string): MetricColumn {
  const own = jobs.map((job) => metricName(job, metric));
  const told = new Set(jobs.flatMap((job, index) => job.directions[own[index] ?? ""] ?? []));
  const [first] = told;
  const direction = told.size === 1 && (first === "min" || first === "max") ? first : null;
  const finals = jobs.map((job, index) => entry(job.metrics, own[index]));
  const bests = jobs.map((job, index) => (direction === null ? null : entry(job.best, own[index])));
  const counted = bests.map((best, index) => worth(best, finals[index] ?? null));
  const ranks = rank(counted, direction);
  const finalRanks = rank(finals, direction);
  return {
    metric,
    direction,
    cells: jobs.map((_, index) => ({
      name: own[index] ?? null,
      final: finals[index] ?? null,
      best: bests[index] ?? null,
      rank: ranks[index] ?? null,
      isBestFinal: finalRanks[index] === 1 && Number.isFinite(finals[index]),
      isBest: ranks[index] === 1 && Number.isFinite(counted[index]),
    })),
  };
}

const entry = (values: Readonly<Record<string, number>>, name: string | null | undefined): number | null =>
  name === null || name === undefined ? null : (values[name] ?? null);

/** What a run is ranked by: its best value, but one that has since come to NaN counts as NaN. */
function worth(best: number | null, final: number | null): number | null {
  return final !== null && !Number.isFinite(final) ? Number.NaN : (best ?? null);
}

/** Ranks from 1; what is no number shares the last rank and moves no other; what is unknown has none. */
export function rank(values: readonly (number | null)[], direction: Direction | null): (number | null)[] {
  if (direction === null) return values.map(() => null);
  const sign = direction === "min" ? 1 : -1;
  const finite = values.filter((value) => value !== null && Number.isFinite(value)) as number[];
  return values.map((value) => {
    if (value === null) return null;
    if (!Number.isFinite(value)) return finite.length + 1;
    return 1 + finite.filter((other) => sign * other < sign * value).length;
  });
}

/** Indexes of the runs by their rank in a column; without ranks as they were chosen. */
export function ranked(column: MetricColumn | undefined, count: number): number[] {
  const indexes = Array.from({ length: count }, (_, index) => index);
  const place = (index: number) => column?.cells[index]?.rank ?? Number.MAX_SAFE_INTEGER;
  return indexes.sort((a, b) => place(a) - place(b) || a - b);
}

export interface Parameters {
  readonly differing: readonly Parameter[];
  /** How many are the same in all runs. */
  readonly same: number;
}

/** Hyperparameters in which the runs differ; having one differs from not having it. */
export function parameters(jobs: readonly Job[]): Parameters {
  const names = [...new Set(jobs.flatMap((job) => Object.keys(job.config)))].sort();
  const all = names.map((name): Parameter => ({ name, values: jobs.map((job) => job.config[name]) }));
  const differing = all.filter(({ values }) => values.some((value) => !Object.is(value, values[0])));
  return { differing, same: all.length - differing.length };
}

/** Which runs are compared, by `keyText`, and by which metric they are ranked; as it stands in the address. */
export interface Comparison {
  readonly keys: readonly string[];
  readonly by: string | null;
}

export function readComparison(query: URLSearchParams): Comparison {
  const keys = [...new Set(query.getAll("job"))].filter((text) => readKey(text) !== null);
  return { keys, by: query.get("by") };
}

/** Writes a comparison into a query, in place; other parameters stay. */
export function writeComparison({ keys, by }: Comparison, query: URLSearchParams): void {
  query.delete("job");
  for (const key of keys) query.append("job", key);
  if (by === null) query.delete("by");
  else query.set("by", by);
}
