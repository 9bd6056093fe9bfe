/** The jobs to look at first, each with what is the matter and what it holds meanwhile. */
import { Button } from "@patternfly/react-core";
import CheckCircleIcon from "@patternfly/react-icons/dist/esm/icons/check-circle-icon";
import { useState } from "react";
import { useAtNow } from "../../api/react";
import { useI18n } from "../../i18n";
import type { Concern } from "../../model/fleet";
import { conditionText, summaryText } from "../../model/sentences";
import { followLink } from "../../router";
import { StateLabel } from "../StateLabel";
import { VerdictLabel } from "../VerdictLabel";

const FEW = 8;

export function Concerns({ concerns }: { readonly concerns: readonly Concern[] }) {
  const { t } = useI18n();
  const [isAll, setAll] = useState(false);
  if (concerns.length === 0) {
    return (
      <p className="hw-fleet__calm">
        <CheckCircleIcon /> {t("fleet.calm")}
      </p>
    );
  }
  return (
    <>
      <ol className="hw-concerns">
        {(isAll ? concerns : concerns.slice(0, FEW)).map((concern) => (
          <Row key={concern.seen.key} concern={concern} />
        ))}
      </ol>
      {concerns.length > FEW && (
        <Button variant="link" onClick={() => setAll(!isAll)} aria-expanded={isAll}>
          {isAll ? t("fleet.fewer") : t("common.andMore", { count: concerns.length - FEW })}
        </Button>
      )}
    </>
  );
}

function Row({ concern: { seen, condition, since, rate, devices } }: { readonly concern: Concern }) {
  const writer = useI18n();
  const { t, format } = writer;
  const { job, key } = seen;
  const summary = summaryText(job, writer);
  const age = useAtNow((now) => format.span(now - since));
  const text = useAtNow((now) => (condition ? conditionText(condition, now, writer) : summary));
  const holds = [
    devices !== null && t("fleet.devices", { count: devices }),
    rate !== null && t("fleet.perHour", { amount: format.money(rate) ?? "" }),
  ].filter(Boolean);
  return (
    <li className="hw-concern">
      <div className="hw-concern__label">
        {condition ? (
          <VerdictLabel verdict={condition.type} since={age} />
        ) : (
          <StateLabel state={job.state} summary={summary} />
        )}
      </div>
      <div className="hw-concern__job">
        <a href={`/?${new URLSearchParams({ job: key })}`} onClick={followLink} className="hw-cut" title={job.name}>
          {job.spec.displayName || job.name}
        </a>
        <span className="hw-concern__who hw-cut">{[job.namespace, job.spec.owner].filter(Boolean).join(" · ")}</span>
      </div>
      <div className="hw-concern__holds">{holds.join(" · ")}</div>
      {text && (
        <p className="hw-concern__text" title={text}>
          {text}
        </p>
      )}
    </li>
  );
}
