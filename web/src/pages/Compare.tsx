import { PageSection, Title } from "@patternfly/react-core";
import { useI18n } from "../i18n";

export function Compare() {
  const { t } = useI18n();
  return (
    <PageSection isFilled>
      <Title headingLevel="h1">{t("compare.title")}</Title>
    </PageSection>
  );
}
