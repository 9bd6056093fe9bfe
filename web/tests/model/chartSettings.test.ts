import { describe, expect, it } from "vitest";
import { DEFAULT_SETTINGS, panned, readSettings, writeSettings, zoomed } from "../../src/model/chartSettings";

const read = (text: string) => readSettings(new URLSearchParams(text));

describe("chart settings in the address", () => {
  it("come back as they were written, and leave other parameters alone", () => {
    const settings = { axis: "time", scale: "log", smoothing: "strong", range: [10.5, 200] } as const;
    const query = new URLSearchParams("job=local/train");
    writeSettings(settings, query);
    expect(query.get("job")).toBe("local/train");
    expect(readSettings(query)).toEqual(settings);
  });

  it("are left out where they are the usual ones", () => {
    const query = new URLSearchParams("x=time&zoom=1~2&scale=log&smooth=off");
    writeSettings(DEFAULT_SETTINGS, query);
    expect(query.toString()).toBe("");
  });

  it.each(["zoom=", "zoom=5", "zoom=9~3", "zoom=a~b", "zoom=1~2~3", "x=furlong", "smooth=very", "scale=odd"])(
    "%s is read as usual",
    (text) => {
      expect(read(text)).toEqual(DEFAULT_SETTINGS);
    },
  );
});

describe("zooming and panning", () => {
  it("keeps the place under the pointer and stays within the whole", () => {
    expect(zoomed([0, 100], [0, 100], 0.5, 0.25)).toEqual([12.5, 62.5]);
    expect(zoomed([80, 100], [0, 100], 2, 0.5)).toEqual([60, 100]);
    expect(zoomed([10, 90], [0, 100], 2)).toBeNull();
  });

  it("has an end to how far one can zoom in", () => {
    const range = zoomed([50, 50.0001], [0, 100], 0.001) ?? [0, 0];
    expect(range[1] - range[0]).toBeCloseTo(1e-4, 6);
  });

  it("moves by parts of what is shown", () => {
    expect(panned([20, 40], [0, 100], 0.5)).toEqual([30, 50]);
    expect(panned([20, 40], [0, 100], 9)).toEqual([80, 100]);
    expect(panned([20, 40], [0, 100], -9)).toEqual([0, 20]);
  });
});
