/** All jobs together, for whoever answers for the devices: what goes nowhere, what ends when, who holds what. */
import { Bullseye, PageSection, Spinner, Title, ToggleGroup, ToggleGroupItem } from "@patternfly/react-core";
import { memo, useDeferredValue, useMemo, useState } from "react";
import { useAtNow, useFleet } from "../api/react";
import type { Seen } from "../api/store";
import { Concerns } from "../components/fleet/Concerns";
import { Section } from "../components/fleet/Section";
import { Shares } from "../components/fleet/Shares";
import { Summary } from "../components/fleet/Summary";
import { Timeline } from "../components/fleet/Timeline";
import { Verdicts } from "../components/fleet/Verdicts";
import { useI18n } from "../i18n";
import { byVerdict, concerns, ends, type GroupBy, overview, shares, usualHorizon } from "../model/fleet";
import { changeQuery, useAddress } from "../router";
import "../styles/table.css";
import "../styles/fleet.css";

const HOUR = 3600;
/** Hours to look ahead. */
const HORIZONS = [1, 4, 12, 48] as const;
const GROUPS: readonly GroupBy[] = ["namespace", "owner"];
/** Seconds between two looks at the clock. */
const BEAT = 5;

export function Fleet() {
  const { t } = useI18n();
  // Put off and in parts of their own: React sums up thousands of jobs piece by piece, and the page stays quick meanwhile.
  const { list, known } = useDeferredValue(useFleet());
  return known ? (
    <Known list={list} />
  ) : (
    <Bullseye>
      <Spinner aria-label={t("common.loading")} />
    </Bullseye>
  );
}

function Known({ list }: Of) {
  const { t, format } = useI18n();
  const { query } = useAddress();
  const now = useBeat();
  // As it was when the page was opened: it does not change by itself while one looks.
  const [usual] = useState(
    () =>
      usualHorizon(
        list,
        now,
        HORIZONS.map((each) => each * HOUR),
      ) / HOUR,
  );
  const hours = HORIZONS.find((each) => String(each) === query.get("hours")) ?? usual;
  const by = GROUPS.find((each) => each === query.get("by")) ?? "namespace";
  const horizon = hours * HOUR;
  const choose = (name: string, value: string) => changeQuery((written) => written.set(name, value), { replace: true });
  return (
    <PageSection isFilled className="hw-fleet">
      <Title headingLevel="h1" size="xl">
        {t("fleet.title")}
      </Title>
      <SummaryOf list={list} now={now} horizon={horizon} />
      <div className="hw-fleet__grid">
        <div className="hw-fleet__column">
          <Section title={t("fleet.first")}>
            <ConcernsOf list={list} now={now} />
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
            <TimelineOf list={list} now={now} horizon={horizon} />
          </Section>
        </div>
        <div className="hw-fleet__column">
          <Section title={t("fleet.byVerdict")}>
            <VerdictsOf list={list} />
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
            <SharesOf list={list} by={by} />
          </Section>
        </div>
      </div>
    </PageSection>
  );
}

const useBeat = (): number => useAtNow((now) => Math.floor(now / BEAT) * BEAT);

interface Of {
  readonly list: readonly Seen[];
}

interface OfNow extends Of {
  readonly now: number;
}

interface OfHorizon extends OfNow {
  readonly horizon: number;
}

const SummaryOf = memo(function SummaryOf({ list, now, horizon }: OfHorizon) {
  const sums = useMemo(() => overview(list), [list]);
  const within = useMemo(() => ends(list, now, horizon).within, [list, now, horizon]);
  return <Summary overview={sums} within={within} horizon={horizon} />;
});

const ConcernsOf = memo(({ list, now }: OfNow) => <Concerns concerns={concerns(list, now)} />);
const TimelineOf = memo(({ list, now, horizon }: OfHorizon) => (
  <Timeline ends={ends(list, now, horizon)} now={now} horizon={horizon} />
));
const VerdictsOf = memo(({ list }: Of) => <Verdicts groups={byVerdict(list)} />);
const SharesOf = memo(({ list, by }: Of & { readonly by: GroupBy }) => <Shares groups={shares(list, by)} by={by} />);
