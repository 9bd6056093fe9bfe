/** Where axes put their numbers. Pure. */

/** Round numbers (1, 2, 5 times a power of ten) within a range, at most `most` of them, rising. */
export function linearTicks(from: number, to: number, most: number): number[] {
  if (!isRange(from, to) || most < 1) return [from];
  const power = 10 ** Math.floor(Math.log10((to - from) / most));
  const step = [1, 2, 5, 10].map((each) => each * power).find((each) => (to - from) / each <= most) ?? 10 * power;
  return multiples(from, to, step);
}

/** For a logarithmic scale: powers of ten, with 2 and 5 between them or round steps where those are too few. */
export function logTicks(from: number, to: number, most: number): number[] {
  if (!isRange(from, to) || !(from > 0)) return [from];
  const decades = Math.log10(to / from);
  if (decades < 0.9) return linearTicks(from, to, Math.min(most, 6));
  const every = Math.max(1, Math.ceil(decades / Math.max(1, most)));
  const factors = decades * 3 <= most ? [1, 2, 5] : decades * 2 <= most ? [1, 3] : [1];
  const ticks: number[] = [];
  for (let power = Math.floor(Math.log10(from)); power <= Math.ceil(Math.log10(to)); power += 1) {
    if (power % every !== 0) continue;
    for (const factor of factors) {
      const tick = Number((factor * 10 ** power).toPrecision(12));
      if (tick >= from && tick <= to) ticks.push(tick);
    }
  }
  return ticks;
}

const LENGTHS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200, 86_400];

/** Lengths of time as clocks count them, at most `most` of them; seconds. */
export function timeTicks(from: number, to: number, most: number): number[] {
  if (!isRange(from, to) || most < 1) return [from];
  const fits = (step: number) => (to - from) / step <= most;
  if (fits(0.5)) return linearTicks(from, to, most);
  let step = LENGTHS.find(fits);
  for (let days = 2; step === undefined; days *= 2) if (fits(days * 86_400)) step = days * 86_400;
  return multiples(from, to, step);
}

const isRange = (from: number, to: number): boolean => to > from && Number.isFinite(to - from);

/** The multiples of a step within a range; `from` alone where numbers are too coarse to tell steps apart. */
function multiples(from: number, to: number, step: number): number[] {
  const first = Math.ceil(from / step - 1e-9);
  const last = Math.floor(to / step + 1e-9);
  if (!(Math.max(Math.abs(first), Math.abs(last)) < 1e12)) return [from];
  return Array.from({ length: Math.max(0, last - first + 1) }, (_, index) =>
    Number(((first + index) * step).toPrecision(12)),
  );
}

/** Round times of day between two moments (Unix seconds), at most `most`; `behind`: seconds that the clock is behind UTC. */
export function clockTicks(from: number, to: number, most: number, behind: number): number[] {
  return timeTicks(from - behind, to - behind, most).map((tick) => tick + behind);
}
