/** A figure, or the dash that stands for one that is not known. */
import { useI18n } from "../i18n";

export function Figure({ value }: { readonly value: string | null | undefined }) {
  return value === null || value === undefined || value === "" ? <Unknown /> : value;
}

export function Unknown() {
  const { t } = useI18n();
  return (
    <span className="hw-unknown">
      <span aria-hidden="true">—</span>
      <span className="pf-v6-screen-reader">{t("common.unknown")}</span>
    </span>
  );
}
