/** A job's state: a dot in its colour, and the word; what the server says of it besides stands in the title. */
import { memo } from "react";
import type { State } from "../api/types";
import { useI18n } from "../i18n";
import { stateTone } from "../model/verdict";

interface Props {
  readonly state: State;
  readonly summary?: string;
}

export const StateLabel = memo(function StateLabel({ state, summary }: Props) {
  const { t } = useI18n();
  return (
    <span className="hw-state" title={summary}>
      <span
        className={`hw-dot hw-tone-${stateTone(state)}${state === "Running" ? " hw-dot-live" : ""}`}
        aria-hidden="true"
      />
      {t(`state.${state}`)}
    </span>
  );
});
