/** Curves in words and rows, for those who do not look at them: ends, extremes, samples. Pure. */
import { nearest, type Stretch } from "./curves";

export interface Reading {
  readonly step: number;
  readonly value: number;
}

/** What there is to say of one curve; null in what it lacks. */
export interface Digest {
  readonly first: Reading | null;
  readonly last: Reading | null;
  /** The newest value, finite or not. */
  readonly newest: number | null;
  readonly lowest: Reading | null;
  readonly highest: Reading | null;
  /** How many values were not finite. */
  readonly bad: number;
}

/** Digests what counts: superseded stretches are left out. */
export function digest(stretches: readonly Stretch[]): Digest {
  let first: Reading | null = null;
  let last: Reading | null = null;
  let newest: number | null = null;
  let lowest: Reading | null = null;
  let highest: Reading | null = null;
  let bad = 0;
  for (const part of stretches) {
    if (part.superseded) continue;
    part.step.forEach((step, index) => {
      bad += part.bad[index] ?? 0;
      const value = part.mean[index] ?? Number.NaN;
      newest = value;
      if (!Number.isFinite(value)) return;
      const low = part.low[index] ?? value;
      const high = part.high[index] ?? value;
      last = { step, value };
      first ??= last;
      if (lowest === null || low < lowest.value) lowest = { step, value: low };
      if (highest === null || high > highest.value) highest = { step, value: high };
    });
  }
  return { first, last, newest, lowest, highest, bad };
}

/** One curve's point nearest to an x, superseded ones last; null when none is near (`reach`, in units of x). */
export interface Hit {
  readonly stretch: Stretch;
  readonly index: number;
}

export function hit(stretches: readonly Stretch[], x: number, reach: number): Hit | null {
  let best: Hit | null = null;
  let distance = Number.POSITIVE_INFINITY;
  for (const stretch of stretches) {
    const index = nearest(stretch.x, x);
    const at = stretch.x[index];
    if (at === undefined) continue;
    const far = Math.abs(at - x) + (stretch.superseded ? 1e-9 : 0);
    if (far < distance) {
      distance = far;
      best = { stretch, index };
    }
  }
  return distance <= reach ? best : null;
}

/** Evenly spaced places between two, at most `most`, both ends among them. */
export function samples(from: number, to: number, most: number): number[] {
  if (to <= from || most < 2) return [from];
  return Array.from({ length: most }, (_, index) => from + ((to - from) * index) / (most - 1));
}
