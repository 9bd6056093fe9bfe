/** A thin progress bar with its percentage; empty and dashed where progress is unknown. */

import { useI18n } from "../i18n";
import type { Tone } from "../model/verdict";
import { Unknown } from "./Figure";

interface Props {
  readonly percent: number | null;
  readonly tone: Tone;
  readonly label: string;
  readonly title?: string;
}

export function ProgressBar({ percent, tone, label, title }: Props) {
  const { format } = useI18n();
  if (percent === null) return <Unknown />;
  const whole = Math.floor(percent);
  return (
    <span className="hw-progress" title={title}>
      <span
        className={`hw-bar hw-tone-${tone}`}
        role="progressbar"
        aria-label={label}
        aria-valuemin={0}
        aria-valuemax={100}
        aria-valuenow={whole}
      >
        <span className="hw-bar-fill" style={{ inlineSize: `${Math.min(100, percent)}%` }} />
      </span>
      <span className="hw-progress-text">{format.percent(whole)}</span>
    </span>
  );
}
