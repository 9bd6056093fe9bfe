import { PageSection, Title } from "@patternfly/react-core";
import { useI18n } from "../i18n";

export function Fleet() {
  const { t } = useI18n();
  return (
    <PageSection isFilled>
      <Title headingLevel="h1">{t("fleet.title")}</Title>
    </PageSection>
  );
}
