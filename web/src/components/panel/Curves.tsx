/** Every curve of a job. */
import { Bullseye, EmptyState, EmptyStateBody, Spinner } from "@patternfly/react-core";
import { lazy, Suspense } from "react";
import { useMetrics } from "../../api/metrics";
import type { Seen } from "../../api/store";
import type { Job } from "../../api/types";
import { useI18n } from "../../i18n";

const JobCharts = lazy(async () => ({ default: (await import("../chart/JobCharts")).JobCharts }));

export function Curves({ seen }: { readonly seen: Seen<Job> }) {
  const { t } = useI18n();
  const metrics = useMetrics(seen.job, Object.keys(seen.job.metrics));
  if (Object.keys(seen.job.metrics).length === 0) {
    return (
      <EmptyState headingLevel="h3" titleText={t("curves.none")} variant="sm">
        <EmptyStateBody>{t("curves.noneBody")}</EmptyStateBody>
      </EmptyState>
    );
  }
  return (
    <Suspense
      fallback={
        <Bullseye>
          <Spinner aria-label={t("common.loading")} />
        </Bullseye>
      }
    >
      <JobCharts seen={seen} metrics={metrics} />
    </Suspense>
  );
}
