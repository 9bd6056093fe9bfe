import { describe, expect, it } from "vitest";
import type { Stretch } from "../../src/model/curves";
import { layoutOf } from "../../src/model/scale";

const stretch = (...mean: number[]): Stretch => {
  const each = mean.map((_, index) => index);
  const part = {
    attempt: "a",
    ordinal: 1,
    superseded: false,
    x: each,
    step: each,
    t: each,
    mean,
    low: mean,
    high: mean,
  };
  return { ...part, n: mean.map(() => 1), bad: mean.map(() => 0) };
};
const healthy = Array.from({ length: 100 }, (_, step) => 1 + 4 / (1 + step));

describe("values are laid out", () => {
  it.each([
    ["linearly, as a rule", [9, 4, 2, 1, 0.5], false, null],
    ["logarithmically where many dwarf the others", [3, 2.9, 2.8, 2.9, 6e9, 6e19], true, null],
    ["so where some are no numbers at all", [3, 2.9, 2.8, 1e6, Number.NaN, Number.POSITIVE_INFINITY], true, null],
    ["without the few that dwarf all others", [...healthy, 1e6, 6e19], false, 5],
    ["linearly where a logarithmic scale has no place for some", [0, 1, 1, 1, 1e9, 1e9], false, null],
    ["linearly where most are not above zero", [-1, -1, 0, 1, 1e9], false, null],
    ["linearly where there are none", [], false, null],
  ])("%s", (_, values, log, ceiling) => {
    expect(layoutOf([stretch(...values)])).toEqual({ log, ceiling });
  });
});
