import { describe, expect, it } from "vitest";
import { draw, extend, SPARK_POINTS, type SparkPoint } from "../../src/model/spark";

const course = (...values: number[]): SparkPoint[] => values.map((value, index) => [index + 1, value]);

describe("extend", () => {
  it("adds a new step, and replaces the value of the same one", () => {
    expect(extend(course(3, 2), 3, 1)).toEqual(course(3, 2, 1));
    expect(extend(course(3, 2), 2, 9)).toEqual(course(3, 9));
  });

  it("gives back the same course when nothing is new, NaN too", () => {
    const one = course(3, Number.NaN);
    expect(extend(one, 2, Number.NaN)).toBe(one);
  });

  it("lets a new attempt take over where it begins", () => {
    expect(extend(course(5, 4, 3, 2), 2, 8)).toEqual([
      [1, 5],
      [2, 8],
    ]);
  });

  it("stays within twice its size, keeping the newest step", () => {
    let one: readonly SparkPoint[] = [];
    for (let step = 1; step <= 10_000; step += 1) one = extend(one, step, step % 7 === 0 ? Number.NaN : step);
    expect(one.length).toBeLessThan(2 * SPARK_POINTS);
    expect(one.length).toBeGreaterThanOrEqual(SPARK_POINTS);
    expect(one.at(-1)?.[0]).toBe(10_000);
    expect(one.every(([step], index) => index === 0 || step > (one[index - 1]?.[0] ?? 0))).toBe(true);
  });
});

describe("draw", () => {
  it("fits the box, the newest value at the right edge", () => {
    const drawing = draw(course(3, 1, 2), 80, 20, 2);
    expect(drawing.path).toBe("M2 2L40 18L78 10");
    expect(drawing.end).toEqual({ x: 78, y: 10 });
  });

  it("marks each stretch that is not finite once, and draws around it", () => {
    const drawing = draw(course(1, Number.NaN, Number.NaN, 2, Number.POSITIVE_INFINITY), 10, 10, 0);
    expect(drawing.gaps).toEqual([2.5, 10]);
    expect(drawing.path).toBe("M0 10M7.5 0");
  });

  it("draws nothing but a mark where nothing is finite, and nothing at all without points", () => {
    expect(draw(course(Number.NaN, Number.NaN), 10, 10, 0)).toEqual({ path: "", gaps: [0], end: null });
    expect(draw([], 10, 10)).toEqual({ path: "", gaps: [], end: null });
  });

  it("puts a constant in the middle", () => {
    expect(draw(course(5, 5), 10, 10, 0).path).toBe("M0 5L10 5");
  });

  it("does not let a steep start flatten the rest", () => {
    const values = [1000, 900, ...Array.from({ length: 30 }, (_, index) => 2 - index / 30)];
    const last = draw(course(...values), 100, 20, 0).path.match(/L[\d.]+ ([\d.]+)/g) ?? [];
    const heights = last.slice(5).map((part) => Number(part.split(" ")[1]));
    expect(Math.max(...heights) - Math.min(...heights)).toBeGreaterThan(12);
  });
});
