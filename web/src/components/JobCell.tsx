/** One cell of the table of jobs. Cells that count on the clock render by themselves, so that a second costs no whole row. */
import { useAtNow } from "../api/react";
import type { Seen } from "../api/store";
import { keyText } from "../api/types";
import { useI18n } from "../i18n";
import { age, contactAge, isStale, metric, percentOf, remaining } from "../model/job";
import type { Column } from "../model/listing";
import { summaryText, verdictText } from "../model/sentences";
import { hasEnded, standing, stateTone, verdictSince } from "../model/verdict";
import { followLink, href, useAddress } from "../router";
import { Cost } from "./Cost";
import { Figure, Unknown } from "./Figure";
import { ProgressBar } from "./ProgressBar";
import { Sparkline } from "./Sparkline";
import { StateLabel } from "./StateLabel";
import { VerdictLabel } from "./VerdictLabel";

interface Props {
  readonly column: Column;
  readonly seen: Seen;
}

export function JobCell({ column, seen }: Props) {
  const { job } = seen;
  switch (column) {
    case "name":
      return <Name seen={seen} />;
    case "namespace":
      return <Text value={job.namespace} />;
    case "state":
      return <State seen={seen} />;
    case "verdict":
      return <JobVerdict seen={seen} />;
    case "progress":
      return <Progress seen={seen} />;
    case "eta":
      return <Remaining seen={seen} />;
    case "finish":
      return <Finish seen={seen} />;
    case "loss":
      return <Sparkline jobKey={seen.key} name={job.name} value={metric(job, "loss")} />;
    case "devices":
      return <Devices seen={seen} />;
    case "cost":
      return <Cost cost={job.ledger.spent} isShort />;
    case "age":
      return <Age seen={seen} />;
    case "updated":
      return <Updated seen={seen} />;
    case "framework":
      return <Text value={job.spec.framework} />;
    case "owner":
      return <Text value={job.spec.owner} />;
    case "tags":
      return <Text value={job.tags.join(", ")} />;
  }
}

function Text({ value }: { readonly value: string | null | undefined }) {
  return value ? (
    <span className="hw-cut" title={value}>
      {value}
    </span>
  ) : (
    <Unknown />
  );
}

function Name({ seen: { job } }: { readonly seen: Seen }) {
  const { path, query } = useAddress();
  const there = new URLSearchParams(query);
  there.set("job", keyText(job));
  const shown = job.spec.displayName || job.name;
  return (
    <a
      href={href(path, there)}
      onClick={followLink}
      className="hw-name hw-cut"
      title={shown === job.name ? shown : `${shown} (${job.name})`}
    >
      {shown}
    </a>
  );
}

function State({ seen: { job } }: { readonly seen: Seen }) {
  return <StateLabel state={job.state} summary={summaryText(job, useI18n())} />;
}

export function JobVerdict({ seen: { job } }: { readonly seen: Seen }) {
  const writer = useI18n();
  const { format } = writer;
  const since = verdictSince(job);
  const words = useAtNow((now) => (since === null ? null : format.span(now - since)));
  const why = useAtNow((now) => verdictText(job, standing(job), now, writer));
  return (
    <span title={why ?? undefined}>
      <VerdictLabel verdict={job.verdict} since={words} />
    </span>
  );
}

function Progress({ seen: { job } }: { readonly seen: Seen }) {
  const { t, format } = useI18n();
  const { step, totalSteps } = job.progress;
  const words = format.count(step);
  const total = format.count(totalSteps);
  const title =
    words === null
      ? undefined
      : total === null
        ? t("jobs.stepsUnknownTotal", { step: words })
        : t("jobs.steps", { step: words, total });
  const tone = job.state === "Running" ? "blue" : stateTone(job.state);
  const percent = percentOf(job);
  if (percent === null && words !== null) return <span className="hw-number">{title}</span>;
  return (
    <ProgressBar
      percent={percent}
      tone={tone}
      label={t("jobs.progressOf", { name: job.name })}
      {...(title !== undefined && { title })}
    />
  );
}

function Remaining({ seen }: { readonly seen: Seen }) {
  const { format } = useI18n();
  const words = useAtNow((now) => format.remaining(remaining(seen, now)?.seconds));
  return (
    <span className="hw-number">
      <Figure value={words} />
    </span>
  );
}

function Finish({ seen }: { readonly seen: Seen }) {
  const { format } = useI18n();
  const { job } = seen;
  const at = hasEnded(job.state) ? job.endedAt : remaining(seen, seen.at)?.finishAt;
  const words = useAtNow((now) => format.moment(at, now));
  return (
    <span
      className={hasEnded(job.state) ? "hw-number hw-past" : "hw-number"}
      title={format.fullMoment(at) ?? undefined}
    >
      <Figure value={words} />
    </span>
  );
}

function Devices({ seen: { job } }: { readonly seen: Seen }) {
  const { format } = useI18n();
  const { nodes, devicesPerNode, deviceType } = job.spec;
  return (
    <span className="hw-number" title={deviceType ?? undefined}>
      {format.count(nodes ?? 1)} × <Figure value={format.count(devicesPerNode)} />
    </span>
  );
}

function Age({ seen: { job } }: { readonly seen: Seen }) {
  const { format } = useI18n();
  const words = useAtNow((now) => format.duration(age(job, now)));
  return (
    <span className="hw-number" title={format.fullMoment(job.createdAt) ?? undefined}>
      <Figure value={words} />
    </span>
  );
}

function Updated({ seen }: { readonly seen: Seen }) {
  const { t, format } = useI18n();
  const words = useAtNow((now) => {
    const seconds = contactAge(seen, now);
    if (seconds === null) return null;
    return seconds < 3 ? t("jobs.updatedNow") : t("jobs.updatedAgo", { duration: format.span(seconds) ?? "" });
  });
  const stale = useAtNow((now) => isStale(seen, now));
  return (
    <span className={stale ? "hw-number hw-late" : "hw-number"}>
      <Figure value={words} />
    </span>
  );
}
