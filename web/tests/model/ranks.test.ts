import { describe, expect, it } from "vitest";
import type { RankInfo } from "../../src/api/types";
import { heatOf, median, ranksOf } from "../../src/model/ranks";
import { makeSeen, NOW } from "../builders";

const rank = (number: number, changes: Partial<RankInfo> = {}): RankInfo => ({
  run: `run-${number}`,
  rank: number,
  attempt: "a",
  lastContactAge: 0,
  step: 100,
  stepSeconds: 1,
  ...changes,
});
const standings = (ranks: RankInfo[], at = NOW) => ranksOf(makeSeen({ ranks }, at), NOW).map((each) => each.standing);

describe("ranksOf", () => {
  it("puts ranks in order and leaves auxiliary runs out", () => {
    const ranks = ranksOf(makeSeen({ ranks: [rank(2), rank(0), rank(1, { auxiliary: true })] }), NOW);
    expect(ranks.map((each) => each.info.rank)).toEqual([0, 2]);
  });

  it("tells who is behind, slow, quiet and lost", () => {
    expect(
      standings([
        rank(0),
        rank(1, { step: 90 }),
        rank(2, { stepSeconds: 1.5 }),
        rank(3, { lastContactAge: 12 }),
        rank(4, { lastContactAge: 31 }),
      ]),
    ).toEqual(["well", "behind", "slow", "late", "lost"]);
  });

  it("allows for reports that come at different moments", () => {
    expect(standings([rank(0), rank(1, { step: 98 })])).toEqual(["well", "well"]);
    expect(standings([rank(0, { stepSeconds: 60 }), rank(1, { step: 98, stepSeconds: 60 })])).toEqual([
      "well",
      "behind",
    ]);
  });

  it("counts silence on while nothing new comes", () => {
    expect(standings([rank(0, { lastContactAge: 1 })], NOW - 40)).toEqual(["lost"]);
  });

  it("does not call one of two slow: which one would it be", () => {
    expect(standings([rank(0), rank(1, { stepSeconds: 3 })])).toEqual(["well", "well"]);
  });
});

describe("median", () => {
  it("is the middle, or between the two in the middle", () => {
    expect(median([])).toBeNull();
    expect(median([5, 1, 3])).toBe(3);
    expect(median([4, 1, 3, 2])).toBe(2.5);
  });
});

describe("a strip by one figure", () => {
  const given = (ranks: Partial<RankInfo>[]) =>
    ranksOf(makeSeen({ ranks: ranks.map((each, number) => rank(number, each)) }), NOW);

  it("leaves small differences pale, and shows what is far off in full", () => {
    const even = given([{ stepSeconds: 1 }, { stepSeconds: 1.02 }]);
    expect(heatOf(even, "stepTime").values[1]).toBeCloseTo(0.08);
    const slow = given([{}, {}, { stepSeconds: 3 }, { stepSeconds: Number.NaN }]);
    expect(heatOf(slow, "stepTime")).toEqual({ values: [0, 0, 1, null], ends: [1, 3] });
  });

  it("counts steps down from the furthest, and beats from now", () => {
    const behind = given([{}, { step: 99 }, { step: 50, lastContactAge: 60 }]);
    expect(heatOf(behind, "step").ends).toEqual([100, 50]);
    expect(heatOf(behind, "step").values).toEqual([0, 0.02, 1]);
    expect(heatOf(behind, "beat").ends).toEqual([0, 60]);
    expect(heatOf(given([{ step: Number.NaN }]), "step")).toEqual({ values: [null], ends: null });
  });
});
