import { describe, expect, it } from "vitest";
import { fitColumns, widthOf } from "../../src/model/columns";
import { COLUMNS, DEFAULT_COLUMNS } from "../../src/model/listing";

describe("fitColumns", () => {
  it("keeps everything that there is room for", () => {
    expect(fitColumns(DEFAULT_COLUMNS, Number.POSITIVE_INFINITY)).toBe(DEFAULT_COLUMNS);
    expect(fitColumns(DEFAULT_COLUMNS, widthOf(DEFAULT_COLUMNS))).toBe(DEFAULT_COLUMNS);
  });

  it("always fits, but for what one cannot do without", () => {
    for (let width = 100; width > 40; width -= 1)
      expect(widthOf(fitColumns(COLUMNS, width))).toBeLessThanOrEqual(width);
    expect(fitColumns(COLUMNS, 1)).toEqual(["name", "verdict", "progress"]);
  });

  it("shows a whole screen of 1440 pixels", () => {
    expect(widthOf(DEFAULT_COLUMNS) * 16).toBeLessThan(1440 - 48);
  });
});
