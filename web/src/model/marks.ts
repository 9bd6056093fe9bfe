/** What is marked on a curve: conditions, attempts, checkpoints, values that are no number. Pure. */
import type { Condition, ConditionType, Job, Severity } from "../api/types";
import { originOf, placement, type Range, type Stretch, type XAxis } from "./curves";
import { isKnown } from "./format";

/** A condition as a stretch of x. */
export interface ConditionSpan {
  readonly type: ConditionType;
  /** The metric that it is of; null for one of the whole run. */
  readonly metric: string | null;
  readonly severity: Severity;
  readonly from: number;
  readonly to: number;
  readonly standing: boolean;
}

export interface AttemptMark {
  readonly ordinal: number;
  readonly x: number;
}

export interface CheckpointMark {
  readonly step: number;
  readonly x: number;
}

/** Neighbouring points that had values which are no number. */
export interface GapMark {
  readonly from: number;
  readonly to: number;
  /** How many values were not finite. */
  readonly bad: number;
  /** Whether nothing finite was left to draw. */
  readonly whole: boolean;
}

export interface Marks {
  readonly conditions: readonly ConditionSpan[];
  readonly attempts: readonly AttemptMark[];
  readonly checkpoints: readonly CheckpointMark[];
}

export const NO_MARKS: Marks = { conditions: [], attempts: [], checkpoints: [] };

/** What concerns the values of one metric alone, and nothing that another one shows. */
const OF_ITS_METRIC: ReadonlySet<ConditionType> = new Set<ConditionType>(["NonFinite", "Frozen"]);

/**
 * What is marked on the curves of some of a job's metrics: the job's attempts and checkpoints, and its conditions but for
 * those of other metrics alone. `now` (Unix seconds) is where what stands reaches to.
 */
export function marksOf(
  job: Job,
  metrics: readonly string[],
  stretches: readonly Stretch[],
  axis: XAxis,
  now: number,
): Marks {
  const concerns = ({ type, metric }: ConditionSpan) =>
    metric === null || !OF_ITS_METRIC.has(type) || metrics.includes(metric);
  return {
    conditions: conditionSpans(job, stretches, axis, now).filter(concerns),
    attempts: attemptMarks(job, stretches, axis),
    checkpoints: checkpointMarks(job, stretches, axis),
  };
}

function conditionSpans(job: Job, stretches: readonly Stretch[], axis: XAxis, now: number): ConditionSpan[] {
  const end = Math.max(...stretches.map((each) => each.x.at(-1) ?? Number.NEGATIVE_INFINITY));
  const latest = job.endedAt ?? now;
  return job.conditions.flatMap((each: Condition): ConditionSpan[] => {
    const from = whereOf(job, stretches, axis, each.sinceStep, each.since);
    if (from === null) return [];
    const standing = !isKnown(each.until);
    const stop = standing ? latest : (each.until ?? latest);
    const to = standing && axis !== "time" ? end : whereOf(job, stretches, axis, each.untilStep, stop);
    const metric = each.metric ?? null;
    return [{ type: each.type, metric, severity: each.severity, from, to: Math.max(from, to ?? end), standing }];
  });
}

/** Where a step, or else a moment, lies on an axis; null when that cannot be told. */
function whereOf(
  job: Job,
  stretches: readonly Stretch[],
  axis: XAxis,
  step: number | null | undefined,
  moment: number,
): number | null {
  if (axis === "time") {
    const origin = originOf(job);
    return origin === null ? null : Math.max(0, moment - origin);
  }
  const place = placement(job, axis);
  if (!place) return null;
  if (isKnown(step)) return place(undefined, step, 0);
  const attempt = job.attempts.findLast((each) => each.startedAt <= moment);
  const t = moment - (attempt?.startedAt ?? moment);
  let found: number | null = null;
  for (const part of stretches) {
    if (part.attempt !== attempt?.id) continue;
    const index = part.t.findLastIndex((each) => each <= t);
    found = part.x[index] ?? found ?? part.x[0] ?? null;
  }
  return found;
}

function attemptMarks(job: Job, stretches: readonly Stretch[], axis: XAxis): AttemptMark[] {
  const place = placement(job, axis);
  if (!place) return [];
  return job.attempts.slice(1).flatMap((attempt): AttemptMark[] => {
    if (axis === "time") return [{ ordinal: attempt.ordinal, x: place(attempt, 0, 0) }];
    const first = attempt.resumedFromStep ?? stretches.find((each) => each.attempt === attempt.id)?.step[0];
    return first === undefined ? [] : [{ ordinal: attempt.ordinal, x: place(attempt, first, 0) }];
  });
}

function checkpointMarks(job: Job, stretches: readonly Stretch[], axis: XAxis): CheckpointMark[] {
  const place = placement(job, axis);
  if (!place) return [];
  const saved = new Map<number, string | undefined>();
  for (const attempt of job.attempts) {
    for (const step of attempt.checkpoints ?? []) saved.set(step, attempt.id);
    if (attempt.checkpoint) saved.set(attempt.checkpoint.step, attempt.id);
  }
  if (job.checkpoint && !saved.has(job.checkpoint.step)) saved.set(job.checkpoint.step, job.attempts.at(-1)?.id);
  return [...saved].flatMap(([step, id]): CheckpointMark[] => {
    if (axis !== "time") return [{ step, x: place(undefined, step, 0) }];
    for (const part of stretches) {
      if (part.attempt !== id) continue;
      const index = part.step.findIndex((each) => each >= step);
      const x = part.x[index];
      if (x !== undefined) return [{ step, x }];
    }
    return [];
  });
}

/** Where a curve's values were not finite: neighbouring points together. */
export function gapsOf(stretches: readonly Stretch[]): GapMark[] {
  const gaps: GapMark[] = [];
  for (const part of stretches) {
    let open: { from: number; to: number; bad: number; whole: boolean } | null = null;
    part.x.forEach((x, index) => {
      const bad = part.bad[index] ?? 0;
      const whole = !Number.isFinite(part.mean[index] ?? Number.NaN);
      if (bad === 0 && !whole) {
        if (open) gaps.push(open);
        open = null;
      } else if (open && open.whole === whole) {
        open.to = x;
        open.bad += Math.max(1, bad);
      } else {
        if (open) gaps.push(open);
        open = { from: x, to: x, bad: Math.max(1, bad), whole };
      }
    });
    if (open) gaps.push(open);
  }
  return gaps;
}

/** The axis's extent with what is marked beyond the last point: on a time axis, the time that has passed without one. */
export function withMarks(range: Range | null, marks: Marks): Range | null {
  if (!range) return null;
  const ends = marks.conditions.map((each) => each.to);
  return [range[0], Math.max(range[1], ...ends)];
}
