/** How values that lie far apart are laid out, where nobody has said how. Pure. */
import type { Stretch } from "./curves";

/** How far the highest value must stand above the middle one: a linear scale leaves the lower half of all values a pixel. */
const FAR = 300;
/** What stands further above the middle value than this is out of the ordinary. */
const ORDINARY = 20;
/** So few values out of the ordinary are cut off; more of them are what the curve is about. */
const FEW = 0.05;

export interface Layout {
  readonly log: boolean;
  /** Values above it are cut off; null: none are. */
  readonly ceiling: number | null;
}

export const LINEAR: Layout = { log: false, ceiling: null };

/**
 * The layout in which most of the values can be told apart: linear; where a few of them dwarf all others, without those;
 * where many do, logarithmic, if each value has a place there.
 */
export function layoutOf(stretches: readonly Stretch[]): Layout {
  const values = stretches.flatMap((each) => each.mean.filter(Number.isFinite)).sort((a, b) => a - b);
  const [lowest, middle, highest] = [values[0], values[values.length >> 1], values.at(-1)];
  if (lowest === undefined || middle === undefined || highest === undefined) return LINEAR;
  if (middle <= 0 || highest / middle <= FAR) return LINEAR;
  const ordinary = values.filter((value) => value <= ORDINARY * middle);
  const ceiling = ordinary.at(-1);
  if (ceiling !== undefined && values.length - ordinary.length <= FEW * values.length) return { log: false, ceiling };
  return { log: lowest > 0, ceiling: null };
}
