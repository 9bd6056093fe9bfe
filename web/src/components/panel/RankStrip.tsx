/** A cell for each rank: coloured by how it stands, or by one of its figures from pale (as it should be) to full. */
import { ToggleGroup, ToggleGroupItem } from "@patternfly/react-core";
import { type CSSProperties, useState } from "react";
import { useI18n } from "../../i18n";
import { HEATS, type HeatBy, heatOf, type Rank, STANDING_TONES, STANDINGS } from "../../model/ranks";

interface Props {
  readonly ranks: readonly Rank[];
  readonly ended: boolean;
  readonly title: (rank: Rank) => string;
}

const LABELS = {
  standing: "ranks.column.standing",
  step: "ranks.column.step",
  stepTime: "job.stepTime",
  beat: "ranks.column.beat",
} as const;

export function RankStrip({ ranks, ended, title }: Props) {
  const { t } = useI18n();
  const [by, setBy] = useState<HeatBy>("standing");
  const heat = by === "standing" ? null : heatOf(ranks, by);
  const looks = (rank: Rank, index: number): { readonly className: string; readonly style?: CSSProperties } => {
    if (!heat) {
      const tone = ended ? "grey" : STANDING_TONES[rank.standing];
      return { className: `hw-tone-${tone} hw-standing-${ended ? "well" : rank.standing}` };
    }
    const value = heat.values[index] ?? null;
    if (value === null) return { className: "hw-heat-unknown" };
    return { className: "hw-heat", style: { "--hw-heat": `${Math.round(12 + 88 * value)}%` } as CSSProperties };
  };
  return (
    <div className="hw-ranks">
      <ToggleGroup isCompact aria-label={t("ranks.strip")}>
        {HEATS.map((each) => (
          <ToggleGroupItem key={each} text={t(LABELS[each])} isSelected={by === each} onChange={() => setBy(each)} />
        ))}
      </ToggleGroup>
      <ul className="hw-strip" aria-label={t("ranks.strip")}>
        {ranks.map((rank, index) => {
          const { className, style } = looks(rank, index);
          return (
            <li key={rank.info.run} className={`hw-strip-cell ${className}`} style={style} title={title(rank)}>
              <span className="pf-v6-screen-reader">{title(rank)}</span>
            </li>
          );
        })}
      </ul>
      {heat ? <Scale by={by} ends={heat.ends} /> : !ended && <Standings ranks={ranks} />}
    </div>
  );
}

/** How many ranks stand how. */
function Standings({ ranks }: { readonly ranks: readonly Rank[] }) {
  const { t, format } = useI18n();
  const found = STANDINGS.map((standing) => ({
    standing,
    count: ranks.filter((rank) => rank.standing === standing).length,
  }));
  return (
    <p className="hw-legend">
      {found
        .filter(({ count }) => count > 0)
        .map(({ standing, count }) => (
          <span key={standing} className="hw-legend-entry">
            <span className={`hw-legend-cell hw-tone-${STANDING_TONES[standing]} hw-standing-${standing}`} />
            {t(`ranks.standing.${standing}`)} {format.count(count)}
          </span>
        ))}
    </p>
  );
}

/** The figures at both ends of the colours. */
function Scale({ by, ends }: { readonly by: HeatBy; readonly ends: readonly [number, number] | null }) {
  const { t, format } = useI18n();
  if (!ends) return <p className="hw-legend">{t("common.unknown")}</p>;
  const write = (value: number) =>
    by === "step" ? format.count(value) : by === "beat" ? format.span(value) : format.stepTime(value);
  return (
    <p className="hw-legend">
      {write(ends[0])}
      <span className="hw-legend-scale" aria-hidden="true" />
      {write(ends[1])}
    </p>
  );
}
