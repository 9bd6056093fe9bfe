/** All jobs together, for whoever answers for the devices: what goes nowhere, what ends when, who holds what. */
import { PageSection, Title, ToggleGroup, ToggleGroupItem } from "@patternfly/react-core";
import { useMemo } from "react";
import { useFleet, useNow } from "../api/react";
import { Concerns } from "../components/fleet/Concerns";
import { Section } from "../components/fleet/Section";
import { Shares } from "../components/fleet/Shares";
import { Summary } from "../components/fleet/Summary";
import { Timeline } from "../components/fleet/Timeline";
import { Verdicts } from "../components/fleet/Verdicts";
import { useI18n } from "../i18n";
import { byVerdict, concerns, ends, type GroupBy, overview, shares } from "../model/fleet";
import { changeQuery, useAddress } from "../router";
import "../styles/table.css";
import "../styles/fleet.css";

const HOUR = 3600;
/** Hours to look ahead. */
const HORIZONS = [4, 12, 48] as const;
const GROUPS: readonly GroupBy[] = ["namespace", "owner"];
/** Seconds between two looks at the clock. */
const BEAT = 5;

export function Fleet() {
  const { t, format } = useI18n();
  const { list } = useFleet();
  const { query } = useAddress();
  const now = Math.floor(useNow() / BEAT) * BEAT;
  const hours = HORIZONS.find((each) => String(each) === query.get("hours")) ?? 12;
  const by = GROUPS.find((each) => each === query.get("by")) ?? "namespace";
  const horizon = hours * HOUR;
  const sums = useMemo(() => overview(list), [list]);
  const verdicts = useMemo(() => byVerdict(list), [list]);
  const groups = useMemo(() => shares(list, by), [list, by]);
  const ending = useMemo(() => ends(list, now, horizon), [list, now, horizon]);
  const first = useMemo(() => concerns(list, now), [list, now]);
  const choose = (name: string, value: string) => changeQuery((written) => written.set(name, value), { replace: true });
  return (
    <PageSection isFilled className="hw-fleet">
      <Title headingLevel="h1" size="xl">
        {t("fleet.title")}
      </Title>
      <Summary overview={sums} within={ending.within} horizon={horizon} />
      <div className="hw-fleet__grid">
        <div className="hw-fleet__column">
          <Section title={t("fleet.first")}>
            <Concerns concerns={first} />
          </Section>
          <Section
            title={t("fleet.ends")}
            controls={
              <ToggleGroup isCompact aria-label={t("fleet.horizon")}>
                {HORIZONS.map((each) => (
                  <ToggleGroupItem
                    key={each}
                    text={format.duration(each * HOUR)}
                    isSelected={hours === each}
                    onChange={() => choose("hours", String(each))}
                  />
                ))}
              </ToggleGroup>
            }
          >
            <Timeline ends={ending} now={now} horizon={horizon} />
          </Section>
        </div>
        <div className="hw-fleet__column">
          <Section title={t("fleet.byVerdict")}>
            <Verdicts groups={verdicts} />
          </Section>
          <Section
            title={t("fleet.shares")}
            controls={
              <ToggleGroup isCompact aria-label={t("fleet.groupBy")}>
                {GROUPS.map((each) => (
                  <ToggleGroupItem
                    key={each}
                    text={t(`jobs.column.${each}`)}
                    isSelected={by === each}
                    onChange={() => choose("by", each)}
                  />
                ))}
              </ToggleGroup>
            }
          >
            <Shares groups={groups} by={by} />
          </Section>
        </div>
      </div>
    </PageSection>
  );
}
