/** What stands under the cursor, in figures and in words. */
import type { Translate } from "../../i18n";
import type { XAxis } from "../../model/curves";
import { hit } from "../../model/digest";
import type { Format } from "../../model/format";
import type { ChartCurve } from "./Chart";
import { xLabel } from "./plot";
import type { ChartModel } from "./useChartModel";

/** How far from a point, as a part of what is shown, the cursor still reads it. */
const REACH = 0.04;

export interface CurveReading {
  readonly curve: ChartCurve;
  readonly index: number;
  readonly step: number;
  /** Unix seconds; null where the attempt's start is not known. */
  readonly at: number | null;
  readonly value: number;
  readonly raw: number;
  readonly low: number;
  readonly high: number;
  readonly bad: number;
  readonly ordinal: number;
}

/** The point of each curve that is nearest to an x; curves without one nearby are left out. */
export function readAt(curves: readonly ChartCurve[], model: ChartModel, x: number): CurveReading[] {
  const { whole } = model;
  const reach = whole ? Math.max(1e-9, (whole[1] - whole[0]) * REACH) : Number.POSITIVE_INFINITY;
  return curves.flatMap((curve, index): CurveReading[] => {
    const found = hit(model.stretches[index] ?? [], x, reach);
    if (!found) return [];
    const { index: at } = found;
    const stretch = model.stretches[index]?.find((each) => each === found.stretch);
    if (!stretch) return [];
    const attempt = curve.job.attempts.find((each) => each.id === stretch.attempt);
    const raw = stretch.mean[at] ?? Number.NaN;
    return [
      {
        curve,
        index,
        step: stretch.step[at] ?? 0,
        at: attempt ? attempt.startedAt + (stretch.t[at] ?? 0) : null,
        value: stretch.smoothed[at] ?? raw,
        raw,
        low: stretch.low[at] ?? raw,
        high: stretch.high[at] ?? raw,
        bad: stretch.bad[at] ?? 0,
        ordinal: stretch.ordinal,
      },
    ];
  });
}

/** What a screen reader says of a place on the chart. */
export function describe(
  curves: readonly ChartCurve[],
  model: ChartModel,
  axis: XAxis,
  x: number,
  t: Translate,
  format: Format,
): string {
  const readings = readAt(curves, model, x);
  const values = readings.map(({ curve, value }) => `${curve.label} ${format.value(value) ?? t("common.unknown")}`);
  const place = t(`chart.at.${axis}`, { place: xLabel(axis, axis === "step" ? Math.round(x) : x, format) });
  const names = model.marks.conditions.filter((span) => span.from <= x && x <= span.to);
  return [place, ...values, ...names.map((span) => t(`verdict.${span.type}`))].join(", ");
}
