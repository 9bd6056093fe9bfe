/**
 * Metric history as curves: stretches of points per attempt placed on an axis, and columns that share one x as uPlot wants
 * them. Stands between the API's series and `components/chart`. Pure.
 */
import type { Attempt, Job, Series, SeriesPoint } from "../api/types";
import { isKnown } from "./format";

/** What runs along x: steps, seconds since the job first started, or epochs. */
export type XAxis = "step" | "time" | "epoch";

/** One metric of one job. */
export interface Curve {
  readonly job: Job;
  readonly metric: string;
  /** The metric's series, one for each attempt that has any. */
  readonly series: readonly Series[];
}

/** A part of a curve that one attempt wrote: equally long columns, x never falling. */
export interface Stretch {
  readonly attempt: string;
  /** Its ordinal among the job's attempts, from 1. */
  readonly ordinal: number;
  /** Whether a later attempt trained the same steps again. */
  readonly superseded: boolean;
  readonly x: readonly number[];
  readonly step: readonly number[];
  /** Seconds since the attempt began. */
  readonly t: readonly number[];
  /** NaN where no sample was finite. */
  readonly mean: readonly number[];
  readonly low: readonly number[];
  readonly high: readonly number[];
  readonly n: readonly number[];
  /** How many of the n were not finite. */
  readonly bad: readonly number[];
}

/** Unix seconds from which a job's time axis counts; null before its first start. */
export function originOf(job: Job): number | null {
  return job.attempts[0]?.startedAt ?? job.startedAt;
}

/** Epochs in one step; null where the job has told of no epochs. */
export function epochsPerStep(job: Job): number | null {
  const { step, epoch, totalSteps, totalEpochs } = job.progress;
  if (isKnown(totalSteps) && isKnown(totalEpochs) && totalSteps > 0 && totalEpochs > 0) return totalEpochs / totalSteps;
  if (isKnown(step) && isKnown(epoch) && step > 0 && epoch > 0) return epoch / step;
  return null;
}

/** Where a step at `t` seconds of an attempt lies on the axis. */
export type Placement = (attempt: Attempt | undefined, step: number, t: number) => number;

/** How a job's points are placed; null when it knows nothing of this axis. */
export function placement(job: Job, axis: XAxis): Placement | null {
  if (axis === "step") return (_, step) => step;
  if (axis === "epoch") {
    const rate = epochsPerStep(job);
    return rate === null ? null : (_, step) => step * rate;
  }
  const origin = originOf(job);
  return origin === null ? null : (attempt, _, t) => (attempt?.startedAt ?? origin) - origin + t;
}

/** A curve's stretches in the order of attempts, each one's superseded end split off. */
export function stretchesOf(curve: Curve, axis: XAxis): Stretch[] {
  const place = placement(curve.job, axis);
  if (!place) return [];
  const attempts = new Map(curve.job.attempts.map((attempt, index) => [attempt.id, { attempt, index }]));
  const own = curve.series
    .filter((each) => each.metric === curve.metric && each.points.length > 0)
    .map((each, index) => ({ each, order: attempts.get(each.attempt)?.index ?? attempts.size + index }))
    .sort((a, b) => a.order - b.order);
  const stretches: Stretch[] = [];
  let redone = Number.POSITIVE_INFINITY;
  for (let index = own.length - 1; index >= 0; index -= 1) {
    const entry = own[index];
    if (!entry) continue;
    const { points } = entry.each;
    const known = attempts.get(entry.each.attempt);
    const ordinal = known?.attempt.ordinal ?? entry.order + 1;
    const cut = points.findIndex((point) => point[0] >= redone);
    const make = (part: readonly SeriesPoint[], superseded: boolean) =>
      stretch(part, entry.each.attempt, ordinal, superseded, (point) => place(known?.attempt, point[0], point[1]));
    // The superseded end begins with the last point that still counts, so that the two lines meet.
    if (cut >= 0) stretches.unshift(make(points.slice(Math.max(0, cut - 1)), true));
    const kept = cut < 0 ? points : points.slice(0, cut);
    if (kept.length > 0) stretches.unshift(make(kept, false));
    redone = Math.min(redone, points[0]?.[0] ?? redone);
  }
  return stretches;
}

function stretch(
  given: readonly SeriesPoint[],
  attempt: string,
  ordinal: number,
  superseded: boolean,
  place: (point: SeriesPoint) => number,
): Stretch {
  let points = given.map((point) => ({ point, x: place(point) }));
  if (points.some(({ x }, index) => x < (points[index - 1]?.x ?? x))) points = points.sort((a, b) => a.x - b.x);
  const column = (index: 0 | 1 | 2 | 3 | 4 | 5 | 6) => points.map(({ point }) => point[index]);
  return {
    attempt,
    ordinal,
    superseded,
    x: points.map(({ x }) => x),
    step: column(0),
    t: column(1),
    mean: column(2),
    low: column(3),
    high: column(4),
    n: column(5),
    bad: column(6),
  };
}

/** A stretch of x: from, to. */
export type Range = readonly [from: number, to: number];

/** From the first to the last x of all stretches; null when there is no point. */
export function extent(stretches: readonly Stretch[]): Range | null {
  let from = Number.POSITIVE_INFINITY;
  let to = Number.NEGATIVE_INFINITY;
  for (const { x } of stretches) {
    from = Math.min(from, x[0] ?? from);
    to = Math.max(to, x.at(-1) ?? to);
  }
  return from <= to ? [from, to] : null;
}

/** What holds both; null where nothing is held. */
export function union(one: Range | null, other: Range | null): Range | null {
  if (!one || !other) return one ?? other;
  return [Math.min(one[0], other[0]), Math.max(one[1], other[1])];
}

/** The index of the x nearest to `wanted`; -1 in an empty column. `xs` never falls. */
export function nearest(xs: readonly number[], wanted: number): number {
  let low = 0;
  let high = xs.length - 1;
  if (high < 0) return -1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if ((xs[middle] ?? 0) < wanted) low = middle;
    else high = middle;
  }
  return Math.abs((xs[low] ?? 0) - wanted) <= Math.abs((xs[high] ?? 0) - wanted) ? low : high;
}

/** The steps whose points lie in a range of x, with one more on either side; null when there are none. */
export function stepsWithin(stretches: readonly Stretch[], [from, to]: Range): readonly [number, number] | null {
  let first = Number.POSITIVE_INFINITY;
  let last = Number.NEGATIVE_INFINITY;
  for (const { x, step } of stretches) {
    const begin = x.findLastIndex((each) => each <= from);
    const end = x.findIndex((each) => each >= to);
    const steps = step.slice(Math.max(0, begin), end < 0 ? undefined : end + 1);
    first = Math.min(first, ...steps.slice(0, 1));
    last = Math.max(last, ...steps.slice(-1));
  }
  return first <= last ? [first, last] : null;
}

/** A value at an x: undefined where this column has no point there, null where it has one that cannot be drawn (a gap). */
export type Cell = number | null | undefined;

/** Columns of different x brought to one: the union of all x, rising, each once. */
export function align(
  parts: readonly { readonly x: readonly number[]; readonly columns: readonly (readonly number[])[] }[],
): {
  readonly x: number[];
  readonly columns: Cell[][];
} {
  const x = [...new Set(parts.flatMap((part) => part.x))].sort((a, b) => a - b);
  const place = new Map(x.map((value, index) => [value, index]));
  const columns: Cell[][] = [];
  for (const part of parts) {
    const places = part.x.map((value) => place.get(value) ?? 0);
    for (const column of part.columns) {
      const aligned: Cell[] = new Array(x.length);
      places.forEach((at, index) => {
        const value = column[index];
        aligned[at] = value !== undefined && Number.isFinite(value) ? value : null;
      });
      columns.push(aligned);
    }
  }
  return { x, columns };
}

/** A column for a logarithmic scale: what is not positive has no place there. */
export const positive = (column: readonly number[]): number[] =>
  column.map((value) => (value > 0 ? value : Number.NaN));

/** Coarse points with a finer look at some of their steps put in their place. */
export function refine(coarse: readonly Series[], fine: readonly Series[]): Series[] {
  return coarse.map((each) => {
    const detail = fine.find((other) => other.attempt === each.attempt && other.metric === each.metric);
    const first = detail?.points[0];
    const last = detail?.points.at(-1);
    if (!detail || !first || !last) return each;
    const before = each.points.filter((point) => point[0] < first[0]);
    const after = each.points.filter((point) => point[0] > last[0]);
    return { ...each, points: [...before, ...detail.points, ...after] };
  });
}
