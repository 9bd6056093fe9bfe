/** Runs side by side: chosen in the address, ranked by a metric, their curves over each other. */
import { Bullseye, EmptyState, EmptyStateBody, PageSection, Spinner, Title } from "@patternfly/react-core";
import ChartLineIcon from "@patternfly/react-icons/dist/esm/icons/chart-line-icon";
import { useMemo } from "react";
import { useDetails } from "../api/details";
import { useFleet } from "../api/react";
import { CompareCharts } from "../components/compare/CompareCharts";
import { CompareTable } from "../components/compare/CompareTable";
import { RunPicker } from "../components/compare/RunPicker";
import { runsOf } from "../components/compare/run";
import { useI18n } from "../i18n";
import { type Comparison, metricColumns, parameters, readComparison, writeComparison } from "../model/compare";
import { changeQuery, useAddress } from "../router";
import "../styles/table.css";
import "../styles/compare.css";

/** More cannot be told apart by colour and dashes. */
const MOST = 16;

export function Compare() {
  const { t } = useI18n();
  const { query } = useAddress();
  const { byKey, known } = useFleet();
  const { keys, by } = useMemo(() => readComparison(query), [query]);
  const shown = keys.slice(0, MOST);
  const present = shown.filter((key) => byKey.has(key));
  const found = useDetails(present);
  const runs = useMemo(() => runsOf(found), [found]);
  const jobs = useMemo(() => runs.map((run) => run.seen.job), [runs]);
  const columns = useMemo(() => metricColumns(jobs), [jobs]);
  const differing = useMemo(() => parameters(jobs), [jobs]);
  const rankable = columns.filter((column) => column.direction !== null);
  const main = rankable.find((column) => column.metric === by) ?? rankable[0];

  const change = (changes: Partial<Comparison>) =>
    changeQuery((written) => writeComparison({ ...readComparison(written), ...changes }, written));
  const gone = known ? shown.length - present.length : 0;

  return (
    <PageSection isFilled className="hw-compare-page">
      <div className="hw-compare-page__head">
        <Title headingLevel="h1" size="xl">
          {t("compare.title")}
        </Title>
        <RunPicker all={byKey} chosen={shown} limit={MOST} onChange={(chosen) => change({ keys: chosen })} />
        {gone > 0 && <span className="hw-compare-page__note">{t("compare.gone", { count: gone })}</span>}
        {keys.length > MOST && <span className="hw-compare-page__note">{t("compare.most", { count: MOST })}</span>}
      </div>
      {runs.length < present.length ? (
        <Bullseye>
          <Spinner aria-label={t("common.loading")} />
        </Bullseye>
      ) : runs.length === 0 ? (
        <EmptyState headingLevel="h2" titleText={t("compare.noneTitle")} icon={ChartLineIcon}>
          <EmptyStateBody>{t("compare.none")}</EmptyStateBody>
        </EmptyState>
      ) : (
        <>
          <CompareTable
            runs={runs}
            columns={columns}
            parameters={differing}
            by={main?.metric ?? null}
            onRankBy={(metric) => change({ by: metric })}
            onRemove={(key) => change({ keys: keys.filter((each) => each !== key) })}
          />
          <CompareCharts runs={runs} columns={columns} />
        </>
      )}
    </PageSection>
  );
}
