import { PageSection, Title } from "@patternfly/react-core";
import { useFleet } from "../api/react";
import { useI18n } from "../i18n";

export function Jobs() {
  const { t } = useI18n();
  const { list } = useFleet();
  return (
    <PageSection isFilled>
      <Title headingLevel="h1">{t("jobs.title")}</Title>
      <p>{t("jobs.count", { count: list.length })}</p>
    </PageSection>
  );
}
