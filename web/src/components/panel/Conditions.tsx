/** Conditions, each with since when it stands and the figures that it rests on. */
import { Alert } from "@patternfly/react-core";
import { useNow } from "../../api/react";
import type { Condition, Severity } from "../../api/types";
import { useI18n } from "../../i18n";
import { isMessageKey } from "../../i18n/catalogue";
import { conditionText, figureText, shownFigures } from "../../model/sentences";

const VARIANTS: Readonly<Record<Severity, "danger" | "warning" | "info">> = {
  critical: "danger",
  warning: "warning",
  notice: "info",
};

export function Conditions({ conditions }: { readonly conditions: readonly Condition[] }) {
  const { t, format } = useI18n();
  const now = useNow();
  return (
    <div className="hw-conditions">
      {conditions.map((condition) => {
        const since = format.moment(condition.since, now) ?? "";
        const step = format.count(condition.sinceStep);
        return (
          <Alert
            key={`${condition.type} ${condition.metric ?? ""} ${condition.since}`}
            isInline
            component="h3"
            variant={VARIANTS[condition.severity]}
            title={
              <>
                {t(`verdict.${condition.type}`)}{" "}
                <span className="hw-condition-span">
                  {format.span(now - condition.since)} ·{" "}
                  {step === null ? t("jobs.since", { moment: since }) : t("job.sinceStep", { moment: since, step })}
                </span>
              </>
            }
          >
            <p className="hw-condition-text">{conditionText(condition, now, { t, format })}</p>
            <Evidence evidence={condition.evidence ?? {}} />
          </Alert>
        );
      })}
    </div>
  );
}

export function Evidence({ evidence }: { readonly evidence: NonNullable<Condition["evidence"]> }) {
  const writer = useI18n();
  const figures = shownFigures(evidence);
  if (figures.length === 0) return null;
  return (
    <dl className="hw-evidence" aria-label={writer.t("job.evidence")}>
      {figures.map(([name, value]) => {
        const [label, words] = figureText(name, value, isMessageKey, writer);
        return (
          <div key={name}>
            <dt>{label}</dt>
            <dd>{words}</dd>
          </div>
        );
      })}
    </dl>
  );
}
