/** A chart in words and figures: what each curve came to, and its course in a few rows. */
import { useI18n } from "../../i18n";
import { extent, type XAxis } from "../../model/curves";
import { digest, type Reading, samples } from "../../model/digest";
import "../../styles/table.css";
import { Figure } from "../Figure";
import type { ChartCurve } from "./Chart";
import { xLabel } from "./plot";
import { readAt } from "./reading";
import type { ChartModel } from "./useChartModel";

const ROWS = 20;

interface Props {
  readonly title: string;
  readonly curves: readonly ChartCurve[];
  readonly model: ChartModel;
  readonly axis: XAxis;
}

export function ChartTable({ title, curves, model, axis }: Props) {
  const { t, format } = useI18n();
  const at = (reading: Reading | null) =>
    reading && t("chart.valueAt", { value: format.value(reading.value) ?? "", step: format.count(reading.step) ?? "" });
  const range = extent(model.stretches.flat());
  const rows = range ? samples(range[0], range[1], ROWS) : [];
  return (
    <div className="hw-chart__tables">
      <table className="hw-table">
        <caption className="pf-v6-screen-reader">{t("chart.summaryOf", { title })}</caption>
        <thead>
          <tr>
            <th scope="col">{t("chart.curve")}</th>
            <th scope="col">{t("chart.first")}</th>
            <th scope="col">{t("chart.last")}</th>
            <th scope="col">{t("chart.lowest")}</th>
            <th scope="col">{t("chart.highest")}</th>
            <th scope="col">{t("chart.notFinite")}</th>
          </tr>
        </thead>
        <tbody>
          {curves.map((curve, index) => {
            const summary = digest(model.stretches[index] ?? []);
            return (
              <tr key={curve.id}>
                <th scope="row">{curve.label}</th>
                <td>
                  <Figure value={at(summary.first)} />
                </td>
                <td>
                  <Figure value={at(summary.last)} />
                </td>
                <td>
                  <Figure value={at(summary.lowest)} />
                </td>
                <td>
                  <Figure value={at(summary.highest)} />
                </td>
                <td>{format.count(summary.bad)}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
      <table className="hw-table">
        <caption className="pf-v6-screen-reader">{t("chart.courseOf", { title })}</caption>
        <thead>
          <tr>
            <th scope="col">{t(`chart.axis.${axis}`)}</th>
            {curves.map((curve) => (
              <th scope="col" key={curve.id}>
                {curve.label}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((x) => {
            const readings = readAt(curves, model, x);
            return (
              <tr key={x}>
                <th scope="row">{xLabel(axis, axis === "step" ? Math.round(x) : x, format)}</th>
                {curves.map((curve, index) => (
                  <td key={curve.id}>
                    <Figure value={format.value(readings.find((each) => each.index === index)?.raw)} />
                  </td>
                ))}
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}
