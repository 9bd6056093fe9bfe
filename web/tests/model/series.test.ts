import { describe, expect, it } from "vitest";
import type { Series, SeriesPoint } from "../../src/api/types";
import { joinSeries, lastStep, longest } from "../../src/model/series";

const series = (metric: string, attempt: string, ...steps: number[]): Series => ({
  metric,
  attempt,
  tier: 1,
  points: steps.map((step): SeriesPoint => [step, step, step, step, step, 1, 0]),
});
const steps = (one: Series | undefined) => one?.points.map((point) => point[0]);

describe("joinSeries", () => {
  it("lets newer points replace older ones from where they begin", () => {
    const [joined] = joinSeries([series("loss", "a", 1, 2, 3)], [series("loss", "a", 3, 4)]);
    expect(steps(joined)).toEqual([1, 2, 3, 4]);
  });

  it("keeps metrics and attempts apart, and adds new ones", () => {
    const joined = joinSeries([series("loss", "a", 1)], [series("loss", "b", 1), series("lr", "a", 5)]);
    expect(joined.map((each) => [each.metric, each.attempt])).toEqual([
      ["loss", "a"],
      ["loss", "b"],
      ["lr", "a"],
    ]);
  });

  it("is not disturbed by a stretch without points", () => {
    expect(joinSeries([series("loss", "a", 1)], [series("loss", "a")])).toHaveLength(1);
  });
});

describe("lastStep", () => {
  it("is that of the attempt alone", () => {
    const all = [series("loss", "a", 1, 90), series("loss", "b", 1, 5), series("lr", "b", 7)];
    expect(lastStep(all, "b")).toBe(7);
    expect(lastStep(all, "c")).toBeNull();
    expect(longest(all)).toBe(2);
  });
});
