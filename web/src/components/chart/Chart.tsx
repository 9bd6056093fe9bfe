/**
 * Curves of one or several jobs on a common axis, drawn by uPlot.
 *
 *     <Chart title="loss" curves={curves} settings={settings} onChange={change} />
 *
 * Drag to zoom, double-click for everything, Shift and drag to pan, Ctrl and wheel to zoom where the pointer is; with the
 * keyboard the arrows read point by point. A readout says the values under the cursor, a table all there is to say.
 */
import { Button, Spinner, Tooltip } from "@patternfly/react-core";
import TableIcon from "@patternfly/react-icons/dist/esm/icons/table-icon";
import { useMemo, useState } from "react";
import { useI18n } from "../../i18n";
import type { ChartSettings } from "../../model/chartSettings";
import type { Curve, Range } from "../../model/curves";
import "../../styles/chart.css";
import { Canvas, type Pointer } from "./Canvas";
import { ChartTable } from "./ChartTable";
import { Legend, Readout } from "./Readout";
import { useChartModel } from "./useChartModel";
import type { ChangeSettings } from "./useChartSettings";

export interface ChartCurve extends Curve {
  /** Unlike any other in its chart. */
  readonly id: string;
  /** Its name in this chart: the metric's where one job is shown, the job's where one metric is. */
  readonly label: string;
  /** Which of the palette's colours it has; the same number in every chart. */
  readonly colour: number;
}

interface Props {
  readonly title: string;
  /** Keep the same array while nothing changes. Marks are drawn where all curves are of one job. */
  readonly curves: readonly ChartCurve[];
  readonly settings: ChartSettings;
  readonly onChange: ChangeSettings;
  /** Unix seconds; where conditions that stand reach to. */
  readonly now: number;
  readonly height?: number;
  /** Everything that the charts of the group show, on the axis; left out: this chart's own curves alone. */
  readonly group?: Range | null;
  /** Charts with the same key show the same place under the cursor. */
  readonly syncKey?: string;
  readonly isPending?: boolean;
}

export function Chart({
  title,
  curves,
  settings,
  onChange,
  now,
  height = 200,
  group = null,
  syncKey,
  isPending,
}: Props) {
  const { t, format } = useI18n();
  const { axis, scale, smoothing, range } = settings;
  const model = useChartModel({ curves, axis, scale, smoothing, range, now, group });
  const [pointer, setPointer] = useState<Pointer | null>(null);
  const [hasTable, setTable] = useState(false);
  const colours = useMemo(() => curves.map((curve) => curve.colour), [curves]);
  const isEmpty = model.data.x.length === 0;
  return (
    <figure className="hw-chart" aria-label={title}>
      <figcaption className="hw-chart__head">
        <span className="hw-chart__title">
          {title}
          {model.log && scale === "auto" && <span className="hw-chart__scale"> {t("chart.scaleLog")}</span>}
        </span>
        {!isEmpty && (
          <>
            <Legend curves={curves} model={model} pointer={pointer} />
            <Tooltip content={t("chart.data")}>
              <Button
                variant="plain"
                size="sm"
                className="hw-chart__toggle"
                icon={<TableIcon />}
                aria-label={t("chart.dataOf", { title })}
                aria-expanded={hasTable}
                onClick={() => setTable(!hasTable)}
              />
            </Tooltip>
          </>
        )}
      </figcaption>
      {isEmpty ? (
        <div className="hw-chart__empty" ref={(element) => void element?.style.setProperty("height", `${height}px`)}>
          {isPending ? <Spinner size="lg" aria-label={t("common.loading")} /> : t("chart.empty")}
        </div>
      ) : (
        <div className="hw-chart__plot">
          <Canvas
            title={title}
            model={model}
            curves={curves}
            colours={colours}
            settings={settings}
            onChange={onChange}
            height={height}
            syncKey={syncKey}
            pointer={pointer}
            onPointer={setPointer}
          />
          {pointer?.isHere && <Readout curves={curves} model={model} axis={axis} pointer={pointer} />}
        </div>
      )}
      {model.leftOut && <p className="hw-chart__note">{t("chart.leftOut")}</p>}
      {model.ceiling !== null && (
        <p className="hw-chart__note">{t("chart.cut", { value: format.value(model.ceiling) ?? "" })}</p>
      )}
      {hasTable && !isEmpty && <ChartTable title={title} curves={curves} model={model} axis={axis} />}
    </figure>
  );
}
