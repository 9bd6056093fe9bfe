/** Metric history as it grows: newer stretches joined to older ones. Pure. */
import type { Series, SeriesPoint } from "../api/types";

/** The last step that any of an attempt's series reaches; null when there is none. */
export function lastStep(series: readonly Series[], attempt: string): number | null {
  let last: number | null = null;
  for (const each of series) {
    const step = each.attempt === attempt ? each.points.at(-1)?.[0] : undefined;
    if (step !== undefined && (last === null || step > last)) last = step;
  }
  return last;
}

/** Older series with a newer stretch of some of them: where both have a step, the newer one counts. */
export function joinSeries(older: readonly Series[], newer: readonly Series[]): Series[] {
  const joined = [...older];
  for (const each of newer) {
    const first = each.points[0];
    if (!first) continue;
    const index = joined.findIndex((other) => other.metric === each.metric && other.attempt === each.attempt);
    const known = joined[index];
    if (!known) joined.push(each);
    else joined[index] = { ...known, points: [...before(known.points, first[0]), ...each.points] };
  }
  return joined;
}

function before(points: readonly SeriesPoint[], step: number): readonly SeriesPoint[] {
  let end = points.length;
  while (end > 0 && (points[end - 1]?.[0] ?? 0) >= step) end -= 1;
  return points.slice(0, end);
}

export const longest = (series: readonly Series[]): number =>
  series.reduce((most, each) => Math.max(most, each.points.length), 0);
