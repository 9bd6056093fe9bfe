import { describe, expect, it } from "vitest";
import { COLOURS, curveColour, isDashed } from "../../src/model/palette";

type Colour = readonly [red: number, green: number, blue: number];
type Matrix = readonly [Colour, Colour, Colour];

/** What the eye makes of linear RGB: as it is, and without one kind of cone (Machado, Oliveira and Fernandes, 2009). */
const EYES: Readonly<Record<string, Matrix>> = {
  full: [
    [1, 0, 0],
    [0, 1, 0],
    [0, 0, 1],
  ],
  protanopia: [
    [0.152286, 1.052583, -0.204868],
    [0.114503, 0.786281, 0.099216],
    [-0.003882, -0.048116, 1.051998],
  ],
  deuteranopia: [
    [0.367322, 0.860646, -0.227968],
    [0.280085, 0.672501, 0.047413],
    [-0.01182, 0.04294, 0.968881],
  ],
  tritanopia: [
    [1.255528, -0.076749, -0.178779],
    [-0.078411, 0.930809, 0.147602],
    [0.004733, 0.691367, 0.3039],
  ],
};
const LMS: Matrix = [
  [0.4122214708, 0.5363325363, 0.0514459929],
  [0.2119034982, 0.6806995451, 0.1073969566],
  [0.0883024619, 0.2817188376, 0.6299787005],
];
const OKLAB: Matrix = [
  [0.2104542553, 0.793617785, -0.0040720468],
  [1.9779984951, -2.428592205, 0.4505937099],
  [0.0259040371, 0.7827717662, -0.808675766],
];

const times = (matrix: Matrix, colour: Colour): Colour =>
  matrix.map((row) => row.reduce((sum, value, index) => sum + value * (colour[index] ?? 0), 0)) as unknown as Colour;
const each = (colour: Colour, change: (part: number) => number) => colour.map(change) as unknown as Colour;
const linear = (hex: string): Colour =>
  each([1, 3, 5].map((at) => Number.parseInt(hex.slice(at, at + 2), 16) / 255) as unknown as Colour, (part) =>
    part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4,
  );
const seen = (hex: string, eye: Matrix): Colour =>
  each(
    times(
      OKLAB,
      each(
        times(
          LMS,
          each(times(eye, linear(hex)), (part) => Math.min(1, Math.max(0, part))),
        ),
        Math.cbrt,
      ),
    ),
    (part) => part * 100,
  );
const luminance = (hex: string) => {
  const [red, green, blue] = linear(hex);
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
};

describe.each([
  ["light", false, "#ffffff"],
  ["dark", true, "#292929"],
])("curve colours, %s", (_, dark, background) => {
  const colours = Array.from({ length: COLOURS }, (_each, index) => curveColour(index, dark));

  it("repeat dashed", () => {
    expect(new Set(colours).size).toBe(COLOURS);
    expect(curveColour(COLOURS + 1, dark)).toBe(colours[1]);
    expect([isDashed(COLOURS - 1), isDashed(COLOURS)]).toEqual([false, true]);
  });

  it("stand out from the background", () => {
    for (const colour of colours) {
      const [high, low] = [luminance(colour), luminance(background)].sort((a, b) => b - a) as [number, number];
      expect((high + 0.05) / (low + 0.05), colour).toBeGreaterThanOrEqual(3);
    }
  });

  it.each(Object.entries(EYES))("are told apart with %s colour vision", (_eye, eye) => {
    for (const [index, one] of colours.entries()) {
      for (const other of colours.slice(index + 1)) {
        const [a, b] = [seen(one, eye), seen(other, eye)];
        const distance = Math.hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]);
        expect(distance, `${one} and ${other}`).toBeGreaterThan(9);
      }
    }
  });
});
