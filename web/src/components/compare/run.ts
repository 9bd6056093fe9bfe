/** A run in a comparison: its job, its colour, what it is called beside the others. */
import type { Seen } from "../../api/store";
import type { Job } from "../../api/types";

export interface Run {
  readonly seen: Seen<Job>;
  /** Which colour of the palette its curves have. */
  readonly colour: number;
  readonly label: string;
}

/** Runs in the order in which they were chosen; the namespace tells apart those of the same name. */
export function runsOf(chosen: readonly Seen<Job>[]): Run[] {
  const name = ({ job }: Seen<Job>) => job.spec.displayName || job.name;
  const count = new Map<string, number>();
  for (const seen of chosen) count.set(name(seen), (count.get(name(seen)) ?? 0) + 1);
  return chosen.map((seen, colour) => ({
    seen,
    colour,
    label: (count.get(name(seen)) ?? 0) > 1 ? `${seen.job.namespace}/${name(seen)}` : name(seen),
  }));
}
