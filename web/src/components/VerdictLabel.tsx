/** A verdict as a coloured label with an icon and how long it has stood; a dash for a job that does not run. */
import { Label } from "@patternfly/react-core";
import CheckCircleIcon from "@patternfly/react-icons/dist/esm/icons/check-circle-icon";
import ExclamationCircleIcon from "@patternfly/react-icons/dist/esm/icons/exclamation-circle-icon";
import ExclamationTriangleIcon from "@patternfly/react-icons/dist/esm/icons/exclamation-triangle-icon";
import HourglassHalfIcon from "@patternfly/react-icons/dist/esm/icons/hourglass-half-icon";
import InfoCircleIcon from "@patternfly/react-icons/dist/esm/icons/info-circle-icon";
import { memo, type ReactNode } from "react";
import type { Verdict } from "../api/types";
import { useI18n } from "../i18n";
import { severityOf, verdictTone } from "../model/verdict";
import { Unknown } from "./Figure";

interface Props {
  readonly verdict: Verdict | null;
  /** How long it has stood, in words. */
  readonly since?: string | null;
}

export const VerdictLabel = memo(function VerdictLabel({ verdict, since }: Props) {
  const { t } = useI18n();
  if (verdict === null) return <Unknown />;
  return (
    <Label color={verdictTone(verdict)} icon={icon(verdict)} isCompact className="hw-label">
      {t(`verdict.${verdict}`)}
      {since && <span className="hw-label-since"> {since}</span>}
    </Label>
  );
});

function icon(verdict: Verdict): ReactNode {
  switch (severityOf(verdict)) {
    case "critical":
      return <ExclamationCircleIcon />;
    case "warning":
      return <ExclamationTriangleIcon />;
    case "notice":
      return <InfoCircleIcon />;
    default:
      return verdict === "Progressing" || verdict === "Finishing" ? <CheckCircleIcon /> : <HourglassHalfIcon />;
  }
}
