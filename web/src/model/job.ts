/** What is read out of one job's document: ages, remaining time, progress, canonical metrics. Pure in (job, at, now). */
import type { Seen } from "../api/store";
import type { Cost, Job, JobKey, JobRow } from "../api/types";
import { isKnown } from "./format";
import { hasEnded } from "./verdict";

/** Seconds without a word after which a job that should be heard looks stale. */
export const STALE_SECONDS = 30;

/** Other names of the metrics that the dashboard knows; as in the server's protocol/limits.py. */
const ALIASES: Readonly<Partial<Record<string, readonly string[]>>> = {
  loss: ["train_loss", "train/loss"],
  eval_loss: ["val_loss", "validation_loss", "eval/loss"],
  learning_rate: ["lr", "train/learning_rate"],
  grad_norm: ["gradient_norm", "train/grad_norm"],
};

export type Canonical = "loss" | "eval_loss" | "learning_rate" | "grad_norm";

/** The canonical name that a metric's own name stands for; its own where it stands for none. */
export function canonicalName(name: string): string {
  return Object.keys(ALIASES).find((canonical) => ALIASES[canonical]?.includes(name)) ?? name;
}

/** The name that a job gives to a metric, canonical or its own; null when it has none. */
export function metricName(job: JobRow, canonical: string): string | null {
  if (canonical in job.metrics) return canonical;
  return ALIASES[canonical]?.find((alias) => alias in job.metrics) ?? null;
}

export function metric(job: JobRow, canonical: Canonical): number | null {
  const name = metricName(job, canonical);
  return name === null ? null : (job.metrics[name] ?? null);
}

/** Metrics besides loss, learning rate and gradient norm whose names say that they come from an evaluation. */
export function evaluationMetrics(job: Job): string[] {
  return Object.keys(job.metrics)
    .filter((name) => /^(eval|val|valid|validation|test)([_/]|$)/.test(name))
    .sort();
}

/** When the job was last heard of, as Unix seconds; when one ended that has; null before the first word. */
export function contactAt({ job, at }: Pick<Seen, "job" | "at">): number | null {
  if (hasEnded(job.state)) return job.endedAt ?? job.updatedAt;
  if (isKnown(job.lastContactAge)) return at - job.lastContactAge;
  return job.startedAt === null ? null : job.updatedAt;
}

/** Seconds since then. */
export function contactAge(seen: Seen, now: number): number | null {
  const contact = contactAt(seen);
  return contact === null ? null : Math.max(0, now - contact);
}

/** Whether a job that should be heard has been quiet for too long. */
export function isStale(seen: Seen, now: number): boolean {
  if (seen.job.state !== "Running") return false;
  if (seen.job.verdict === "Silent") return true;
  const age = contactAge(seen, now);
  return age !== null && age > STALE_SECONDS;
}

export interface Remaining {
  readonly seconds: number;
  readonly low: number;
  readonly high: number;
  readonly finishAt: number;
}

/** Remaining time and its interval, counted down to now; null when it is not known. */
export function remaining({ job, at }: Seen, now: number): Remaining | null {
  const eta = job.eta;
  if (!eta || hasEnded(job.state)) return null;
  const passed = job.state === "Running" ? Math.max(0, now - at) : 0;
  return {
    seconds: Math.max(0, eta.seconds - passed),
    low: Math.max(0, eta.low - passed),
    high: Math.max(0, eta.high - passed),
    finishAt: eta.finishAt,
  };
}

/** Progress in percent, finer than the whole number where step and total are known; null while unknown. */
export function percentOf(job: JobRow): number | null {
  const { percent, step, totalSteps } = job.progress;
  if (!isKnown(percent)) return null;
  if (isKnown(step) && isKnown(totalSteps) && totalSteps > 0 && percent < 100) {
    const exact = (100 * step) / totalSteps;
    if (exact >= percent && exact < percent + 1) return exact;
  }
  return percent;
}

/** Seconds since the job was created. */
export const age = (job: JobRow, now: number): number => Math.max(0, now - job.createdAt);

/** Seconds from the first start to the end, or to now; null before the start. */
export function runTime(job: JobRow, now: number): number | null {
  return job.startedAt === null ? null : Math.max(0, (job.endedAt ?? now) - job.startedAt);
}

export function devices(job: JobRow): number | null {
  const each = job.spec.devicesPerNode;
  return isKnown(each) ? each * (job.spec.nodes ?? 1) : null;
}

/** What a cost is compared by: money where it is known, else device-hours. */
export function costValue(cost: Cost | undefined): number | null {
  return cost?.money ?? cost?.deviceHours ?? null;
}

/** Seconds and steps of work since the last checkpoint: what a stop without saving would lose. Null where unknown. */
export function atRisk(job: JobRow): { readonly steps: number | null; readonly from: number | null } {
  const step = job.progress.step;
  const saved = job.checkpoint?.step;
  if (!isKnown(step)) return { steps: null, from: null };
  return isKnown(saved) ? { steps: Math.max(0, step - saved), from: saved } : { steps: step, from: null };
}

export const canStop = (job: JobRow): boolean => !hasEnded(job.state) && job.state !== "Deleting";
export const canPause = (job: JobRow): boolean => job.state === "Running" || job.state === "Restarting";
export const canResume = (job: JobRow): boolean => job.state === "Paused";
export const canCheckpoint = (job: JobRow): boolean => job.state === "Running";

/** The shell line that does the same as a button. */
export function commandLine(verb: "checkpoint" | "pause" | "resume" | "stop" | "show" | "logs", job: JobKey): string {
  const namespace = job.namespace === "local" ? "" : ` --namespace ${quote(job.namespace)}`;
  return `headway ${verb} ${quote(job.name)}${namespace}`;
}

/** The line of Python that does the same. */
export function sdkLine(
  verb: "job" | "log" | "checkpoint" | "pause" | "resume" | "stop",
  job: JobKey,
  more = "",
): string {
  const namespace = job.namespace === "local" ? "" : `, namespace=${JSON.stringify(job.namespace)}`;
  return `Client().${verb}(${JSON.stringify(job.name)}${namespace}${more})`;
}

/** A word as a POSIX shell reads it. */
export function quote(word: string): string {
  if (/^[A-Za-z0-9_./:@%+=,-]+$/.test(word)) return word;
  return `'${word.replaceAll("'", "'\\''")}'`;
}
