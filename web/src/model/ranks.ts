/** How the ranks of an attempt stand beside each other. Pure. */
import type { Seen } from "../api/store";
import type { Job, RankInfo } from "../api/types";
import { isKnown } from "./format";
import type { Tone } from "./verdict";

export interface Rank {
  readonly info: RankInfo;
  /** Seconds since its last word, counted to now. */
  readonly age: number;
  /** Steps behind the rank that is furthest; null where it does not tell. */
  readonly behind: number | null;
  /** Its step time by the median of all; null where it cannot be compared. */
  readonly slowness: number | null;
  readonly standing: Standing;
}

/** Gravest first. */
export type Standing = "lost" | "late" | "behind" | "slow" | "well";

const LATE_SECONDS = 10;
const LOST_SECONDS = 30;
const SLOW = 1.25;

export const STANDING_TONES: Readonly<Record<Standing, Tone>> = {
  lost: "red",
  late: "orange",
  behind: "orange",
  slow: "orange",
  well: "green",
};

export const STANDINGS = Object.keys(STANDING_TONES) as readonly Standing[];

/** The ranks that train, in their order; auxiliary runs are left out. */
export function ranksOf({ job, at }: Seen<Job>, now: number): Rank[] {
  const infos = job.ranks.filter((rank) => !rank.auxiliary).sort((a, b) => a.rank - b.rank);
  const steps = infos.map((rank) => rank.step).filter(isKnown);
  const furthest = steps.length > 0 ? Math.max(...steps) : null;
  const usual = median(infos.map((rank) => rank.stepSeconds).filter(isKnown));
  const passed = job.state === "Running" ? Math.max(0, now - at) : 0;
  const slack = slackOf(infos.map((info) => ({ info })));
  return infos.map((info) => {
    const age = info.lastContactAge + passed;
    const behind = furthest !== null && isKnown(info.step) ? furthest - info.step : null;
    const slowness =
      usual !== null && usual > 0 && infos.length > 2 && isKnown(info.stepSeconds) ? info.stepSeconds / usual : null;
    return { info, age, behind, slowness, standing: standingOf(age, behind, slowness, slack) };
  });
}

function standingOf(age: number, behind: number | null, slowness: number | null, slack: number): Standing {
  if (age > LOST_SECONDS) return "lost";
  if (age > LATE_SECONDS) return "late";
  if (behind !== null && behind > slack) return "behind";
  if (slowness !== null && slowness > SLOW) return "slow";
  return "well";
}

/** What the strip shows of each rank. */
export const HEATS = ["standing", "step", "stepTime", "beat"] as const;
export type HeatBy = (typeof HEATS)[number];

export interface Heat {
  /** By rank: 0 is as it should be, 1 as bad as the scale goes; null where it is not known. */
  readonly values: readonly (number | null)[];
  /** The figures at both ends of the scale; null where no rank has any. */
  readonly ends: readonly [good: number, bad: number] | null;
}

/**
 * How ranks compare by one figure. Small differences stay pale: the scale reaches at least as far as what is called behind,
 * slow or lost.
 */
export function heatOf(ranks: readonly Rank[], by: Exclude<HeatBy, "standing">): Heat {
  const figures = ranks.map(({ info, age }) => ({ step: info.step, stepTime: info.stepSeconds, beat: age })[by]);
  const known = figures.filter(isKnown);
  if (known.length === 0) return { values: figures.map(() => null), ends: null };
  const [least, most] = [Math.min(...known), Math.max(...known)];
  const ends = {
    step: [most, Math.min(least, most - slackOf(ranks))],
    stepTime: [least, Math.max(most, least * SLOW)],
    beat: [0, Math.max(most, LOST_SECONDS)],
  } satisfies Readonly<Record<typeof by, readonly [number, number]>>;
  const [good, bad] = ends[by] as [number, number];
  return {
    values: figures.map((each) => (isKnown(each) ? (bad === good ? 0 : Math.abs((each - good) / (bad - good))) : null)),
    ends: [good, bad],
  };
}

/** Ranks report a second or so apart: a rank is behind only by more steps than the others make in that time. */
function slackOf(ranks: readonly { readonly info: RankInfo }[]): number {
  const usual = median(ranks.map(({ info }) => info.stepSeconds).filter(isKnown));
  return Math.max(1, usual !== null && usual > 0 ? Math.ceil(3 / usual) : 1);
}

export function median(values: readonly number[]): number | null {
  if (values.length === 0) return null;
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  const high = sorted[middle] ?? 0;
  return sorted.length % 2 === 1 ? high : (high + (sorted[middle - 1] ?? high)) / 2;
}
