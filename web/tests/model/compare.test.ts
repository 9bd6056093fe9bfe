import { describe, expect, it } from "vitest";
import { metricColumns, parameters, rank, ranked, readComparison, writeComparison } from "../../src/model/compare";
import { makeJob } from "../builders";

const down = { loss: "min", eval_loss: "min", accuracy: "max" };

describe("rank", () => {
  it("puts what is no number last and moves nobody else", () => {
    const trials = [0.5, 0.4, 0.9, 0.3, 0.8, 0.7, 0.6, 0.2];
    const without = rank(trials, "min");
    const withNaN = rank([...trials.slice(0, 4), Number.NaN, ...trials.slice(4)], "min");
    expect(withNaN[4]).toBe(9);
    expect(withNaN.filter((_, index) => index !== 4)).toEqual(without);
  });

  it("shares ranks among equals and gives none to the unknown", () => {
    expect(rank([2, 1, 1, null, 3], "min")).toEqual([3, 1, 1, null, 4]);
    expect(rank([2, 1], "max")).toEqual([1, 2]);
    expect(rank([2, 1], null)).toEqual([null, null]);
    expect(rank([Number.POSITIVE_INFINITY, Number.NaN, 5], "max")).toEqual([2, 2, 1]);
  });
});

describe("metrics", () => {
  const good = makeJob({ name: "good", directions: down, metrics: { loss: 2, lr: 0.1 }, best: { loss: 1.5 } });
  const worse = makeJob({
    name: "worse",
    directions: { train_loss: "min" },
    metrics: { train_loss: 1.9 },
    best: { train_loss: 1.8 },
  });
  const broken = makeJob({ name: "broken", directions: down, metrics: { loss: Number.NaN }, best: { loss: 1 } });

  it("go by their canonical names, whatever each run calls them", () => {
    const [loss] = metricColumns([good, worse]);
    expect(loss?.metric).toBe("loss");
    expect(loss?.cells.map((cell) => cell.name)).toEqual(["loss", "train_loss"]);
  });

  it("mark the best final and the best ever, each by direction", () => {
    const [loss] = metricColumns([good, worse]);
    expect(loss?.cells.map((cell) => [cell.isBestFinal, cell.isBest])).toEqual([
      [false, true],
      [true, false],
    ]);
  });

  it("rank a run that has come to NaN worst, whatever it once reached", () => {
    const [loss] = metricColumns([broken, good, worse]);
    expect(loss?.cells.map((cell) => cell.rank)).toEqual([3, 1, 2]);
    expect(loss?.cells[0]).toMatchObject({ best: 1, isBest: false });
    expect(ranked(loss, 3)).toEqual([1, 2, 0]);
  });

  it("have neither best nor rank where the direction is not known, or told both ways", () => {
    const lr = metricColumns([good, worse]).find((column) => column.metric === "learning_rate");
    expect(lr).toMatchObject({ direction: null });
    expect(lr?.cells[0]).toMatchObject({ name: "lr", final: 0.1, best: null, rank: null, isBest: false });
    expect(lr?.cells[1]).toMatchObject({ name: null, final: null });
    const other = makeJob({ directions: { loss: "max" }, metrics: { loss: 1 }, best: { loss: 1 } });
    expect(metricColumns([good, other])[0]?.direction).toBeNull();
    expect(ranked(lr, 2)).toEqual([0, 1]);
    expect(ranked(undefined, 2)).toEqual([0, 1]);
  });
});

describe("hyperparameters", () => {
  it("are those that differ, having one among them", () => {
    const one = makeJob({ config: { lr: 0.1, seed: 1, model: "a", warmup: null } });
    const two = makeJob({ config: { lr: 0.2, seed: 1, model: "a" } });
    expect(parameters([one, two])).toEqual({
      differing: [
        { name: "lr", values: [0.1, 0.2] },
        { name: "warmup", values: [null, undefined] },
      ],
      same: 2,
    });
    expect(parameters([])).toEqual({ differing: [], same: 0 });
  });
});

describe("a comparison in the address", () => {
  it("comes back as it was written, names with slashes too", () => {
    const query = new URLSearchParams("x=time");
    writeComparison({ keys: ["local/a%2Fb", "r%20d/c"], by: "loss" }, query);
    expect(readComparison(new URLSearchParams(query.toString()))).toEqual({
      keys: ["local/a%2Fb", "r%20d/c"],
      by: "loss",
    });
    expect(query.get("x")).toBe("time");
  });

  it("leaves out what is no job and what is named twice", () => {
    expect(readComparison(new URLSearchParams("job=local/a&job=nonsense&job=local/a"))).toEqual({
      keys: ["local/a"],
      by: null,
    });
  });
});
