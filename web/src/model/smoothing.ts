/** Smoothing that knows how far apart points are, so that it means the same at every density. Pure. */

export const SMOOTHINGS = ["off", "light", "medium", "strong"] as const;
export type Smoothing = (typeof SMOOTHINGS)[number];

/** How far back a smoothed value remembers, as a part of what is shown. */
const SHARES: Readonly<Record<Smoothing, number>> = { off: 0, light: 0.005, medium: 0.02, strong: 0.06 };

/** The length over which memory falls to 1/e, in units of x, where `span` of it is shown; 0: none. */
export const memory = (smoothing: Smoothing, span: number): number => SHARES[smoothing] * Math.max(0, span);

/**
 * Exponential moving average over unevenly spaced points: each past point weighs its number of samples times
 * `exp(-distance / length)`, and the weights are normalised, so that the start is not drawn towards anything. NaN stays NaN
 * and is not remembered. `length` 0 gives the values themselves.
 */
export function smooth(
  x: readonly number[],
  y: readonly number[],
  samples: readonly number[],
  length: number,
): number[] {
  if (length <= 0) return [...y];
  let sum = 0;
  let weight = 0;
  let last: number | null = null;
  return y.map((value, index) => {
    const at = x[index] ?? 0;
    if (!Number.isFinite(value)) return Number.NaN;
    const kept = last === null ? 0 : Math.exp(-(at - last) / length);
    const own = Math.max(1, samples[index] ?? 1);
    sum = sum * kept + own * value;
    weight = weight * kept + own;
    last = at;
    return sum / weight;
  });
}
