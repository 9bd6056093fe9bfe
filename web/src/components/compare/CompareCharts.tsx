/** The curves of all runs over each other, a chart for each metric. */
import { Button } from "@patternfly/react-core";
import { useMemo, useState } from "react";
import { type JobHistory, useHistories } from "../../api/histories";
import { useNow } from "../../api/react";
import { useI18n } from "../../i18n";
import { chartsOf } from "../../model/charts";
import type { MetricColumn } from "../../model/compare";
import { epochsPerStep, extent, type Range, stretchesOf } from "../../model/curves";
import { useSameBy } from "../../useSame";
import { Chart, type ChartCurve } from "../chart/Chart";
import { ChartControls } from "../chart/ChartControls";
import { useChartSettings } from "../chart/useChartSettings";
import type { Run } from "./run";

const POINTS = 600;
const FEW = 4;
const NO_RANGE = [undefined, 0] as const;

interface Props {
  readonly runs: readonly Run[];
  readonly columns: readonly MetricColumn[];
}

export function CompareCharts({ runs, columns }: Props) {
  const { t } = useI18n();
  const [settings, change] = useChartSettings();
  const [isAll, setAll] = useState(false);
  const metrics = useMemo(() => chartsOf(columns.map((column) => column.metric)).flat(), [columns]);
  const shown = isAll ? metrics : metrics.slice(0, FEW);
  const owned = (metric: string) => columns.find((column) => column.metric === metric)?.cells ?? [];
  const requests = runs.map((run, index) => ({
    job: run.seen.job,
    metrics: shown.flatMap((metric) => owned(metric)[index]?.name ?? []),
  }));
  const histories = useHistories(requests, POINTS);
  const now = Math.floor(useNow() / 5) * 5;
  const charts = shown.map((metric) => ({ metric, curves: curvesOf(runs, owned(metric), histories) }));
  const [from, to] =
    extent(charts.flatMap(({ curves }) => curves.flatMap((curve) => stretchesOf(curve, settings.axis)))) ?? NO_RANGE;
  const whole = useMemo((): Range | null => (from === undefined ? null : [from, to]), [from, to]);
  const isPending = histories.some((history) => history.isPending);
  return (
    <section aria-label={t("compare.curves")}>
      <ChartControls
        settings={settings}
        onChange={change}
        whole={whole}
        missing={runs.every((run) => epochsPerStep(run.seen.job) === null) ? ["epoch"] : []}
      />
      <div className="hw-charts hw-charts--wide">
        {charts.map(({ metric, curves }) => (
          <StableChart
            key={metric}
            title={metric}
            curves={curves}
            settings={settings}
            onChange={change}
            now={now}
            height={260}
            group={whole}
            syncKey="compare"
            isPending={isPending}
          />
        ))}
      </div>
      {metrics.length > FEW && (
        <Button variant="link" onClick={() => setAll(!isAll)} aria-expanded={isAll}>
          {isAll ? t("chart.fewer") : t("chart.more", { count: metrics.length - FEW })}
        </Button>
      )}
    </section>
  );
}

function curvesOf(
  runs: readonly Run[],
  cells: readonly { readonly name: string | null }[],
  histories: readonly JobHistory[],
): ChartCurve[] {
  return runs.flatMap(({ seen, label, colour }, index): ChartCurve[] => {
    const metric = cells[index]?.name;
    const series = histories[index]?.series;
    return metric && series ? [{ id: seen.key, job: seen.job, metric, series, label, colour }] : [];
  });
}

/** A chart that draws anew only when one of its curves has changed. */
function StableChart(props: Parameters<typeof Chart>[0]) {
  const curves = useSameBy(props.curves, isSame);
  return <Chart {...props} curves={curves} />;
}

const isSame = (one: ChartCurve, other: ChartCurve): boolean =>
  one.id === other.id &&
  one.metric === other.metric &&
  one.job === other.job &&
  one.series === other.series &&
  one.label === other.label &&
  one.colour === other.colour;
