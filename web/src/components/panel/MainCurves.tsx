/** The curve that a person looks at first: the loss, with that of the evaluations. */
import { Skeleton } from "@patternfly/react-core";
import { lazy, Suspense, useMemo } from "react";
import { useHistories } from "../../api/histories";
import { useNow } from "../../api/react";
import type { Seen } from "../../api/store";
import type { Job, Series } from "../../api/types";
import { useI18n } from "../../i18n";
import { metricName } from "../../model/job";
import type { ChartCurve } from "../chart/Chart";
import { useChartSettings } from "../chart/useChartSettings";

const Chart = lazy(async () => ({ default: (await import("../chart/Chart")).Chart }));

const POINTS = 600;
const HEIGHT = 200;
const NONE: readonly Series[] = [];

export function MainCurves({ seen: { job } }: { readonly seen: Seen<Job> }) {
  const { t } = useI18n();
  const [settings, change] = useChartSettings();
  const now = Math.floor(useNow() / 5) * 5;
  const names = (["loss", "eval_loss"] as const).map((name) => metricName(job, name)).filter((name) => name !== null);
  const wanted = names.join("\n");
  const [history] = useHistories([{ job, metrics: names }], POINTS);
  const series = history?.series ?? NONE;
  const curves = useMemo(
    () =>
      wanted
        .split("\n")
        .map((metric, index): ChartCurve => ({ job, id: metric, metric, series, label: metric, colour: index })),
    [wanted, job, series],
  );
  if (names.length === 0) return null;
  return (
    <Suspense fallback={<Skeleton height={`${HEIGHT}px`} screenreaderText={t("common.loading")} />}>
      <Chart
        title={t("metric.loss")}
        curves={curves}
        settings={settings}
        onChange={change}
        now={now}
        height={HEIGHT}
        isPending={history?.isPending ?? true}
      />
    </Suspense>
  );
}
