import { describe, expect, it } from "vitest";
import type { Stretch } from "../../src/model/curves";
import { suitsLog } from "../../src/model/scale";

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

describe("a logarithmic scale suits", () => {
  it.each([
    ["a loss that leaps up far", [3, 2.9, 2.8, 2.9, 6e19], true],
    ["what leaps up and is no number any more", [3, 2.9, 2.8, 1e6, Number.NaN, Number.POSITIVE_INFINITY], true],
    ["an ordinary loss", [9, 4, 2, 1, 0.5], false],
    ["what has values without a place on it", [0, 1, 1, 1, 1e9], false],
    ["what falls below zero", [-1, 1, 1e9], false],
    ["nothing at all", [], false],
  ])("%s: %s", (_, values, expected) => {
    expect(suitsLog([stretch(...values)])).toBe(expected);
  });
});
