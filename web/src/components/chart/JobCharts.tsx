/**
 * All curves of one job as small charts that share axis, zoom and cursor: loss first, then what else it reports.
 *
 *     <JobCharts seen={seen} metrics={useMetrics(job, Object.keys(job.metrics))} />
 */
import { Button } from "@patternfly/react-core";
import { useEffect, useMemo, useState } from "react";
import { type Steps, useDetail, useHistories } from "../../api/histories";
import { useNow } from "../../api/react";
import type { Seen } from "../../api/store";
import type { Job, Series } from "../../api/types";
import { useI18n } from "../../i18n";
import type { ChartSettings } from "../../model/chartSettings";
import { chartsOf } from "../../model/charts";
import { epochsPerStep, extent, type Range, refine, stepsWithin, stretchesOf } from "../../model/curves";
import { Chart, type ChartCurve } from "./Chart";
import { ChartControls } from "./ChartControls";
import { useChartSettings } from "./useChartSettings";

const POINTS = 1000;
/** How many charts there are before one asks for more. */
const FEW = 4;

interface Props {
  readonly seen: Seen<Job>;
  /** Names of the metrics with history. */
  readonly metrics: readonly string[];
}

export function JobCharts({ seen, metrics }: Props) {
  const { t } = useI18n();
  const { job } = seen;
  const [settings, change] = useChartSettings();
  const [isAll, setAll] = useState(false);
  const names = metrics.join("\n");
  const groups = useMemo(() => chartsOf(names === "" ? [] : names.split("\n")), [names]);
  const shown = isAll ? groups : groups.slice(0, FEW);
  const wanted = shown.flat();
  const request = { job, metrics: wanted };
  const [history] = useHistories([request], POINTS);
  const base = history?.series ?? NONE;
  const steps = useSettled(useSteps(seen, base, settings), 250);
  const detail = useDetail(request, POINTS, steps);
  const series = useMemo(() => (detail.length > 0 ? refine(base, detail) : base), [base, detail]);
  const now = Math.floor(useNow() / 5) * 5;
  const [from, to] =
    extent(wanted.flatMap((metric) => stretchesOf({ job, metric, series: base }, settings.axis))) ?? NO_RANGE;
  const whole = useMemo((): Range | null => (from === undefined ? null : [from, to]), [from, to]);

  return (
    <div>
      <ChartControls
        settings={settings}
        onChange={change}
        whole={whole}
        missing={epochsPerStep(job) === null ? ["epoch"] : []}
      />
      <div className="hw-charts">
        {shown.map((group) => (
          <Group
            key={group.join("\n")}
            metrics={group}
            seen={seen}
            series={series}
            settings={settings}
            onChange={change}
            now={now}
            whole={whole}
            isPending={history?.isPending ?? true}
          />
        ))}
      </div>
      {groups.length > FEW && (
        <Button variant="link" onClick={() => setAll(!isAll)} aria-expanded={isAll}>
          {isAll ? t("chart.fewer") : t("chart.more", { count: groups.length - FEW })}
        </Button>
      )}
    </div>
  );
}

const NONE: readonly Series[] = [];
const NO_RANGE = [undefined, 0] as const;

interface GroupProps {
  readonly metrics: readonly string[];
  readonly seen: Seen<Job>;
  readonly series: readonly Series[];
  readonly settings: ChartSettings;
  readonly onChange: (change: Partial<ChartSettings>) => void;
  readonly now: number;
  readonly whole: Range | null;
  readonly isPending: boolean;
}

function Group({ metrics, seen: { job }, series, settings, onChange, now, whole, isPending }: GroupProps) {
  const names = metrics.join("\n");
  const curves = useMemo(
    () =>
      names
        .split("\n")
        .map((metric, index): ChartCurve => ({ job, id: metric, metric, series, label: metric, colour: index })),
    [names, job, series],
  );
  return (
    <Chart
      title={metrics.length === 1 ? names : metrics.join(" · ")}
      curves={curves}
      settings={settings}
      onChange={onChange}
      now={now}
      group={whole}
      syncKey={`job ${job.uid}`}
      isPending={isPending}
    />
  );
}

/** The steps that are zoomed to, where the server has finer points of them than are held. */
function useSteps({ job }: Seen<Job>, series: readonly Series[], { range, axis }: ChartSettings): Steps | null {
  return useMemo(() => {
    if (!range || !series.some((each) => each.tier > 1)) return null;
    const metric = series.find((each) => each.tier > 1)?.metric ?? "";
    return stepsWithin(stretchesOf({ job, metric, series }, axis), range);
  }, [job, series, range, axis]);
}

/** A value once it has stopped changing for some milliseconds: zooming with the wheel asks once. */
function useSettled<T>(value: T, pause: number): T {
  const [settled, setSettled] = useState(value);
  const text = JSON.stringify(value);
  // biome-ignore lint/correctness/useExhaustiveDependencies: `text` stands for `value`
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), pause);
    return () => clearTimeout(timer);
  }, [text, pause]);
  return settled;
}
