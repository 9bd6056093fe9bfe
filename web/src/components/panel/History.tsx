/** What a job has been through: its attempts, what people and rules did to it, and every condition that stood. */
import { Label, Title } from "@patternfly/react-core";
import { Table, Tbody, Td, Th, Thead, Tr } from "@patternfly/react-table";
import type { ReactNode } from "react";
import { useNow } from "../../api/react";
import type { Seen } from "../../api/store";
import type { Attempt, Condition, Job } from "../../api/types";
import { useI18n } from "../../i18n";
import { messageText } from "../../model/said";
import { conditionText } from "../../model/sentences";
import { severityTone } from "../../model/verdict";
import { Figure } from "../Figure";

export function History({ seen: { job } }: { readonly seen: Seen<Job> }) {
  const { t } = useI18n();
  return (
    <>
      <Part title={t("history.attempts")}>
        <Attempts attempts={job.attempts} />
      </Part>
      <Part title={t("history.actions")}>
        <ActionList actions={job.actions} />
      </Part>
      <Part title={t("history.conditions")}>
        <ConditionList conditions={job.conditions} />
      </Part>
    </>
  );
}

function Part({ title, children }: { readonly title: string; readonly children: ReactNode }) {
  return (
    <section className="hw-part">
      <Title headingLevel="h3" size="md">
        {title}
      </Title>
      <div className="hw-scroll-x">{children}</div>
    </section>
  );
}

function Nothing() {
  const { t } = useI18n();
  return <p className="hw-fact-note">{t("history.none")}</p>;
}

function Attempts({ attempts }: { readonly attempts: readonly Attempt[] }) {
  const { t, format } = useI18n();
  const now = useNow();
  if (attempts.length === 0) return <Nothing />;
  return (
    <Table variant="compact" aria-label={t("history.attempts")} gridBreakPoint="" className="hw-small-table">
      <Thead>
        <Tr>
          <Th>#</Th>
          <Th>{t("history.started")}</Th>
          <Th>{t("job.ran")}</Th>
          <Th>{t("job.steps")}</Th>
          <Th>{t("job.checkpoint")}</Th>
          <Th>{t("history.ending")}</Th>
        </Tr>
      </Thead>
      <Tbody>
        {[...attempts].reverse().map((attempt) => {
          const from = format.count(attempt.resumedFromStep ?? attempt.firstStep);
          const to = format.count(attempt.lastStep);
          return (
            <Tr key={attempt.id}>
              <Td title={attempt.id}>{attempt.ordinal}</Td>
              <Td className="hw-number">
                <Figure value={format.moment(attempt.startedAt, now)} />
              </Td>
              <Td className="hw-number">
                <Figure value={format.duration((attempt.endedAt ?? now) - attempt.startedAt)} />
              </Td>
              <Td className="hw-number">
                <Figure value={to === null ? null : from === null ? to : `${from}–${to}`} />
              </Td>
              <Td className="hw-number">
                <Figure value={format.count(attempt.checkpoint?.step)} />
              </Td>
              <Td>
                <Ending attempt={attempt} />
              </Td>
            </Tr>
          );
        })}
      </Tbody>
    </Table>
  );
}

function Ending({ attempt: { ending, endedAt } }: { readonly attempt: Attempt }) {
  const { t } = useI18n();
  if (!ending) return endedAt === null || endedAt === undefined ? t("state.Running") : <Figure value={null} />;
  const details = [
    ending.exception,
    ending.signal,
    ending.exitCode ? t("history.exitCode", { code: ending.exitCode }) : null,
  ]
    .filter(Boolean)
    .join(", ");
  return (
    <span title={[ending.message, ...(ending.logTail ?? [])].filter(Boolean).join("\n")}>
      {t(`ending.${ending.kind}`)}
      {details && <span className="hw-fact-note"> {details}</span>}
    </span>
  );
}

function ActionList({ actions }: { readonly actions: Job["actions"] }) {
  const writer = useI18n();
  const { t, format } = writer;
  const now = useNow();
  if (actions.length === 0) return <Nothing />;
  return (
    <Table variant="compact" aria-label={t("history.actions")} gridBreakPoint="" className="hw-small-table">
      <Thead>
        <Tr>
          <Th>{t("history.asked")}</Th>
          <Th>{t("history.what")}</Th>
          <Th>{t("history.by")}</Th>
          <Th>{t("history.outcome")}</Th>
        </Tr>
      </Thead>
      <Tbody>
        {[...actions].reverse().map((action) => (
          <Tr key={action.id}>
            <Td className="hw-number">
              <Figure value={format.moment(action.askedAt, now)} />
            </Td>
            <Td title={action.reason}>{t(`action.${action.kind}`)}</Td>
            <Td>
              <Figure value={action.by} />
            </Td>
            <Td>
              {(action.outcomeMessage ? messageText(action.outcomeMessage, writer) : action.outcome) ||
                (action.carriedOut
                  ? t(`carriedOut.${action.carriedOut}`)
                  : action.acknowledgedAt
                    ? t("history.acknowledged")
                    : t("history.underWay"))}
            </Td>
          </Tr>
        ))}
      </Tbody>
    </Table>
  );
}

function ConditionList({ conditions }: { readonly conditions: readonly Condition[] }) {
  const { t, format } = useI18n();
  const now = useNow();
  if (conditions.length === 0) return <Nothing />;
  return (
    <ul className="hw-timeline">
      {[...conditions].reverse().map((condition) => {
        const lasted = format.span((condition.until ?? now) - condition.since) ?? "";
        return (
          <li key={`${condition.type} ${condition.metric ?? ""} ${condition.since}`}>
            <Label isCompact variant={condition.until ? "outline" : "filled"} color={severityTone(condition.severity)}>
              {t(`verdict.${condition.type}`)}
            </Label>{" "}
            <span className="hw-number">
              {format.moment(condition.since, now)} ·{" "}
              {condition.until ? t("history.lasted", { duration: lasted }) : t("history.stands", { duration: lasted })}
            </span>
            <p className="hw-fact-note">{conditionText(condition, now, { t, format })}</p>
          </li>
        );
      })}
    </ul>
  );
}
