/** What states, verdicts and conditions mean for the eye: how grave they are, in what order, in what colour. */
import type { Condition, ConditionType, JobRow, Severity, State, Verdict } from "../api/types";

/** PatternFly's names of label colours that the dashboard uses. */
export type Tone = "red" | "orange" | "blue" | "green" | "teal" | "grey" | "purple";

/** Severity of each condition, gravest first: the order in which the verdict is chosen. */
export const SEVERITY: Readonly<Record<ConditionType, Severity>> = {
  Stalled: "critical",
  NonFinite: "critical",
  Diverging: "critical",
  RestartLoop: "critical",
  Silent: "warning",
  StragglingRank: "warning",
  Slow: "warning",
  Overfitting: "warning",
  Plateaued: "warning",
  EvalPlateaued: "notice",
  Frozen: "notice",
  TotalWrong: "notice",
  CheckpointLate: "notice",
};

export const CONDITIONS = Object.keys(SEVERITY) as readonly ConditionType[];

/** All verdicts, gravest first, then those that say how a run goes. */
export const VERDICTS: readonly Verdict[] = [...CONDITIONS, "Starting", "Undecided", "Progressing", "Finishing"];

export const STATES: readonly State[] = [
  "Running",
  "Queued",
  "Pending",
  "Created",
  "Restarting",
  "Paused",
  "Preempted",
  "Failed",
  "Lost",
  "Stopped",
  "Complete",
  "Deleting",
  "Unknown",
];

const ENDED: ReadonlySet<State> = new Set<State>(["Complete", "Failed", "Stopped", "Lost"]);

/** Whether nothing more is expected of a job in this state. */
export const hasEnded = (state: State): boolean => ENDED.has(state);

const SEVERITY_TONES: Readonly<Record<Severity, Tone>> = { critical: "red", warning: "orange", notice: "blue" };

export const severityTone = (severity: Severity): Tone => SEVERITY_TONES[severity];

export function severityOf(verdict: Verdict | null): Severity | null {
  return verdict !== null && verdict in SEVERITY ? SEVERITY[verdict as ConditionType] : null;
}

export function verdictTone(verdict: Verdict | null): Tone {
  const severity = severityOf(verdict);
  if (severity) return SEVERITY_TONES[severity];
  if (verdict === "Progressing" || verdict === "Finishing") return "green";
  return "grey";
}

export function stateTone(state: State): Tone {
  switch (state) {
    case "Running":
      return "green";
    case "Complete":
      return "teal";
    case "Failed":
    case "Lost":
      return "red";
    case "Stopped":
    case "Paused":
    case "Preempted":
    case "Restarting":
      return "orange";
    case "Queued":
    case "Pending":
    case "Created":
      return "blue";
    default:
      return "grey";
  }
}

const RANK = new Map(VERDICTS.map((verdict, index) => [verdict, index]));

/** Order of verdicts, gravest lowest; none at all is last. */
export const verdictRank = (verdict: Verdict | null): number =>
  verdict === null ? VERDICTS.length : (RANK.get(verdict) ?? VERDICTS.length);

/** The conditions that stand, gravest first. */
export function standing(job: JobRow): Condition[] {
  const conditions = job.conditions.filter((each) => each.until === undefined || each.until === null);
  return conditions.sort((a, b) => verdictRank(a.type) - verdictRank(b.type));
}

/** Since when the verdict stands, as Unix seconds; null where no condition gives it. */
export function verdictSince(job: JobRow): number | null {
  const cause = standing(job).find((each) => each.type === job.verdict);
  return cause ? cause.since : null;
}
