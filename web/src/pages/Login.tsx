/** What a browser sees that has not logged in: how to. */
import {
  Button,
  ClipboardCopy,
  EmptyState,
  EmptyStateActions,
  EmptyStateBody,
  EmptyStateFooter,
  PageSection,
} from "@patternfly/react-core";
import LockIcon from "@patternfly/react-icons/dist/esm/icons/lock-icon";
import { useRetry } from "../api/react";
import { useI18n } from "../i18n";

export function Login() {
  const { t } = useI18n();
  const retry = useRetry();
  return (
    <PageSection isFilled>
      <EmptyState headingLevel="h1" titleText={t("login.title")} icon={LockIcon} variant="lg">
        <EmptyStateBody>{t("login.body")}</EmptyStateBody>
        <EmptyStateFooter>
          <ClipboardCopy isReadOnly hoverTip={t("common.copy")} clickTip={t("common.copied")} isCode>
            headway ui
          </ClipboardCopy>
          <EmptyStateActions>
            <Button variant="link" onClick={retry}>
              {t("login.again")}
            </Button>
          </EmptyStateActions>
        </EmptyStateFooter>
      </EmptyState>
    </PageSection>
  );
}
