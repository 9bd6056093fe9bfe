/** Conditions, each with since when it stands and the figures that it rests on. */
import { Alert } from "@patternfly/react-core";
import { useNow } from "../../api/react";
import type { Condition, Severity } from "../../api/types";
import { useI18n } from "../../i18n";

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
                <span className="hw-condition-span">{format.span(now - condition.since)}</span>
              </>
            }
          >
            <p className="hw-condition-text">{condition.text}</p>
            <p className="hw-fact-note">
              {step === null ? t("jobs.since", { moment: since }) : t("job.sinceStep", { moment: since, step })}
            </p>
            <Evidence evidence={condition.evidence ?? {}} />
          </Alert>
        );
      })}
    </div>
  );
}

export function Evidence({ evidence }: { readonly evidence: NonNullable<Condition["evidence"]> }) {
  const { t, format } = useI18n();
  const figures = Object.entries(evidence);
  if (figures.length === 0) return null;
  return (
    <dl className="hw-evidence" aria-label={t("job.evidence")}>
      {figures.map(([name, value]) => (
        <div key={name}>
          <dt>{words(name)}</dt>
          <dd>
            {typeof value !== "number"
              ? String(value ?? "—")
              : MOMENTS.test(name)
                ? format.fullMoment(value)
                : format.value(value)}
          </dd>
        </div>
      ))}
    </dl>
  );
}

/** Names of figures that are points in time. */
const MOMENTS = /At$|^lastContact$/;

/** `slopeLow` as `slope low`. */
const words = (name: string): string => name.replace(/([a-z0-9])([A-Z])/g, "$1 $2").toLowerCase();
