/** All jobs together: what they hold, what goes nowhere, what ends when, and which to look at first. Pure. */
import type { Seen } from "../api/store";
import type { Condition, ConditionType, Cost, JobRow, State, Verdict } from "../api/types";
import { isKnown } from "./format";
import { devices, remaining } from "./job";
import { hasEnded, STATES, severityOf, standing, VERDICTS, verdictRank } from "./verdict";

/** A sum that says of how many jobs the amount is not known: their share is missing from it, not zero. */
export interface Sum {
  readonly value: number;
  readonly unknown: number;
}

const ZERO: Sum = { value: 0, unknown: 0 };

function add(sum: Sum, amount: number | null | undefined): Sum {
  return isKnown(amount)
    ? { value: sum.value + amount, unknown: sum.unknown }
    : { value: sum.value, unknown: sum.unknown + 1 };
}

export const total = (amounts: readonly (number | null | undefined)[]): Sum => amounts.reduce(add, ZERO);

export interface Amount {
  readonly deviceHours: Sum;
  readonly money: Sum;
}

const amountOf = (costs: readonly (Cost | undefined)[]): Amount => ({
  deviceHours: total(costs.map((cost) => cost?.deviceHours)),
  money: total(costs.map((cost) => cost?.money)),
});

/** Conditions under which nothing is gained, whatever is spent. */
const FUTILE: ReadonlySet<ConditionType> = new Set(["Stalled", "NonFinite", "Diverging", "RestartLoop", "Plateaued"]);

/** The gravest standing condition under which a running job gains nothing; null when there is none. */
export function futility(job: JobRow): Condition | null {
  if (job.state !== "Running") return null;
  return standing(job).find((condition) => FUTILE.has(condition.type)) ?? null;
}

const isRunning = ({ job }: Seen): boolean => job.state === "Running";

/** What the fleet is at now. */
export interface Overview {
  readonly running: number;
  readonly runningDevices: Sum;
  /** Jobs that have not ended and do not run. */
  readonly waiting: number;
  readonly waitingDevices: Sum;
  readonly futile: number;
  readonly futileDevices: Sum;
  /** Money per hour that goes nowhere. */
  readonly futileRate: Sum;
  /** What has been spent since those conditions set in. */
  readonly futileSpent: Amount;
}

export function overview(fleet: readonly Seen[]): Overview {
  const running = fleet.filter(isRunning);
  const waiting = fleet.filter((seen) => !isRunning(seen) && !hasEnded(seen.job.state));
  const futile = running.filter(({ job }) => futility(job) !== null);
  return {
    running: running.length,
    runningDevices: total(running.map(({ job }) => devices(job))),
    waiting: waiting.length,
    waitingDevices: total(waiting.map(({ job }) => devices(job))),
    futile: futile.length,
    futileDevices: total(futile.map(({ job }) => devices(job))),
    futileRate: total(futile.map(({ job }) => job.ledger.pricePerHour)),
    futileSpent: amountOf(futile.map(({ job }) => job.ledger.withoutProgress)),
  };
}

function put<K, T>(groups: Map<K, T[]>, key: K, member: T): void {
  const members = groups.get(key);
  if (members) members.push(member);
  else groups.set(key, [member]);
}

/** Jobs of one verdict while they run, of one state otherwise. */
export interface VerdictGroup {
  readonly kind: "verdict" | "state";
  readonly name: Verdict | State;
  readonly jobs: number;
  readonly spent: Amount;
}

/** Device-hours and money by verdict, gravest first, then by state for jobs that do not run. */
export function byVerdict(fleet: readonly Seen[]): VerdictGroup[] {
  const groups = new Map<string, JobRow[]>();
  for (const { job } of fleet) {
    const id = job.state === "Running" && job.verdict !== null ? `verdict ${job.verdict}` : `state ${job.state}`;
    put(groups, id, job);
  }
  const group = (kind: VerdictGroup["kind"], name: Verdict | State): VerdictGroup[] => {
    const jobs = groups.get(`${kind} ${name}`);
    return jobs ? [{ kind, name, jobs: jobs.length, spent: amountOf(jobs.map((job) => job.ledger.spent)) }] : [];
  };
  return [...VERDICTS.flatMap((name) => group("verdict", name)), ...STATES.flatMap((name) => group("state", name))];
}

export type GroupBy = "namespace" | "owner";

export interface ShareGroup {
  /** Null: jobs that name none. */
  readonly name: string | null;
  readonly jobs: number;
  readonly running: number;
  /** Held now, by running jobs. */
  readonly devices: Sum;
  readonly spent: Amount;
  readonly withoutProgress: Amount;
}

/** Who holds and has spent what, most device-hours first. */
export function shares(fleet: readonly Seen[], by: GroupBy): ShareGroup[] {
  const groups = new Map<string | null, Seen[]>();
  for (const seen of fleet) {
    const name = by === "namespace" ? seen.job.namespace : seen.job.spec.owner || null;
    put(groups, name, seen);
  }
  return [...groups]
    .map(([name, members]): ShareGroup => {
      const running = members.filter(isRunning);
      return {
        name,
        jobs: members.length,
        running: running.length,
        devices: total(running.map(({ job }) => devices(job))),
        spent: amountOf(members.map(({ job }) => job.ledger.spent)),
        withoutProgress: amountOf(members.map(({ job }) => job.ledger.withoutProgress)),
      };
    })
    .sort((a, b) => b.spent.deviceHours.value - a.spent.deviceHours.value || (`${a.name}` < `${b.name}` ? -1 : 1));
}

/** When a running job will have ended, in seconds from now. */
export interface End {
  readonly seen: Seen;
  readonly seconds: number;
  readonly low: number;
  readonly high: number;
  /** Null: not known how many. */
  readonly devices: number | null;
}

export interface Ends {
  /** Jobs whose interval begins within the horizon, soonest first. */
  readonly within: readonly End[];
  /** Running jobs without an estimate, and their devices. */
  readonly unknown: number;
  readonly unknownDevices: Sum;
}

export function ends(fleet: readonly Seen[], now: number, horizon: number): Ends {
  const running = fleet.filter(isRunning);
  const known: End[] = [];
  const unknown: Seen[] = [];
  for (const seen of running) {
    const left = remaining(seen, now);
    // An estimate of a job that gains nothing now is no promise of an end.
    if (left === null || futility(seen.job)?.type === "Stalled") unknown.push(seen);
    else known.push({ seen, seconds: left.seconds, low: left.low, high: left.high, devices: devices(seen.job) });
  }
  return {
    within: known
      .filter((end) => Math.min(end.low, end.seconds) <= horizon)
      .sort((a, b) => a.seconds - b.seconds || (a.seen.key < b.seen.key ? -1 : 1)),
    unknown: unknown.length,
    unknownDevices: total(unknown.map(({ job }) => devices(job))),
  };
}

/** The shortest of some horizons (seconds, rising) within which enough jobs end to look at; else the longest. */
export function usualHorizon(fleet: readonly Seen[], now: number, horizons: readonly number[]): number {
  const known = ends(fleet, now, Number.POSITIVE_INFINITY).within;
  const enough = Math.min(ENOUGH_ENDS, known.length);
  const last = horizons.at(-1) ?? 0;
  return known.length === 0 ? last : (horizons.find((each) => (known[enough - 1]?.seconds ?? 0) <= each) ?? last);
}

const ENOUGH_ENDS = 6;
const MOST_MOMENTS = 240;

/** Devices freed after some seconds: at the earliest ends, the estimated ones, the latest ones. */
export interface Freed {
  readonly at: number;
  readonly early: number;
  readonly expected: number;
  readonly late: number;
}

/** How many devices have been freed by when, as steps up to the horizon; unknown device counts are left out. */
export function freed(within: readonly End[], horizon: number): Freed[] {
  const early = counter(within, (end) => Math.min(end.low, end.seconds));
  const expected = counter(within, (end) => end.seconds);
  const late = counter(within, (end) => Math.max(end.high, end.seconds));
  return moments(within, horizon).map((at) => ({ at, early: early(at), expected: expected(at), late: late(at) }));
}

/** The moments at which anything changes; where there are too many to tell apart, evenly spaced ones. */
function moments(within: readonly End[], horizon: number): number[] {
  const found = new Set([0, horizon]);
  for (const { low, seconds, high } of within) for (const at of [low, seconds, high]) if (at <= horizon) found.add(at);
  if (found.size <= MOST_MOMENTS) return [...found].sort((a, b) => a - b);
  return Array.from({ length: MOST_MOMENTS }, (_, index) => (horizon * index) / (MOST_MOMENTS - 1));
}

/** Counts devices that are free by a moment; to be asked for moments in their order. */
function counter(within: readonly End[], when: (end: End) => number): (at: number) => number {
  const order = within.map((end) => ({ at: when(end), devices: end.devices ?? 0 })).sort((a, b) => a.at - b.at);
  let next = 0;
  let sum = 0;
  return (at) => {
    for (let end = order[next]; end && end.at <= at; end = order[next]) {
      sum += end.devices;
      next += 1;
    }
    return sum;
  };
}

/** A job that wants to be looked at, and why. */
export interface Concern {
  readonly seen: Seen;
  /** Gravest first: 0 critical, 1 warning, 2 notice. */
  readonly level: 0 | 1 | 2;
  /** The condition that stands; null for a job that failed or was lost. */
  readonly condition: Condition | null;
  /** Unix seconds. */
  readonly since: number;
  /** Money and devices that it holds meanwhile; null when unknown, or when it holds none any more. */
  readonly rate: number | null;
  readonly devices: number | null;
}

const LEVELS = { critical: 0, warning: 1, notice: 2 } as const;
/** How long a failure is news, in seconds. */
const NEWS = 86_400;

/** The jobs to look at first: the gravest verdict, then what costs most meanwhile, then what has stood longest. */
export function concerns(fleet: readonly Seen[], now: number): Concern[] {
  const found = fleet.flatMap((seen): Concern[] => {
    const { job } = seen;
    if (job.state === "Running") {
      const [condition] = standing(job);
      if (!condition) return [];
      const level = LEVELS[severityOf(condition.type) ?? "notice"];
      const rate = job.ledger.pricePerHour ?? null;
      return [{ seen, level, condition, since: condition.since, rate, devices: devices(job) }];
    }
    if (job.state !== "Failed" && job.state !== "Lost") return [];
    const since = job.endedAt ?? job.updatedAt;
    return now - since > NEWS ? [] : [{ seen, level: 1, condition: null, since, rate: null, devices: null }];
  });
  return found.sort(
    (a, b) =>
      a.level - b.level ||
      (b.rate ?? 0) - (a.rate ?? 0) ||
      (b.devices ?? 0) - (a.devices ?? 0) ||
      verdictRank(a.condition?.type ?? null) - verdictRank(b.condition?.type ?? null) ||
      a.since - b.since ||
      (a.seen.key < b.seen.key ? -1 : 1),
  );
}
