/** What a person wants to know first: how far, until when, how well, at what cost; and what speaks against it. */
import { type ReactNode, useId } from "react";
import { useAtNow, useNow } from "../../api/react";
import type { Seen } from "../../api/store";
import type { Job } from "../../api/types";
import { useI18n } from "../../i18n";
import { isKnown } from "../../model/format";
import { evaluationMetrics, metricName, percentOf, remaining, runTime } from "../../model/job";
import { messageText } from "../../model/said";
import { basisText, resumedText, summaryText, verdictText } from "../../model/sentences";
import { hasEnded, standing, stateTone } from "../../model/verdict";
import { Cost } from "../Cost";
import { Figure } from "../Figure";
import { ProgressBar } from "../ProgressBar";
import { Conditions } from "./Conditions";
import { Facts } from "./Facts";
import { MainCurves } from "./MainCurves";

export function Overview({ seen }: { readonly seen: Seen<Job> }) {
  const writer = useI18n();
  const { t } = writer;
  const { job } = seen;
  const heading = useId();
  const conditions = standing(job);
  // A condition says the same with more beside it.
  const warnings = job.warningMessages.filter(
    ({ kind }) => kind !== "warning.pastTotal" || !conditions.some(({ type }) => type === "TotalWrong"),
  );
  const calm = verdictText(job, conditions, seen.at, writer);
  return (
    <>
      <Headline seen={seen} />
      {conditions.length > 0 ? (
        <Conditions conditions={conditions} />
      ) : (
        calm && <p className="hw-verdict-text">{calm}</p>
      )}
      <MainCurves seen={seen} />
      <section aria-label={t("job.figures")}>
        <Figures seen={seen} />
      </section>
      {warnings.length > 0 && (
        <section className="hw-part" aria-labelledby={heading}>
          <h3 id={heading} className="hw-fact-note">
            {t("job.warnings")}
          </h3>
          <ul className="hw-warnings">
            {warnings.map((warning) => (
              <li key={warning.text}>{messageText(warning, writer)}</li>
            ))}
          </ul>
        </section>
      )}
    </>
  );
}

/** The bar, steps, epochs, and the time that is left with its interval. */
function Headline({ seen }: { readonly seen: Seen<Job> }) {
  const writer = useI18n();
  const { t, format } = writer;
  const { job } = seen;
  const now = useNow();
  const left = remaining(seen, now);
  const ended = hasEnded(job.state);
  const percent = percentOf(job);
  const { step, totalSteps, epoch, totalEpochs, phase } = job.progress;
  const range = (low: string | null, high: string | null): string | null =>
    low === null || high === null ? null : low === high ? low : t("job.range", { low, high });
  return (
    <div className="hw-headline">
      <ProgressBar
        percent={percent}
        tone={job.state === "Running" ? "blue" : stateTone(job.state)}
        label={t("jobs.progressOf", { name: job.name })}
      />
      <dl className="hw-tiles">
        <Tile label={t("job.steps")}>
          <OutOf value={format.count(step)} total={format.count(totalSteps)} />
        </Tile>
        <Tile label={t("job.epochs")}>
          <OutOf value={format.amount(epoch)} total={format.amount(totalEpochs)} />
        </Tile>
        {ended ? (
          <>
            <Tile label={t("job.ran")}>
              <Figure value={format.duration(runTime(job, now))} />
            </Tile>
            <Tile label={t("job.ended")} note={summaryText(job, writer)}>
              <Figure value={format.moment(job.endedAt, now)} />
            </Tile>
          </>
        ) : (
          <>
            <Tile
              label={t("jobs.column.eta")}
              note={left && range(format.remaining(left.low), format.remaining(left.high))}
            >
              <Figure value={format.remaining(left?.seconds)} />
            </Tile>
            <Tile
              label={t("jobs.column.finish")}
              note={
                left &&
                range(
                  format.moment(left.finishAt - left.seconds + left.low, now),
                  format.moment(left.finishAt - left.seconds + left.high, now),
                )
              }
            >
              <Figure value={format.moment(left?.finishAt, now)} />
            </Tile>
          </>
        )}
      </dl>
      <p className="hw-headline-note">
        {[
          ended || job.state === "Running" ? null : summaryText(job, writer),
          !ended && phase && phase !== "train" ? t(`phase.${phase}`) : null,
          resumedText(job, writer),
          job.eta && !ended ? t("job.basis", { basis: basisText(job.eta, writer) }) : null,
        ]
          .filter(Boolean)
          .join(" · ")}
      </p>
    </div>
  );
}

/** A figure, and in smaller type what it is out of. */
function OutOf({ value, total }: { readonly value: string | null; readonly total: string | null }) {
  return (
    <>
      <Figure value={value} />
      {value !== null && total !== null && <span className="hw-tile-total"> / {total}</span>}
    </>
  );
}

function Tile({
  label,
  note,
  children,
}: {
  readonly label: string;
  readonly note?: string | null;
  readonly children: ReactNode;
}) {
  return (
    <div className="hw-tile">
      <dt>{label}</dt>
      <dd>
        <span className="hw-tile-value">{children}</span>
        {note && <span className="hw-tile-note">{note}</span>}
      </dd>
    </div>
  );
}

function Figures({ seen }: { readonly seen: Seen<Job> }) {
  const { t, format } = useI18n();
  const { job } = seen;
  const { stepSeconds, samples, tokens } = job.progress;
  const elapsed = useAtNow((now) => format.duration(runTime(job, now)));
  const known = ["loss", "grad_norm", "learning_rate"] as const;
  const named = known.map((canonical) => ({ canonical, name: metricName(job, canonical) }));
  const evaluations = evaluationMetrics(job);
  const taken = new Set<string>([...named.map((each) => each.name ?? ""), ...evaluations]);
  const others = Object.keys(job.metrics).filter((name) => !taken.has(name) && !COUNTERS.has(name));
  const metricFact = (name: string | null, label: string) => ({
    label,
    value: (
      <MetricValue
        value={name === null ? undefined : job.metrics[name]}
        best={name === null ? undefined : job.best[name]}
      />
    ),
  });
  return (
    <Facts
      facts={[
        ...named.map(({ canonical, name }) => metricFact(name, t(`metric.${canonical}`))),
        ...evaluations.map((name) => metricFact(name, name)),
        ...others.map((name) => metricFact(name, name)),
        { label: t("job.stepTime"), value: <Figure value={format.stepTime(stepSeconds)} /> },
        {
          label: t("job.throughput"),
          value: (
            <Figure
              value={
                isKnown(stepSeconds) && stepSeconds > 0
                  ? t("job.stepsPerSecond", { rate: format.value(1 / stepSeconds) ?? "" })
                  : null
              }
            />
          ),
        },
        ...(isKnown(samples) ? [{ label: t("job.samples"), value: format.count(samples) }] : []),
        ...(isKnown(tokens) ? [{ label: t("job.tokens"), value: format.count(tokens) }] : []),
        {
          label: t("job.checkpoint"),
          value: (
            <Figure
              value={job.checkpoint ? t("job.atStep", { step: format.count(job.checkpoint.step) ?? "" }) : null}
            />
          ),
        },
        { label: t("job.elapsed"), value: <Figure value={elapsed} /> },
        { label: t("jobs.column.cost"), value: <Cost cost={job.ledger.spent} /> },
        { label: t("job.remainingCost"), value: <Cost cost={job.ledger.remaining} /> },
        { label: t("job.atRisk"), value: <Cost cost={job.ledger.atRisk} /> },
        { label: t("job.wasted"), value: <Cost cost={job.ledger.withoutProgress} /> },
      ]}
    />
  );
}

/** Metrics that stock clients send beside the others, shown as progress already. */
const COUNTERS: ReadonlySet<string> = new Set([
  "step",
  "current_step",
  "global_step",
  "total_steps",
  "epoch",
  "current_epoch",
  "total_epochs",
]);

function MetricValue({ value, best }: { readonly value: number | undefined; readonly best: number | undefined }) {
  const { t, format } = useI18n();
  const isBad = value !== undefined && !Number.isFinite(value);
  return (
    <>
      <span className={isBad ? "hw-bad" : undefined}>
        <Figure value={format.value(value)} />
      </span>
      {best !== undefined && best !== value && (
        <span className="hw-fact-note">{t("job.best", { value: format.value(best) ?? "" })}</span>
      )}
    </>
  );
}
