/** Whether a curve is better seen on a logarithmic scale. Pure. */
import type { Stretch } from "./curves";

/** How far the highest value must stand above the middle one: a linear scale leaves the lower half of all values a pixel. */
const FAR = 300;

/** Whether a linear scale would press nearly all values flat, and a logarithmic one has a place for each of them. */
export function suitsLog(stretches: readonly Stretch[]): boolean {
  const values = stretches.flatMap((each) => each.mean.filter(Number.isFinite)).sort((a, b) => a - b);
  const [lowest, middle, highest] = [values[0], values[values.length >> 1], values.at(-1)];
  if (lowest === undefined || middle === undefined || highest === undefined || lowest <= 0) return false;
  return highest / middle > FAR;
}
