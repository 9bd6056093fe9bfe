/** An amount of money where a price is known, else of device time. */
import type { Cost as Amount } from "../api/types";
import { useI18n } from "../i18n";
import { Unknown } from "./Figure";

interface Props {
  readonly cost: Amount | undefined;
  /** Whether there is little room for a unit. */
  readonly isShort?: boolean;
}

export function Cost({ cost, isShort = false }: Props) {
  const { t, format } = useI18n();
  const money = format.money(cost?.money);
  const hours = format.amount(cost?.deviceHours);
  const device = hours === null ? null : t("jobs.deviceHours", { amount: hours });
  if (money === null && device === null) return <Unknown />;
  return (
    <span className="hw-number hw-cut" title={device ?? undefined}>
      {money ?? (isShort && hours !== null ? t("jobs.deviceHoursShort", { amount: hours }) : device)}
    </span>
  );
}
