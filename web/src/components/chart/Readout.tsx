/** The legend above a chart, with the newest values or those under the cursor, and the card that follows the cursor. */
import { useLayoutEffect, useRef } from "react";
import { useI18n } from "../../i18n";
import type { XAxis } from "../../model/curves";
import { digest } from "../../model/digest";
import type { Pointer } from "./Canvas";
import type { ChartCurve } from "./Chart";
import { xLabel } from "./plot";
import { readAt } from "./reading";
import { Swatch } from "./Swatch";
import type { ChartModel } from "./useChartModel";

interface Props {
  readonly curves: readonly ChartCurve[];
  readonly model: ChartModel;
}

export function Legend({ curves, model, pointer }: Props & { readonly pointer: Pointer | null }) {
  const { format } = useI18n();
  const readings = pointer ? readAt(curves, model, pointer.x) : null;
  return (
    <span className="hw-chart__legend">
      {curves.map((curve, index) => {
        const { newest } = digest(model.stretches[index] ?? []);
        const read = readings?.find((each) => each.index === index);
        return (
          <span key={curve.id} className="hw-chart__entry">
            <Swatch colour={curve.colour} />
            <span className="hw-chart__name">{curve.label}</span>
            <span className="hw-chart__value">{format.value(pointer ? read?.raw : newest)}</span>
          </span>
        );
      })}
    </span>
  );
}

const GAP = 14;

export function Readout({ curves, model, axis, pointer }: Props & { readonly axis: XAxis; readonly pointer: Pointer }) {
  const { t, format } = useI18n();
  const card = useRef<HTMLDivElement>(null);
  const { left, width } = pointer;
  useLayoutEffect(() => {
    const element = card.current;
    if (!element) return;
    const own = element.offsetWidth;
    const isRight = left + GAP + own <= width || left < width / 2;
    const place = isRight ? left + GAP : left - GAP - own;
    element.style.transform = `translateX(${Math.round(place)}px)`;
  });
  const readings = readAt(curves, model, pointer.x).sort((a, b) => (b.value || 0) - (a.value || 0));
  const first = readings[0];
  if (!first) return null;
  const isOne = curves.every((curve) => curve.job === curves[0]?.job);
  const spans = model.marks.conditions.filter((span) => span.from <= pointer.x && pointer.x <= span.to);
  const attempts = new Set(readings.map((reading) => reading.ordinal));
  return (
    <div ref={card} className="hw-chart__card" aria-hidden="true">
      <div className="hw-chart__place">
        {isOne ? t("chart.at.step", { place: format.count(first.step) ?? "" }) : placeText()}
        {isOne && first.at !== null && <span>{format.moment(first.at, Date.now() / 1000)}</span>}
      </div>
      {readings.map((reading) => (
        <div key={reading.curve.id} className="hw-chart__row">
          <Swatch colour={reading.curve.colour} />
          <span className="hw-chart__name">{reading.curve.label}</span>
          <span className="hw-chart__value">{format.value(reading.raw)}</span>
          {reading.high > reading.low && (
            <span className="hw-chart__band">
              {format.value(reading.low)} – {format.value(reading.high)}
            </span>
          )}
          {reading.bad > 0 && <span className="hw-chart__bad">{t("chart.bad", { count: reading.bad })}</span>}
        </div>
      ))}
      {isOne && (first.curve.job.attempts.length > 1 || attempts.size > 1) && (
        <div className="hw-chart__mark">{t("chart.attempt", { ordinal: String(first.ordinal) })}</div>
      )}
      {spans.map((span) => (
        <div key={`${span.type} ${span.from}`} className={`hw-chart__mark hw-chart__mark--${span.severity}`}>
          {t(`verdict.${span.type}`)}
        </div>
      ))}
    </div>
  );

  function placeText(): string {
    const shown = axis === "step" ? Math.round(pointer.x) : pointer.x;
    return t(`chart.at.${axis}`, { place: xLabel(axis, shown, format) });
  }
}
