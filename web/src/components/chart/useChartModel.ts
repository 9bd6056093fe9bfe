/** Turns curves and settings into what is drawn and read: stretches, columns, marks. */
import { useMemo } from "react";
import type { Scale } from "../../model/chartSettings";
import {
  align,
  type Curve,
  extent,
  positive,
  type Range,
  type Stretch,
  stretchesOf,
  union,
  type XAxis,
} from "../../model/curves";
import { type GapMark, gapsOf, type Marks, marksOf, NO_MARKS, withMarks } from "../../model/marks";
import { LINEAR, layoutOf } from "../../model/scale";
import { memory, type Smoothing, smooth } from "../../model/smoothing";
import type { PlotData, PlotLine } from "./plot";

/** A stretch with its smoothed values beside the raw ones. */
export interface SmoothStretch extends Stretch {
  readonly smoothed: readonly number[];
}

export interface ChartModel {
  /** By curve. */
  readonly stretches: readonly (readonly SmoothStretch[])[];
  readonly gaps: readonly (readonly GapMark[])[];
  readonly marks: Marks;
  /** Where several jobs are shown: the marks of each curve's. */
  readonly runs: readonly Marks[];
  /** Everything there is; null when nothing can be placed on the axis. */
  readonly whole: Range | null;
  readonly data: PlotData;
  /** Whether the scale is logarithmic. */
  readonly log: boolean;
  /** Values above it are cut off, since they would press all others flat; null: none are. */
  readonly ceiling: number | null;
  /** Whether values were left out because a logarithmic scale has no place for them. */
  readonly leftOut: boolean;
}

interface Request {
  readonly curves: readonly Curve[];
  readonly axis: XAxis;
  readonly scale: Scale;
  readonly smoothing: Smoothing;
  /** What is zoomed to: smoothing goes by what is shown. Null: everything. */
  readonly range: Range | null;
  /** Unix seconds. */
  readonly now: number;
  /** What other charts of the group show, so that all have the same axis. */
  readonly group: Range | null;
}

export function useChartModel({ curves, axis, scale, smoothing, range, now, group }: Request): ChartModel {
  const drawn = useMemo(() => {
    const plain = curves.map((curve) => stretchesOf(curve, axis));
    const whole = extent(plain.flat());
    const shown = range ?? whole;
    const length = shown ? memory(smoothing, shown[1] - shown[0]) : 0;
    const stretches = plain.map((own) =>
      own.map((each): SmoothStretch => ({ ...each, smoothed: smooth(each.x, each.mean, finite(each), length) })),
    );
    const layout = scale === "auto" ? layoutOf(plain.flat()) : { ...LINEAR, log: scale === "log" };
    const { log } = layout;
    return { stretches, whole, ...layout, gaps: plain.map(gapsOf), ...columns(stretches, log, smoothing !== "off") };
  }, [curves, axis, scale, smoothing, range]);
  return useMemo(() => {
    const only = curves.length > 0 && curves.every((curve) => curve.job === curves[0]?.job) ? curves[0] : undefined;
    const metrics = curves.map((curve) => curve.metric);
    const marks = only ? marksOf(only.job, metrics, drawn.stretches.flat(), axis, now) : NO_MARKS;
    const runs = only
      ? []
      : curves.map((curve, index) => marksOf(curve.job, [curve.metric], drawn.stretches[index] ?? [], axis, now));
    return { ...drawn, marks, runs, whole: withMarks(union(drawn.whole, group), marks) };
  }, [drawn, curves, axis, now, group]);
}

const finite = (stretch: Stretch): number[] => stretch.n.map((n, index) => n - (stretch.bad[index] ?? 0));

function columns(stretches: readonly (readonly SmoothStretch[])[], log: boolean, isSmooth: boolean) {
  const lines: PlotLine[] = [];
  let leftOut = false;
  const scale = (column: readonly number[]) => {
    if (!log) return column;
    leftOut ||= column.some((value) => value <= 0);
    return positive(column);
  };
  const parts = stretches.flatMap((own, curve) =>
    own.map((each) => {
      const line = (kind: PlotLine["kind"]) => lines.push({ curve, kind, superseded: each.superseded });
      const wanted: (readonly number[])[] = [];
      if (each.low.some((low, index) => low < (each.high[index] ?? low))) {
        line("low");
        line("high");
        // On a logarithmic scale a band that reaches down to zero ends at the line.
        const low = each.low.map((value, index) => (log && value <= 0 ? (each.mean[index] ?? value) : value));
        wanted.push(scale(low), scale(each.high));
      }
      if (isSmooth) {
        line("raw");
        wanted.push(scale(each.mean));
      }
      line("main");
      wanted.push(scale(isSmooth ? each.smoothed : each.mean));
      return { x: each.x, columns: wanted };
    }),
  );
  const aligned = align(parts);
  return { data: { ...aligned, lines }, leftOut };
}
