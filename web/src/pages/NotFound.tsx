import { EmptyState, EmptyStateBody, PageSection } from "@patternfly/react-core";
import { useI18n } from "../i18n";
import { followLink } from "../router";

export function NotFound() {
  const { t } = useI18n();
  return (
    <PageSection isFilled>
      <EmptyState headingLevel="h1" titleText={t("page.notFound")}>
        <EmptyStateBody>
          <a href="/" onClick={followLink}>
            {t("page.backToJobs")}
          </a>
        </EmptyStateBody>
      </EmptyState>
    </PageSection>
  );
}
