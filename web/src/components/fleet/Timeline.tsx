/** What ends when: each job's interval on a common clock, and above them how many devices are free by then. */
import { Button } from "@patternfly/react-core";
import { useState } from "react";
import { useI18n } from "../../i18n";
import { type End, type Ends, type Freed, freed } from "../../model/fleet";
import { clockTicks } from "../../model/ticks";
import { verdictTone } from "../../model/verdict";
import { followLink } from "../../router";
import { Total } from "./Total";

const FEW = 10;

interface Props {
  readonly ends: Ends;
  /** Unix seconds. */
  readonly now: number;
  /** Seconds. */
  readonly horizon: number;
}

export function Timeline({ ends, now, horizon }: Props) {
  const { t, format } = useI18n();
  const [isAll, setAll] = useState(false);
  const { within, unknown, unknownDevices } = ends;
  const steps = freed(within, horizon);
  const ticks = clockTicks(now, now + horizon, 6, new Date(now * 1000).getTimezoneOffset() * 60);
  const most = Math.max(...steps.map((step) => step.early), 1);
  return (
    <>
      {within.length === 0 ? (
        <p className="hw-fleet__note">{t("fleet.noEnds", { duration: format.duration(horizon) ?? "" })}</p>
      ) : (
        <div className="hw-timeline">
          <div className="hw-timeline__row hw-timeline__row--freed">
            <span className="hw-timeline__name">
              {t("fleet.freed")}
              <span className="hw-timeline__scale">{t("fleet.upTo", { count: most })}</span>
            </span>
            <Steps steps={steps} most={most} horizon={horizon} ticks={ticks} now={now} />
            <span className="hw-timeline__devices">{t("fleet.devicesShort")}</span>
          </div>
          <ol className="hw-timeline__ends">
            {(isAll ? within : within.slice(0, FEW)).map((end) => (
              <Row key={end.seen.key} end={end} now={now} horizon={horizon} />
            ))}
          </ol>
          <div className="hw-timeline__row hw-timeline__row--axis" aria-hidden="true">
            <span />
            <div className="hw-timeline__track">
              {ticks.map((tick) => (
                <span
                  key={tick}
                  className="hw-timeline__tick"
                  style={{ insetInlineStart: `${(100 * (tick - now)) / horizon}%` }}
                >
                  {format.moment(tick, now)}
                  <b>+{format.count(freedBy(steps, tick - now))}</b>
                </span>
              ))}
            </div>
            <span />
          </div>
        </div>
      )}
      {within.length > FEW && (
        <Button variant="link" onClick={() => setAll(!isAll)} aria-expanded={isAll}>
          {isAll ? t("fleet.fewer") : t("common.andMore", { count: within.length - FEW })}
        </Button>
      )}
      {unknown > 0 && (
        <p className="hw-fleet__note">
          {t("fleet.noEstimate", { count: unknown })} (
          <Total sum={unknownDevices} write={(value) => t("fleet.devices", { count: value })} />)
        </p>
      )}
    </>
  );
}

const freedBy = (steps: readonly Freed[], at: number): number => steps.findLast((step) => step.at <= at)?.expected ?? 0;

function Row({ end, now, horizon }: { readonly end: End; readonly now: number; readonly horizon: number }) {
  const { t, format } = useI18n();
  const { seen, seconds, low, high, devices } = end;
  const { job } = seen;
  const share = (at: number) => `${(100 * Math.min(horizon, Math.max(0, at))) / horizon}%`;
  const words = t("fleet.endsAt", {
    moment: format.moment(now + seconds, now) ?? "",
    low: format.moment(now + low, now) ?? "",
    high: format.moment(now + high, now) ?? "",
  });
  const width = (100 * (Math.min(horizon, high) - Math.min(horizon, low))) / horizon;
  return (
    <li className="hw-timeline__row">
      <a
        href={`/?${new URLSearchParams({ job: seen.key })}`}
        onClick={followLink}
        className="hw-timeline__name hw-cut"
        title={job.name}
      >
        {job.spec.displayName || job.name}
      </a>
      <div className={`hw-timeline__track hw-tone-${verdictTone(job.verdict)}`} title={words}>
        <span className="pf-v6-screen-reader">{words}</span>
        <span
          className={high > horizon ? "hw-timeline__span hw-timeline__span--open" : "hw-timeline__span"}
          style={{ insetInlineStart: share(low), inlineSize: `${width}%` }}
        />
        {seconds <= horizon && <span className="hw-timeline__end" style={{ insetInlineStart: share(seconds) }} />}
      </div>
      <span className="hw-timeline__devices">
        <Total
          sum={devices === null ? { value: 0, unknown: 1 } : { value: devices, unknown: 0 }}
          write={format.count}
        />
      </span>
    </li>
  );
}

interface StepsProps {
  readonly steps: readonly Freed[];
  readonly most: number;
  readonly horizon: number;
  readonly ticks: readonly number[];
  readonly now: number;
}

/** The number of freed devices over time: a line at the estimates within a band from the latest to the earliest ends. */
function Steps({ steps, most, horizon, ticks, now }: StepsProps) {
  const { t, format } = useI18n();
  const words = ticks.map((tick) =>
    t("fleet.freedBy", { moment: format.moment(tick, now) ?? "", count: freedBy(steps, tick - now) }),
  );
  const path = (value: (step: Freed) => number, backwards = false): string => {
    const corners = steps.flatMap((step, index): [number, number][] => {
      const next = steps[index + 1]?.at ?? horizon;
      const y = HEIGHT - 1 - (value(step) / most) * (HEIGHT - 4);
      return [
        [(WIDTH * step.at) / horizon, y],
        [(WIDTH * next) / horizon, y],
      ];
    });
    if (backwards) corners.reverse();
    return corners.map(([x, y]) => `${x.toFixed(1)} ${y.toFixed(1)}`).join("L");
  };
  return (
    <svg
      className="hw-timeline__freed"
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={words.join(", ")}
    >
      <path className="hw-timeline__band" d={`M${path((step) => step.early)}L${path((step) => step.late, true)}Z`} />
      <path className="hw-timeline__line" d={`M${path((step) => step.expected)}`} />
    </svg>
  );
}

const WIDTH = 1000;
const HEIGHT = 64;
