/**
 * A verdict as a coloured label with an icon and how long it has stood; a dash for a job that does not run.
 *
 * Plain elements with PatternFly's classes: its own Label measures its text when it appears, which makes the browser lay out
 * the page for each row that is scrolled into sight.
 */

import CheckCircleIcon from "@patternfly/react-icons/dist/esm/icons/check-circle-icon";
import ExclamationCircleIcon from "@patternfly/react-icons/dist/esm/icons/exclamation-circle-icon";
import ExclamationTriangleIcon from "@patternfly/react-icons/dist/esm/icons/exclamation-triangle-icon";
import HourglassHalfIcon from "@patternfly/react-icons/dist/esm/icons/hourglass-half-icon";
import InfoCircleIcon from "@patternfly/react-icons/dist/esm/icons/info-circle-icon";
import { css } from "@patternfly/react-styles";
import styles from "@patternfly/react-styles/css/components/Label/label";
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
    <span className={css(styles.label, styles.modifiers.compact, styles.modifiers[modifier(verdict)], "hw-label")}>
      <span className={styles.labelContent}>
        <span className={styles.labelIcon}>{icon(verdict)}</span>
        <span className={styles.labelText}>
          {t(`verdict.${verdict}`)}
          {since && <span className="hw-label-since"> {since}</span>}
        </span>
      </span>
    </span>
  );
});

/** PatternFly's modifier of a colour; grey is what a label without one is. */
function modifier(verdict: Verdict): "red" | "orange" | "blue" | "green" | "teal" | "purple" | "filled" {
  const tone = verdictTone(verdict);
  return tone === "grey" ? "filled" : tone;
}

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
