/** The course of a job's loss in the space of a word, with its newest value beside it. */
import { memo, useMemo } from "react";
import { useSpark } from "../api/sparks";
import { useI18n } from "../i18n";
import { draw } from "../model/spark";
import { Unknown } from "./Figure";

const WIDTH = 84;
const HEIGHT = 22;

interface Props {
  /** The job's key, as `keyText` writes it. */
  readonly jobKey: string;
  readonly name: string;
  readonly value: number | null;
}

export const Sparkline = memo(function Sparkline({ jobKey, name, value }: Props) {
  const { t, format } = useI18n();
  const course = useSpark(jobKey);
  const drawing = useMemo(() => (course && course.length > 1 ? draw(course, WIDTH, HEIGHT) : null), [course]);
  const words = format.value(value);
  if (words === null) return <Unknown />;
  const broken = value !== null && !Number.isFinite(value);
  return (
    <span className="hw-spark">
      <svg
        role="img"
        aria-label={t("jobs.lossOf", { name, value: words })}
        width={WIDTH}
        height={HEIGHT}
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        className="hw-spark-svg"
      >
        {drawing && (
          <>
            <path d={drawing.path} className="hw-spark-line" />
            {drawing.gaps.map((x) => (
              <path key={x} d={`M${x - 2} 4l4 4m0 -4l-4 4`} className="hw-spark-gap" />
            ))}
            {drawing.end && <circle cx={drawing.end.x} cy={drawing.end.y} r={1.8} className="hw-spark-end" />}
          </>
        )}
      </svg>
      <span className={broken ? "hw-number hw-bad" : "hw-number"} aria-hidden="true">
        {words}
      </span>
    </span>
  );
});
