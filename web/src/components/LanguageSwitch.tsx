import LanguageIcon from "@patternfly/react-icons/dist/esm/icons/language-icon";
import { useI18n } from "../i18n";
import { LANGUAGE_NAMES, LANGUAGES } from "../i18n/languages";
import { Choice } from "./Choice";

export function LanguageSwitch() {
  const { t, language, setLanguage } = useI18n();
  return (
    <Choice
      label={t("language.label")}
      icon={<LanguageIcon />}
      options={LANGUAGES.map((value) => ({ value, label: LANGUAGE_NAMES[value], lang: value }))}
      value={language}
      onChoose={setLanguage}
    />
  );
}
