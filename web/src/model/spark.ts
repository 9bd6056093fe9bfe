/** Sparklines: a course of few points that grows with the stream, and its drawing. Pure. */

/** [step, value]; a value that is not finite is a gap with a mark. */
export type SparkPoint = readonly [step: number, value: number];

export const SPARK_POINTS = 40;

/**
 * A course with one more value. When it has grown to twice its size, neighbours are averaged; a step that falls back (a new
 * attempt) takes over from where it begins.
 */
export function extend(course: readonly SparkPoint[], step: number, value: number): readonly SparkPoint[] {
  let kept = course;
  const last = course.at(-1);
  if (last && last[0] === step && Object.is(last[1], value)) return course;
  if (last && last[0] >= step) kept = course.filter(([known]) => known < step);
  const longer: SparkPoint[] = [...kept, [step, value]];
  return longer.length >= 2 * SPARK_POINTS ? halve(longer) : longer;
}

function halve(course: readonly SparkPoint[]): SparkPoint[] {
  const halved: SparkPoint[] = [];
  for (let index = 0; index < course.length; index += 2) {
    const first = course[index];
    const second = course[index + 1];
    if (!first) continue;
    if (!second) halved.push(first);
    else if (!Number.isFinite(first[1])) halved.push(second);
    else if (!Number.isFinite(second[1])) halved.push([second[0], first[1]]);
    else halved.push([second[0], (first[1] + second[1]) / 2]);
  }
  return halved;
}

export interface Drawing {
  /** An SVG path of the finite stretches. */
  readonly path: string;
  /** Where stretches without finite values begin. */
  readonly gaps: readonly number[];
  readonly end: { readonly x: number; readonly y: number } | null;
}

/**
 * Draws a course into a box, the newest value at its right edge. The scale leaves out the first tenth when that alone is far
 * off: a steep start must not flatten all that follows.
 */
export function draw(course: readonly SparkPoint[], width: number, height: number, pad = 2): Drawing {
  const finite = course.map(([, value]) => value).filter(Number.isFinite);
  if (finite.length === 0) return { path: "", gaps: course.length > 0 ? [place(0)] : [], end: null };
  let low = Math.min(...finite);
  let high = Math.max(...finite);
  const later = course.slice(Math.max(1, Math.floor(course.length / 10))).map(([, value]) => value);
  const known = later.filter(Number.isFinite);
  if (known.length > 8 && Math.max(...known) - Math.min(...known) < (high - low) / 4) {
    high = Math.max(...known);
    low = Math.min(low, ...known);
  }
  const range = high - low || 1;
  const parts: string[] = [];
  const gaps: number[] = [];
  let pen = "M";
  let broken = false;
  let end: Drawing["end"] = null;
  course.forEach(([, value], index) => {
    const x = place(index);
    if (!Number.isFinite(value)) {
      if (broken) return;
      gaps.push(x);
      broken = true;
      pen = "M";
      return;
    }
    broken = false;
    const share = high === low ? 0.5 : Math.min(1, Math.max(0, (value - low) / range));
    const y = round(height - pad - share * (height - 2 * pad));
    parts.push(`${pen}${x} ${y}`);
    pen = "L";
    end = { x, y };
  });
  return { path: parts.join(""), gaps, end };

  function place(index: number): number {
    return round(pad + (course.length < 2 ? 1 : index / (course.length - 1)) * (width - 2 * pad));
  }
}

const round = (value: number): number => Math.round(value * 10) / 10;
