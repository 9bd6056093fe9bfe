/** The fleet in four figures: what runs, what waits, what goes nowhere, what comes free. */
import type { ReactNode } from "react";
import { useI18n } from "../../i18n";
import { type End, type Overview, total } from "../../model/fleet";
import { Total } from "./Total";

interface Props {
  readonly overview: Overview;
  readonly within: readonly End[];
  /** Seconds. */
  readonly horizon: number;
}

export function Summary({ overview: o, within, horizon }: Props) {
  const { t, format } = useI18n();
  const ending = within.filter((end) => end.seconds <= horizon);
  const count = (value: number) => t("fleet.devices", { count: value });
  const hours = (value: number) => t("jobs.deviceHours", { amount: format.amount(value) ?? "" });
  const hasRate = o.futileRate.value > 0;
  return (
    <dl className="hw-fleet__summary">
      <Tile title={t("fleet.running")} note={<Total sum={o.runningDevices} write={count} />}>
        {t("jobs.count", { count: o.running })}
      </Tile>
      <Tile title={t("fleet.waiting")} note={<Total sum={o.waitingDevices} write={count} />}>
        {t("jobs.count", { count: o.waiting })}
      </Tile>
      <Tile
        title={t("fleet.nowhere")}
        isBad={o.futile > 0}
        note={
          <>
            <Total sum={o.futileDevices} write={count} />
            {" · "}
            {t("fleet.soFar")} <Total sum={o.futileSpent.deviceHours} write={hours} />
            {o.futileSpent.money.value > 0 && (
              <>
                {", "}
                <Total sum={o.futileSpent.money} write={format.money} />
              </>
            )}
          </>
        }
      >
        {hasRate ? (
          <Total sum={o.futileRate} write={(value) => t("fleet.perHour", { amount: format.money(value) ?? "" })} />
        ) : (
          t("jobs.count", { count: o.futile })
        )}
      </Tile>
      <Tile
        title={t("fleet.freedWithin", { duration: format.duration(horizon) ?? "" })}
        note={t("fleet.jobsEnd", { count: ending.length })}
      >
        <Total sum={total(ending.map((end) => end.devices))} write={count} />
      </Tile>
    </dl>
  );
}

interface TileProps {
  readonly title: string;
  readonly note: ReactNode;
  readonly isBad?: boolean;
  readonly children: ReactNode;
}

function Tile({ title, note, isBad = false, children }: TileProps) {
  return (
    <div className={isBad ? "hw-tile hw-tile--bad" : "hw-tile"}>
      <dt>{title}</dt>
      <dd className="hw-tile__figure">{children}</dd>
      <dd className="hw-tile__note">{note}</dd>
    </div>
  );
}
