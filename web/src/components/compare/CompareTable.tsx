/** Runs as rows, ranked by one metric: how they are, what they came to, in which hyperparameters they differ. */
import { Button, Tooltip } from "@patternfly/react-core";
import ArrowDownIcon from "@patternfly/react-icons/dist/esm/icons/arrow-down-icon";
import ArrowUpIcon from "@patternfly/react-icons/dist/esm/icons/arrow-up-icon";
import StarIcon from "@patternfly/react-icons/dist/esm/icons/star-icon";
import TimesIcon from "@patternfly/react-icons/dist/esm/icons/times-icon";
import type { ReactNode } from "react";
import { useAtNow } from "../../api/react";
import { useI18n } from "../../i18n";
import { type MetricCell, type MetricColumn, type Parameters, type ParameterValue, ranked } from "../../model/compare";
import { exactText } from "../../model/format";
import { percentOf, runTime } from "../../model/job";
import { summaryText } from "../../model/sentences";
import { followLink } from "../../router";
import { Cost } from "../Cost";
import { Swatch } from "../chart/Swatch";
import { Figure, Unknown } from "../Figure";
import { StateLabel } from "../StateLabel";
import { VerdictLabel } from "../VerdictLabel";
import type { Run } from "./run";

interface Props {
  readonly runs: readonly Run[];
  readonly columns: readonly MetricColumn[];
  readonly parameters: Parameters;
  /** The metric that runs are ranked by. */
  readonly by: string | null;
  readonly onRankBy: (metric: string) => void;
  readonly onRemove: (key: string) => void;
}

export function CompareTable({ runs, columns, parameters: { differing, same }, by, onRankBy, onRemove }: Props) {
  const { t } = useI18n();
  const main = columns.find((column) => column.metric === by);
  const order = ranked(main, runs.length);
  return (
    <div className="hw-compare__scroll">
      <table className="hw-table hw-compare">
        <caption className="pf-v6-screen-reader">
          {main ? t("compare.rankedBy", { metric: main.metric }) : t("compare.table")}
        </caption>
        <thead>
          <tr className="hw-compare__groups">
            <th scope="colgroup" colSpan={5}>
              {t("compare.run")}
            </th>
            {columns.length > 0 && (
              <th scope="colgroup" colSpan={columns.length}>
                {t("compare.metrics")}
              </th>
            )}
            {(differing.length > 0 || same > 0) && (
              <th scope="colgroup" colSpan={Math.max(1, differing.length)}>
                {t("compare.parameters")}
                {same > 0 && <span className="hw-compare__same"> {t("compare.same", { count: same })}</span>}
              </th>
            )}
          </tr>
          <tr>
            <th scope="col" className="hw-compare__name">
              {t("jobs.column.name")}
            </th>
            <th scope="col" className="hw-compare__state">
              {t("jobs.column.state")}
            </th>
            <th scope="col">{t("jobs.column.progress")}</th>
            <th scope="col">{t("compare.time")}</th>
            <th scope="col">{t("jobs.column.cost")}</th>
            {columns.map((column) => (
              <MetricHead key={column.metric} column={column} isMain={column === main} onRankBy={onRankBy} />
            ))}
            {differing.map(({ name }) => (
              <th key={name} scope="col" className="hw-compare__parameter">
                {name}
              </th>
            ))}
            {differing.length === 0 && same > 0 && <th scope="col" />}
          </tr>
        </thead>
        <tbody>
          {order.map((index) => {
            const run = runs[index];
            if (!run) return null;
            return (
              <Row key={run.seen.key} run={run} place={main?.cells[index]?.rank ?? null} onRemove={onRemove}>
                {columns.map((column) => (
                  <MetricData key={column.metric} column={column} cell={column.cells[index]} isMain={column === main} />
                ))}
                {differing.map(({ name, values }) => (
                  <td key={name} className="hw-compare__parameter">
                    <Value value={values[index]} />
                  </td>
                ))}
                {differing.length === 0 && same > 0 && <td>{t("compare.allSame")}</td>}
              </Row>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}

interface HeadProps {
  readonly column: MetricColumn;
  readonly isMain: boolean;
  readonly onRankBy: (metric: string) => void;
}

function MetricHead({ column: { metric, direction }, isMain, onRankBy }: HeadProps) {
  const { t } = useI18n();
  if (direction === null) {
    return (
      <th scope="col" title={t("compare.noDirection")}>
        {metric}
      </th>
    );
  }
  return (
    <th scope="col" aria-sort={isMain ? "ascending" : "none"}>
      <Tooltip content={t("compare.rankBy", { metric })}>
        <Button
          variant="plain"
          size="sm"
          className={isMain ? "hw-compare__rank hw-compare__rank--main" : "hw-compare__rank"}
          aria-label={t("compare.rankBy", { metric })}
          aria-pressed={isMain}
          onClick={() => onRankBy(metric)}
          icon={direction === "min" ? <ArrowDownIcon /> : <ArrowUpIcon />}
          iconPosition="end"
        >
          {metric}
        </Button>
      </Tooltip>
      <span className="pf-v6-screen-reader">{t(`compare.${direction}`)}</span>
    </th>
  );
}

interface RowProps {
  readonly run: Run;
  readonly place: number | null;
  readonly onRemove: (key: string) => void;
  readonly children: ReactNode;
}

function Row({ run: { seen, colour, label }, place, onRemove, children }: RowProps) {
  const { t, format } = useI18n();
  const { job, key } = seen;
  const percent = percentOf(job);
  const time = useAtNow((now) => format.duration(runTime(job, now)));
  return (
    <tr>
      <th scope="row" className="hw-compare__name">
        <span className="hw-compare__run">
          <span className="hw-compare__place">{place === null ? "" : format.count(place)}</span>
          <Swatch colour={colour} />
          <a href={`/?${new URLSearchParams({ job: key })}`} onClick={followLink} className="hw-cut" title={label}>
            {label}
          </a>
          <Button
            variant="plain"
            size="sm"
            className="hw-compare__remove"
            aria-label={t("compare.remove", { name: label })}
            onClick={() => onRemove(key)}
            icon={<TimesIcon />}
          />
        </span>
      </th>
      <td className="hw-compare__state">
        {job.state === "Running" ? (
          <VerdictLabel verdict={job.verdict} />
        ) : (
          <StateLabel state={job.state} summary={summaryText(job, { t, format })} />
        )}
      </td>
      <td>
        <Figure value={format.percent(percent)} />
      </td>
      <td>
        <Figure value={time} />
      </td>
      <td>
        <Cost cost={job.ledger.spent} />
      </td>
      {children}
    </tr>
  );
}

interface DataProps {
  readonly column: MetricColumn;
  readonly cell: MetricCell | undefined;
  readonly isMain: boolean;
}

function MetricData({ column: { direction }, cell, isMain }: DataProps) {
  const { t, format } = useI18n();
  if (!cell || cell.final === null) {
    return (
      <td>
        <Unknown />
      </td>
    );
  }
  const isBad = !Number.isFinite(cell.final);
  const classes = ["hw-compare__final", isBad && "hw-bad", cell.isBestFinal && "hw-compare__top"];
  return (
    <td className={isMain ? "hw-compare__main" : undefined}>
      <span className={classes.filter(Boolean).join(" ")}>{format.value(cell.final)}</span>
      {direction !== null && cell.best !== null && (
        <span className={cell.isBest ? "hw-compare__best hw-compare__top" : "hw-compare__best"}>
          {cell.isBest && <StarIcon className="hw-compare__star" aria-hidden="true" />}
          {cell.isBest && <span className="pf-v6-screen-reader">{t("compare.bestOfAll")} </span>}
          {t("compare.bestValue", { value: format.value(cell.best) ?? "" })}
        </span>
      )}
    </td>
  );
}

/** Hyperparameters are shown to the last digit: two that differ must not look the same. */
function Value({ value }: { readonly value: ParameterValue }) {
  return value === undefined ? <Unknown /> : exactText(value);
}
