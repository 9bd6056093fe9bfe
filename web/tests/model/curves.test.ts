import { describe, expect, it } from "vitest";
import type { Series, SeriesPoint } from "../../src/api/types";
import { chartsOf } from "../../src/model/charts";
import {
  align,
  type Curve,
  epochsPerStep,
  extent,
  nearest,
  positive,
  refine,
  stepsWithin,
  stretchesOf,
} from "../../src/model/curves";
import { digest, hit } from "../../src/model/digest";
import { gapsOf, marksOf, withMarks } from "../../src/model/marks";
import { memory, smooth } from "../../src/model/smoothing";
import { linearTicks, logTicks, timeTicks } from "../../src/model/ticks";
import { makeJob, NOW } from "../builders";

const point = (step: number, value: number, more: { t?: number; n?: number; bad?: number } = {}): SeriesPoint => [
  step,
  more.t ?? step,
  value,
  value - 0.5,
  value + 0.5,
  more.n ?? 1,
  more.bad ?? 0,
];
const series = (attempt: string, points: readonly SeriesPoint[], tier = 1): Series => ({
  metric: "loss",
  attempt,
  tier,
  points,
});
const job = makeJob({
  attempts: [
    { ordinal: 1, id: "a", startedAt: NOW - 1000, endedAt: NOW - 500, checkpoint: { step: 20 } },
    { ordinal: 2, id: "b", startedAt: NOW - 400, resumedFromStep: 20 },
  ],
  progress: { step: 40, epoch: 2, totalSteps: 100, totalEpochs: 5 },
});
const twoAttempts: Curve = {
  job,
  metric: "loss",
  series: [
    series("b", [point(20, 3, { t: 5 }), point(30, 2.5, { t: 15 }), point(40, 2, { t: 25 })]),
    series("a", [point(10, 5), point(20, 4), point(30, 3.8)]),
  ],
};

describe("stretches", () => {
  it("come in the order of attempts, with what was trained again split off", () => {
    const stretches = stretchesOf(twoAttempts, "step");
    expect(stretches.map(({ ordinal, superseded, x }) => ({ ordinal, superseded, x }))).toEqual([
      { ordinal: 1, superseded: false, x: [10] },
      { ordinal: 1, superseded: true, x: [10, 20, 30] },
      { ordinal: 2, superseded: false, x: [20, 30, 40] },
    ]);
  });

  it("lie on a time axis where their attempts began", () => {
    const stretches = stretchesOf(twoAttempts, "time");
    expect(stretches.at(-1)?.x).toEqual([605, 615, 625]);
    expect(extent(stretches)).toEqual([10, 625]);
  });

  it("lie on an epoch axis by the announced totals, or by how far the run is", () => {
    expect(stretchesOf(twoAttempts, "epoch").at(-1)?.x).toEqual([1, 1.5, 2]);
    expect(epochsPerStep(makeJob({ progress: { step: 50, epoch: 2 } }))).toBe(0.04);
    expect(epochsPerStep(makeJob({ progress: { step: 50 } }))).toBeNull();
    const unknown = { ...twoAttempts, job: makeJob({ progress: { step: 50 } }) };
    expect(stretchesOf(unknown, "epoch")).toEqual([]);
  });

  it("ignore other metrics and empty series", () => {
    expect(stretchesOf({ ...twoAttempts, metric: "lr" }, "step")).toEqual([]);
    expect(stretchesOf({ ...twoAttempts, series: [series("a", [])] }, "step")).toEqual([]);
    expect(extent([])).toBeNull();
  });
});

describe("align", () => {
  it("brings columns to one x; absent is undefined, not drawable is null", () => {
    const { x, columns } = align([
      { x: [1, 3], columns: [[10, Number.NaN]] },
      { x: [2, 3], columns: [[20, 30]] },
    ]);
    expect(x).toEqual([1, 2, 3]);
    expect(columns).toEqual([
      [10, undefined, null],
      [undefined, 20, 30],
    ]);
  });

  it("has no place for what is not positive on a logarithmic scale", () => {
    expect(positive([2, 0, -1])).toEqual([2, Number.NaN, Number.NaN]);
  });
});

describe("a closer look", () => {
  it("takes the place of the coarse points of its steps", () => {
    const coarse = [series("a", [point(8, 1), point(16, 2), point(24, 3), point(32, 4)], 8)];
    const fine = [series("a", [point(15, 9), point(16, 8), point(17, 7)])];
    expect(refine(coarse, fine)[0]?.points.map((each) => each[0])).toEqual([8, 15, 16, 17, 24, 32]);
    expect(refine(coarse, [])).toEqual(coarse);
  });

  it("asks for the steps within a range and one more on either side", () => {
    const stretches = stretchesOf(
      {
        ...twoAttempts,
        series: [
          series(
            "a",
            [1, 2, 3, 4, 5].map((s) => point(s, s)),
          ),
        ],
      },
      "step",
    );
    expect(stepsWithin(stretches, [2.5, 3.5])).toEqual([2, 4]);
    expect(stepsWithin(stretches, [-9, 99])).toEqual([1, 5]);
    expect(stepsWithin([], [0, 1])).toBeNull();
  });
});

describe("smoothing", () => {
  it("leaves values alone when off", () => {
    expect(smooth([1, 2], [3, 4], [1, 1], 0)).toEqual([3, 4]);
    expect(memory("off", 100)).toBe(0);
    expect(memory("strong", 100)).toBeGreaterThan(memory("light", 100));
  });

  it("starts at the first value and stays within what it has seen", () => {
    const smoothed = smooth([0, 1, 2], [4, 2, 2], [1, 1, 1], 1);
    expect(smoothed[0]).toBe(4);
    expect(smoothed[1]).toBeCloseTo((4 * Math.exp(-1) + 2) / (Math.exp(-1) + 1), 12);
    expect(smoothed[2]).toBeGreaterThan(2);
  });

  it("means the same at every density: merged points weigh as the samples that they stand for", () => {
    const many = smooth([0, 0, 0, 100], [1, 1, 1, 5], [1, 1, 1, 1], 200);
    const merged = smooth([0, 100], [1, 5], [3, 1], 200);
    expect(merged.at(-1)).toBeCloseTo(many.at(-1) ?? 0, 12);
  });

  it("remembers less over a longer gap", () => {
    const near = smooth([0, 1], [0, 10], [1, 1], 5).at(-1) ?? 0;
    const far = smooth([0, 50], [0, 10], [1, 1], 5).at(-1) ?? 0;
    expect(far).toBeGreaterThan(near);
  });

  it("keeps NaN where it is and goes on after it", () => {
    const smoothed = smooth([0, 1, 2], [2, Number.NaN, 2], [1, 1, 1], 5);
    expect(smoothed).toEqual([2, Number.NaN, 2]);
  });
});

describe("marks", () => {
  const stretches = stretchesOf(twoAttempts, "step");

  it("show later attempts where they resumed and checkpoints at their steps", () => {
    const marks = marksOf(job, ["loss"], stretches, "step", NOW);
    expect(marks.attempts).toEqual([{ ordinal: 2, x: 20 }]);
    expect(marks.checkpoints).toEqual([{ step: 20, x: 20 }]);
    const [first, ...rest] = job.attempts;
    const often = makeJob({ ...job, attempts: first ? [{ ...first, checkpoints: [5, 10, 20] }, ...rest] : [] });
    expect(marksOf(often, ["loss"], stretches, "step", NOW).checkpoints.map(({ step }) => step)).toEqual([5, 10, 20]);
    expect(marksOf(job, ["loss"], stretchesOf(twoAttempts, "time"), "time", NOW).attempts).toEqual([
      { ordinal: 2, x: 600 },
    ]);
  });

  it("shade conditions from their onset to their end, or to now while they stand", () => {
    const withConditions = makeJob({
      ...job,
      conditions: [
        { type: "Slow", severity: "warning", since: NOW - 390, sinceStep: 25, until: NOW - 380, untilStep: 35 },
        { type: "Stalled", severity: "critical", since: NOW - 375 },
      ],
    });
    const steps = marksOf(withConditions, ["loss"], stretches, "step", NOW).conditions;
    expect(steps).toEqual([
      { type: "Slow", metric: null, severity: "warning", from: 25, to: 35, standing: false },
      { type: "Stalled", metric: null, severity: "critical", from: 40, to: 40, standing: true },
    ]);
    const timed = stretchesOf(twoAttempts, "time");
    const marks = marksOf(withConditions, ["loss"], timed, "time", NOW);
    expect(marks.conditions.map(({ from, to }) => [from, to])).toEqual([
      [610, 620],
      [625, 1000],
    ]);
    expect(withMarks(extent(timed), marks)).toEqual([10, 1000]);
  });

  it("leave out what concerns the values of another metric alone", () => {
    const bad = { type: "NonFinite", severity: "critical", since: NOW - 380, sinceStep: 30 } as const;
    const level = { ...bad, type: "Plateaued", severity: "warning", metric: "loss" } as const;
    const broken = makeJob({
      ...job,
      conditions: [{ ...bad, metric: "loss" }, { ...bad, metric: "grad_norm" }, level],
    });
    const shown = (metric: string) =>
      marksOf(broken, [metric], stretches, "step", NOW).conditions.map(({ type, metric }) => `${type} ${metric}`);
    expect(shown("loss")).toEqual(["NonFinite loss", "Plateaued loss"]);
    expect(shown("grad_norm")).toEqual(["NonFinite grad_norm", "Plateaued loss"]);
  });

  it("show values that are no number, neighbours together", () => {
    const bad = { n: 4, bad: 4 };
    const curve = {
      ...twoAttempts,
      series: [
        series("a", [
          point(1, 1),
          point(2, 1, { n: 4, bad: 1 }),
          point(3, 1),
          point(4, Number.NaN, bad),
          point(5, Number.NaN, bad),
        ]),
      ],
    };
    expect(gapsOf(stretchesOf(curve, "step"))).toEqual([
      { from: 2, to: 2, bad: 1, whole: false },
      { from: 4, to: 5, bad: 8, whole: true },
    ]);
  });
});

describe("reading", () => {
  const stretches = stretchesOf(twoAttempts, "step");

  it("finds the nearest point, the one that counts before the superseded one", () => {
    expect(hit(stretches, 29, 5)).toMatchObject({ stretch: { ordinal: 2 }, index: 1 });
    expect(hit(stretches, 90, 5)).toBeNull();
    expect(nearest([1, 5, 9], 6)).toBe(1);
    expect(nearest([], 6)).toBe(-1);
  });

  it("digests what counts", () => {
    expect(digest(stretches)).toEqual({
      first: { step: 10, value: 5 },
      last: { step: 40, value: 2 },
      newest: 2,
      lowest: { step: 40, value: 1.5 },
      highest: { step: 10, value: 5.5 },
      bad: 0,
    });
    expect(digest([])).toEqual({ first: null, last: null, newest: null, lowest: null, highest: null, bad: 0 });
  });
});

describe("ticks", () => {
  it("are round", () => {
    expect(linearTicks(0, 10, 5)).toEqual([0, 2, 4, 6, 8, 10]);
    expect(linearTicks(1.71, 4.2, 4)).toEqual([2, 3, 4]);
    expect(linearTicks(3, 3, 4)).toEqual([3]);
    expect(linearTicks(-1, 1, 4)).toEqual([-1, -0.5, 0, 0.5, 1]);
  });

  it("are few whatever the range: rounding errors, none at all, infinite ones", () => {
    expect(linearTicks(0.000_099_999_999_999_999_99, 0.000_100_000_000_000_000_02, 4)).toHaveLength(1);
    for (const ticks of [linearTicks, logTicks, timeTicks]) {
      expect(ticks(1e15, 1e15 + 0.125, 4).length).toBeLessThan(8);
      expect(ticks(1e-300, 1e300, 4).length).toBeLessThan(8);
      expect(ticks(Number.NaN, 1, 4)).toHaveLength(1);
      expect(ticks(1, Number.POSITIVE_INFINITY, 4)).toHaveLength(1);
    }
  });

  it("of a logarithmic scale are decades, and finer where there are few", () => {
    expect(logTicks(0.001, 10, 6)).toEqual([0.001, 0.01, 0.1, 1, 10]);
    expect(logTicks(1, 100, 10)).toEqual([1, 2, 5, 10, 20, 50, 100]);
    expect(logTicks(2, 5, 4)).toEqual([2, 3, 4, 5]);
    expect(logTicks(1e-8, 1e8, 4)).toHaveLength(5);
  });

  it("of time are as clocks count", () => {
    expect(timeTicks(0, 7200, 5)).toEqual([0, 1800, 3600, 5400, 7200]);
    expect(timeTicks(0, 20 * 86_400, 6)).toEqual([0, 4, 8, 12, 16, 20].map((day) => day * 86_400));
  });
});

describe("charts", () => {
  it("put training and evaluation loss together and the telling metrics first", () => {
    expect(chartsOf(["lr", "zeta", "eval_accuracy", "loss", "grad_norm", "eval_loss"])).toEqual([
      ["loss", "eval_loss"],
      ["eval_accuracy"],
      ["grad_norm"],
      ["lr"],
      ["zeta"],
    ]);
    expect(chartsOf([])).toEqual([]);
  });
});
