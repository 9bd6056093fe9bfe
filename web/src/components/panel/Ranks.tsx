/** The processes of the current attempt: a strip with a cell for each rank, coloured by how it stands, and a table. */
import { EmptyState, EmptyStateBody, Label } from "@patternfly/react-core";
import { Table, Tbody, Td, Th, Thead, Tr } from "@patternfly/react-table";
import { useMemo } from "react";
import { useNow } from "../../api/react";
import type { Seen } from "../../api/store";
import type { Job } from "../../api/types";
import { useI18n } from "../../i18n";
import { type Rank, ranksOf, STANDING_TONES, STANDINGS } from "../../model/ranks";
import { hasEnded } from "../../model/verdict";
import { Figure } from "../Figure";
import { RankStrip } from "./RankStrip";

/** Most rows of the table; those that stand worst come first. */
const LISTED = 100;

export function Ranks({ seen }: { readonly seen: Seen<Job> }) {
  const { t, format } = useI18n();
  const now = useNow();
  const ranks = useMemo(() => ranksOf(seen, now), [seen, now]);
  const ended = hasEnded(seen.job.state);
  const auxiliary = seen.job.ranks.filter((rank) => rank.auxiliary);
  if (ranks.length === 0 && auxiliary.length === 0) {
    return (
      <EmptyState headingLevel="h3" titleText={t("ranks.none")} variant="sm">
        <EmptyStateBody>{t("ranks.noneBody")}</EmptyStateBody>
      </EmptyState>
    );
  }
  const worst = [...ranks].sort(
    (a, b) => STANDINGS.indexOf(a.standing) - STANDINGS.indexOf(b.standing) || a.info.rank - b.info.rank,
  );
  const hasDevice = ranks.some((rank) => rank.info.deviceName !== undefined);
  const hasMemory = ranks.some((rank) => rank.info.memoryUsed !== undefined);
  const memory = ({ info }: Rank): string | null => {
    const [used, total] = [format.bytes(info.memoryUsed), format.bytes(info.memoryTotal)];
    return used === null || total === null ? used : `${used} / ${total}`;
  };
  const ago = (seconds: number): string =>
    seconds < 3 ? t("jobs.updatedNow") : t("jobs.updatedAgo", { duration: format.span(seconds) ?? "" });
  const title = (rank: Rank): string =>
    [
      t("ranks.rank", { rank: rank.info.rank }),
      rank.info.host,
      rank.info.deviceName,
      memory(rank),
      t("ranks.stepIs", { step: format.count(rank.info.step) ?? t("common.unknown") }),
      format.stepTime(rank.info.stepSeconds),
      ended ? null : ago(rank.age),
    ]
      .filter(Boolean)
      .join(" · ");
  return (
    <>
      <RankStrip ranks={ranks} ended={ended} title={title} />
      <div className="hw-scroll-x">
        <Table variant="compact" aria-label={t("job.tab.ranks")} gridBreakPoint="" className="hw-small-table">
          <Thead>
            <Tr>
              <Th>{t("ranks.column.rank")}</Th>
              <Th>{t("ranks.column.host")}</Th>
              {hasDevice && <Th>{t("ranks.column.device")}</Th>}
              {hasMemory && <Th>{t("ranks.column.memory")}</Th>}
              <Th>{t("ranks.column.step")}</Th>
              <Th>{t("job.stepTime")}</Th>
              <Th>{t("ranks.column.beat")}</Th>
              <Th>{t("ranks.column.standing")}</Th>
            </Tr>
          </Thead>
          <Tbody>
            {worst.slice(0, LISTED).map((rank) => (
              <Tr key={rank.info.run}>
                <Td>{rank.info.rank}</Td>
                <Td>
                  <Figure value={rank.info.host} />
                </Td>
                {hasDevice && (
                  <Td>
                    <Figure value={rank.info.deviceName} />
                  </Td>
                )}
                {hasMemory && (
                  <Td className="hw-number">
                    <Figure value={memory(rank)} />
                  </Td>
                )}
                <Td className="hw-number">
                  <Figure value={format.count(rank.info.step)} />
                </Td>
                <Td className="hw-number">
                  <Figure value={format.stepTime(rank.info.stepSeconds)} />
                </Td>
                <Td className="hw-number">{ended ? "" : ago(rank.age)}</Td>
                <Td>
                  {!ended && (
                    <Label isCompact variant="outline" color={STANDING_TONES[rank.standing]}>
                      {t(`ranks.standing.${rank.standing}`)}
                    </Label>
                  )}
                </Td>
              </Tr>
            ))}
          </Tbody>
        </Table>
      </div>
      {worst.length > LISTED && <p className="hw-fact-note">{t("common.andMore", { count: worst.length - LISTED })}</p>}
      {auxiliary.length > 0 && (
        <p className="hw-fact-note">
          {t("ranks.auxiliary", {
            count: auxiliary.length,
            hosts: auxiliary.map((rank) => `${rank.host ?? "?"}:${rank.pid ?? "?"}`).join(", "),
          })}
        </p>
      )}
    </>
  );
}
