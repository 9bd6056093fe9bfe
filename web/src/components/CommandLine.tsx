/** A line for the terminal, to copy. */
import { ClipboardCopy } from "@patternfly/react-core";
import { useI18n } from "../i18n";

export function CommandLine({ text }: { readonly text: string }) {
  const { t } = useI18n();
  return (
    <ClipboardCopy
      variant="inline-compact"
      isCode
      hoverTip={t("common.copy")}
      clickTip={t("common.copied")}
      copyAriaLabel={`${t("common.copy")}: ${text}`}
    >
      {text}
    </ClipboardCopy>
  );
}
