/**
 * What the server says in English, said again from the figures that it rests on, in the viewer's language. Pure. Null where
 * figures are missing: then the server's own words stand.
 */
import type { Condition, ConditionType, Eta, Job, JobRow, Verdict } from "../api/types";
import type { MessageKey } from "../i18n/catalogue";
import { type Clause, Figures, join, type Say, sayer, slopesOf, type Writer } from "./clauses";
import { type Format, isKnown } from "./format";
import { percentOf } from "./job";
import { causesOf, messageText } from "./said";
import { hasEnded } from "./verdict";

/** The figures of one condition. */
class ConditionFigures extends Figures {
  readonly condition: Condition;
  /** How long the condition has stood. */
  readonly stood: string | null;
  readonly sinceStep: string | null;

  constructor(condition: Condition, now: number, format: Format) {
    super(condition.evidence ?? {}, format);
    this.condition = condition;
    this.stood = format.duration((condition.until ?? now) - condition.since);
    this.sinceStep = format.count(condition.sinceStep);
  }
}

/** The clauses of each type, what must be said first; those that are null but for the first are left out. */
const CLAUSES: Readonly<
  Record<ConditionType, (figures: ConditionFigures, say: Say, writer: Writer) => readonly Clause[]>
> = {
  Stalled(f, say, { t }) {
    const duration = f.stood;
    const phase = f.text("phase");
    const phaseWords = phase !== null && `phase.${phase}` in PHASES ? t(`phase.${phase}` as MessageKey) : phase;
    const usual =
      phase === null
        ? say("why.Stalled.usual", { gap: f.time("usualGapSeconds"), limit: f.time("limitSeconds") })
        : null;
    return [
      say("why.Stalled", { duration, step: f.count("step") }) ?? say("why.Stalled.start", { duration }),
      say("why.Stalled.phase", { phase: phaseWords }),
      usual ?? say("why.Stalled.limit", { limit: f.time("limitSeconds") }),
      say("why.Stalled.where", { where: f.text("where") }),
      f.is("lockHeld") ? t("why.Stalled.lock") : null,
    ];
  },
  NonFinite(f, say, { t }) {
    const value = replacedText(f.any("value"), t);
    return [say("why.NonFinite", { metric: f.condition.metric, value, step: f.sinceStep })];
  },
  Diverging(f, say, writer) {
    const { metric } = f.condition;
    const figures = {
      best: f.value("best"),
      bestStep: f.count("bestStep"),
      level: f.value("level"),
      ratio: f.value("ratio"),
    };
    return [say("why.Diverging", { metric, ...figures }), ...causesOf(f, writer)];
  },
  RestartLoop(f, say) {
    const count = f.number("attempts");
    return [
      say("why.RestartLoop", { count, step: f.count("bestStep") }) ?? say("why.RestartLoop.none", { count }),
      say("why.RestartLoop.last", { ending: f.text("ending") }),
    ];
  },
  Silent(f, say, { t }) {
    return [say("why.Silent", { step: f.count("lastStep") }) ?? t("why.Silent.start")];
  },
  StragglingRank(f, say) {
    const step = f.number("step");
    const lead = f.number("leadStep");
    const rank = f.count("rank");
    if ((f.number("lost") ?? 0) > 0) {
      return [say("why.StragglingRank.lost", { ranks: f.text("ranks"), count: f.number("heard") })];
    }
    if (step !== null && lead !== null && step < lead) {
      return [say("why.StragglingRank", { rank, step: f.count("step"), lead: f.count("leadStep") })];
    }
    const places = { place: f.text("place"), others: f.text("othersPlace"), count: f.number("others") };
    return [say("why.StragglingRank.places", { rank, ...places }) ?? say("why.StragglingRank.elsewhere", { rank })];
  },
  Slow(f, say) {
    const duration = f.stood;
    const paces = { pace: f.time("stepSeconds"), best: f.time("bestStepSeconds") };
    return [say("why.Slow", { ratio: f.value("ratio"), ...paces, duration })];
  },
  Overfitting(f, say) {
    const { metric } = f.condition;
    const best = { best: f.value("best"), bestStep: f.count("bestStep") };
    return [
      say("why.Overfitting", { metric, ...best, level: f.value("level"), rise: f.share("risePercent") }),
      say("why.Overfitting.share", { share: f.share("sharePercentAfterBest") }),
    ];
  },
  Plateaued: (f, say, writer) => levelledOff("why.Plateaued", f, say, writer),
  EvalPlateaued: (f, say, writer) => levelledOff("why.EvalPlateaued", f, say, writer),
  Frozen(f, say, { t }) {
    const figures = { value: f.any("value"), count: f.number("reports") };
    return [
      say("why.Frozen", { metric: f.condition.metric, ...figures }),
      f.is("othersMove") ? t("why.Frozen.alone") : null,
    ];
  },
  TotalWrong: (f, say) => [say("why.TotalWrong", { step: f.count("step"), total: f.count("totalSteps") })],
  CheckpointLate(f, say, { format }) {
    const risk = { steps: f.count("stepsAtRisk"), duration: format.duration(f.number("secondsAtRisk")) };
    return [
      say("why.CheckpointLate", { ...risk, step: f.count("lastCheckpointStep") }) ??
        say("why.CheckpointLate.none", risk),
      say("why.CheckpointLate.usual", { usual: f.count("usualSteps") }),
    ];
  },
};

/** `0.0 in place of NaN`: what a logger wrote for a value that was no number. */
const REPLACED = /^(\S+) in place of (\S+)$/;

function replacedText(value: string | null, t: Writer["t"]): string | null {
  const [, shown, real] = REPLACED.exec(value ?? "") ?? [];
  return shown && real ? t("why.inPlaceOf", { shown, real }) : value;
}

function levelledOff(
  key: "why.Plateaued" | "why.EvalPlateaued",
  f: ConditionFigures,
  say: Say,
  writer: Writer,
): readonly Clause[] {
  const slopes = slopesOf(f, writer);
  return [
    say(key, {
      metric: f.condition.metric,
      duration: f.stood,
      from: f.sinceStep,
      to: f.count("newestStep") ?? f.count("lastStep"),
    }),
    slopes && say("why.slope", { low: slopes.amount(slopes.low), high: slopes.per(slopes.amount(slopes.high)) }),
    say("why.most", { amount: f.share("mostPercent") }),
    f.is("worsening") ? writer.t("why.worse") : null,
    f.is("rateAtPeak") ? writer.t("why.peak") : null,
    ...causesOf(f, writer),
  ];
}

const PHASES = {
  "phase.init": 1,
  "phase.compile": 1,
  "phase.restore": 1,
  "phase.train": 1,
  "phase.eval": 1,
  "phase.checkpoint": 1,
  "phase.finish": 1,
};

/** What a condition says and rests on. `now` (Unix seconds) is where what stands reaches to. */
export function conditionText(condition: Condition, now: number, writer: Writer): string {
  const [main, ...more] =
    CLAUSES[condition.type]?.(new ConditionFigures(condition, now, writer.format), sayer(writer), writer) ?? [];
  if (!main) return condition.text ?? "";
  return join([main, ...more], writer);
}

/** What the verdict of a job rests on: the gravest condition, or how the run goes. Null for one that does not run. */
export function verdictText(
  job: JobRow & Partial<Pick<Job, "verdictMessage">>,
  standing: readonly Condition[],
  now: number,
  writer: Writer,
): string | null {
  const [gravest] = standing;
  if (gravest) return conditionText(gravest, now, writer);
  if (job.verdictMessage) return messageText(job.verdictMessage, writer);
  const calm: readonly Verdict[] = ["Starting", "Undecided", "Progressing", "Finishing"];
  return job.verdict !== null && calm.includes(job.verdict) ? writer.t(`course.${job.verdict}` as MessageKey) : null;
}

/** The state in words, with where the job stands. */
export function summaryText(job: JobRow & Partial<Pick<Job, "ending">>, { t, format }: Writer): string {
  const state = t(`state.${job.state}`);
  const step = format.count(job.progress.step);
  const total = format.count(job.progress.totalSteps);
  const percent = format.percent(percentOf(job));
  if (job.state === "Complete") {
    if (step === null || total === null || (job.progress.step ?? 0) >= (job.progress.totalSteps ?? 0)) return state;
    return t(job.ending?.kind === "early_stopped" ? "summary.early" : "summary.stepsOf", { state, step, total });
  }
  if (job.state === "Running") {
    return percent === null ? t("summary.unknown", { state }) : t("summary.percent", { state, percent });
  }
  if (!hasEnded(job.state) && !["Preempted", "Restarting", "Paused"].includes(job.state)) return state;
  if (percent !== null) return t("summary.percent", { state, percent });
  return step === null ? state : t("summary.steps", { state, step });
}

/** Where the present attempt began below the one before it; null when it did not. */
export function resumedText(job: Job, { t, format }: Writer): string | null {
  if (job.resumed === null) return null;
  const from = job.attempts.at(-1)?.resumedFromStep;
  if (!isKnown(from)) return t("resumed.start");
  const total = job.progress.totalSteps;
  const percent = isKnown(total) && total > 0 ? format.percent((100 * from) / total) : null;
  return percent === null ? t("resumed.step", { step: format.count(from) ?? "" }) : t("resumed.at", { percent });
}

/** What an estimate of the end rests on. */
export function basisText(eta: Eta, writer: Writer): string {
  const { t, format } = writer;
  const time = format.stepTime(eta.stepSeconds);
  if (time === null || !isKnown(eta.steps)) return eta.basis;
  const pauses = format.duration(eta.pauseSeconds);
  return join(
    [t("basis.pace", { time, count: Math.round(eta.steps) }), pauses && t("basis.pauses", { duration: pauses })],
    writer,
  );
}

/** Figures that other figures or the sentence say already. */
const SAID: ReadonlySet<string> = new Set([
  "hint",
  "uniformLevel",
  "uniformClasses",
  "gradientMetric",
  "gradientBefore",
  "gradientUsual",
  "learningRateAtPeak",
  "slopeLow",
  "slopeHigh",
  "slopeUnit",
  "axis",
  "worsening",
  "rateAtPeak",
  "othersMove",
  "lockHeld",
]);

/** The figures of the evidence that are shown beside the sentence: those that are known, and not in it in words. */
export const shownFigures = (evidence: NonNullable<Condition["evidence"]>) =>
  Object.entries(evidence).filter(([name, value]) => value !== null && value !== undefined && !SAID.has(name));

const NAMED_PREFIX = "evidence.";
/** Names of figures that are points in time. */
const MOMENTS = /At$|^lastContact$/;

/** One figure of the evidence: its name and value as they are shown. `isKey` tells which messages there are. */
export function figureText(
  name: string,
  value: string | number | null | undefined,
  isKey: (key: string) => key is MessageKey,
  { t, format }: Writer,
): readonly [name: string, value: string] {
  const key = NAMED_PREFIX + name;
  const label = isKey(key) ? t(key) : name.replace(/([a-z0-9])([A-Z])/g, "$1 $2").toLowerCase();
  if (typeof value !== "number") return [label, wordText(name, value ?? "—", isKey, t)];
  if (MOMENTS.test(name)) return [label, format.fullMoment(value) ?? "—"];
  if (/percent/i.test(name)) return [label, format.share(value) ?? "—"];
  if (name === "moneyAtRisk") return [label, format.money(value) ?? "—"];
  if (/seconds($|At)/i.test(name)) return [label, format.stepTime(value) ?? "—"];
  return [label, format.value(value) ?? "—"];
}

/** A word among the figures: those of closed lists in the viewer's language, others as they are. */
function wordText(name: string, word: string, isKey: (key: string) => key is MessageKey, t: Writer["t"]): string {
  const key = name === "phase" ? `phase.${word}` : `common.${word}`;
  return isKey(key) && (name === "phase" || word === "yes" || word === "no") ? t(key) : (replacedText(word, t) ?? word);
}
