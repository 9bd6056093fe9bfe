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
  // Ranks report a second or so apart: a rank is behind only by more steps than the others make in that time.
  const slack = Math.max(1, usual !== null && usual > 0 ? Math.ceil(3 / usual) : 1);
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

export function median(values: readonly number[]): number | null {
  if (values.length === 0) return null;
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  const high = sorted[middle] ?? 0;
  return sorted.length % 2 === 1 ? high : (high + (sorted[middle - 1] ?? high)) / 2;
}
