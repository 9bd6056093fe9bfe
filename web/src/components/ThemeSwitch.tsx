import AdjustIcon from "@patternfly/react-icons/dist/esm/icons/adjust-icon";
import { useI18n } from "../i18n";
import { setTheme, THEMES, useTheme } from "../theme";
import { Choice } from "./Choice";

export function ThemeSwitch() {
  const { t } = useI18n();
  const theme = useTheme();
  return (
    <Choice
      label={t("theme.label")}
      icon={<AdjustIcon />}
      options={THEMES.map((value) => ({ value, label: t(`theme.${value}`) }))}
      value={theme}
      onChoose={setTheme}
    />
  );
}
