/** A sum, and of how many jobs the amount is missing from it: that is never shown as if it were zero. */
import { useI18n } from "../../i18n";
import type { Sum } from "../../model/fleet";
import { Unknown } from "../Figure";

interface Props {
  readonly sum: Sum;
  /** Writes the known part. */
  readonly write: (value: number) => string | null;
}

export function Total({ sum, write }: Props) {
  const { t } = useI18n();
  const { value, unknown } = sum;
  if (unknown > 0 && value === 0) return <Unknown />;
  return (
    <span className="hw-number">
      {write(value)}
      {unknown > 0 && (
        <span className="hw-total__more" title={t("fleet.unknownOf", { count: unknown })}>
          <span aria-hidden="true"> +?</span>
          <span className="pf-v6-screen-reader"> {t("fleet.unknownOf", { count: unknown })}</span>
        </span>
      )}
    </span>
  );
}
