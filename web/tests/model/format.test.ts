import { describe, expect, it } from "vitest";
import { exactText, formatFor } from "../../src/model/format";

const en = formatFor("en-US", "UTC");
const NOON = Date.UTC(2026, 10, 30, 12) / 1000;

it("writes hyperparameters to the last digit", () => {
  expect([3e-4 / 3, 2.5e-5, 0.006, 326.313, 0, 1e6, true, "adam", null].map(exactText)).toEqual([
    "1e-4",
    "2.5e-5",
    "0.006",
    "326.313",
    "0",
    "1000000",
    "true",
    "adam",
    "null",
  ]);
});

describe("durations", () => {
  it.each([
    [0, "0s"],
    [41.9, "41s"],
    [200, "3m 20s"],
    [1500, "25m"],
    [11_520, "3h 12m"],
    [7200, "2h"],
    [187_200, "2d 4h"],
    [-5, "0s"],
  ])("%d s is %s", (seconds, text) => {
    expect(en.duration(seconds)).toBe(text);
  });

  it("groups thousands the same way at every size", () => {
    const it_ = formatFor("it-IT", "UTC");
    expect([it_.count(6364), it_.count(22_248)]).toEqual(["6.364", "22.248"]);
  });

  it("never says that nothing is left", () => {
    expect(en.remaining(0)).toBe("<1s");
    expect(en.remaining(0.99)).toBe("<1s");
    expect(en.remaining(1)).toBe("1s");
    expect(en.remaining(200)).toBe("3m 20s");
    expect(en.remaining(null)).toBeNull();
    expect(formatFor("ja").remaining(0.5)).toBe("<1 秒");
  });

  it("has one unit in a span", () => {
    expect(en.span(22_320)).toBe("6.2h");
    expect(en.span(302_400)).toBe("3.5d");
    expect(en.span(59)).toBe("59s");
  });

  it("tells short steps in milliseconds", () => {
    expect(en.stepTime(0.18)).toBe("180ms");
    expect(en.stepTime(1.84)).toBe("1.8s");
    expect(en.stepTime(125)).toBe("2m 5s");
  });

  it("never shows a little as nothing", () => {
    expect([0, 0.004, 0.25].map(en.amount)).toEqual(["0", "<0.01", "0.25"]);
    expect([0, 0.002, 12.5].map(en.money)).toEqual(["$0.00", "<$0.01", "$12.50"]);
  });

  it("says nothing of what is not known", () => {
    for (const value of [null, undefined, Number.NaN, Number.POSITIVE_INFINITY]) {
      expect(en.duration(value)).toBeNull();
      expect(en.span(value)).toBeNull();
      expect(en.money(value)).toBeNull();
      expect(en.percent(value)).toBeNull();
      expect(en.moment(value, NOON)).toBeNull();
    }
  });

  it("writes other languages as they do", () => {
    expect(formatFor("ja").duration(11_520)).toBe("3 時間 12 分");
    expect(formatFor("it").duration(11_520)).toMatch(/3 ?h 12 ?min/);
  });
});

describe("moments", () => {
  it("leaves out the date of today, names the day within a week", () => {
    expect(en.moment(NOON + 4 * 3600 + 40 * 60, NOON)).toBe("16:40");
    expect(en.moment(NOON + 86_400 * 2, NOON)).toBe("Wed 12:00");
    expect(en.moment(NOON + 86_400 * 20, NOON)).toBe("Dec 20, 12:00");
  });

  it("writes midnight as 00, not 24", () => {
    expect(en.moment(NOON - 12 * 3600, NOON)).toBe("00:00");
  });
});

describe("numbers", () => {
  it.each([
    [0.23467, "0.2347"],
    [2e-5, "2e-5"],
    [0, "0"],
    [41_200, "41,200"],
    [12_345.6, "12,346"],
    [Number.NaN, "NaN"],
    [Number.POSITIVE_INFINITY, "∞"],
    [Number.NEGATIVE_INFINITY, "−∞"],
  ])("%d is %s", (value, text) => {
    expect(en.value(value)).toBe(text);
  });

  it("rounds progress down: 100 % is never shown early", () => {
    expect(en.percent(99.99)).toBe("99%");
  });

  it("shows cents only of small amounts", () => {
    expect(en.money(0.416)).toBe("$0.42");
    expect(en.money(1499.6)).toBe("$1,500");
  });

  it("uses the locale's separators", () => {
    expect(formatFor("it").value(0.2347)).toBe("0,2347");
    expect(formatFor("pt-BR").count(41_200)).toBe("41.200");
  });
});

describe("bytes", () => {
  it("are written in binary units", () => {
    const { bytes } = formatFor("en");
    expect([bytes(512 * 2 ** 20), bytes(71.24 * 2 ** 30), bytes(null)]).toEqual(["512 MiB", "71.2 GiB", null]);
  });
});
