/** Which metrics a job has. */
import { useQuery } from "@tanstack/react-query";
import { getMetrics } from "./client";
import { type JobKey, keyText } from "./types";

/** The names of all metrics with history; asked for again when the job shows (`shown`) others than before. */
export function useMetrics(key: JobKey, shown: readonly string[]): readonly string[] {
  const query = useQuery({
    queryKey: ["metrics", keyText(key), [...shown].sort().join("\n")],
    queryFn: ({ signal }) => getMetrics(key, signal),
    placeholderData: (before) => before,
  });
  return query.data ?? [];
}
