import { describe, expect, it } from "vitest";
import type { Condition, Job } from "../../src/api/types";
import {
  byVerdict,
  concerns,
  ends,
  freed,
  futility,
  overview,
  shares,
  total,
  usualHorizon,
} from "../../src/model/fleet";
import { makeSeen, NOW } from "../builders";

const spec = { nodes: 2, devicesPerNode: 8, owner: "ada" };
const stands = (type: Condition["type"], severity: Condition["severity"], since = NOW - 600): Condition => ({
  type,
  severity,
  since,
});
const eta = (seconds: number, low = seconds * 0.8, high = seconds * 1.5): Job["eta"] => ({
  seconds,
  low,
  high,
  finishAt: NOW + seconds,
  basis: "",
});
const stalled = makeSeen({
  name: "stalled",
  verdict: "Stalled",
  conditions: [stands("Stalled", "critical")],
  spec,
  eta: eta(1000),
  ledger: { pricePerHour: 50, spent: { deviceHours: 32, money: 100 }, withoutProgress: { deviceHours: 4, money: 12 } },
});
const healthy = makeSeen({
  name: "healthy",
  namespace: "research",
  spec: { nodes: 1, devicesPerNode: 4 },
  eta: eta(3600),
  ledger: { spent: { deviceHours: 10 }, withoutProgress: { deviceHours: 0 } },
});
const unsaid = makeSeen({ name: "unsaid", verdict: "Plateaued", conditions: [stands("Plateaued", "warning")] });
const queued = makeSeen({ name: "queued", state: "Queued", verdict: null, spec });
const done = makeSeen({
  name: "done",
  state: "Complete",
  verdict: null,
  endedAt: NOW - 60,
  ledger: { spent: { deviceHours: 7, money: 20 } },
});
const failed = makeSeen({ name: "failed", state: "Failed", verdict: null, endedAt: NOW - 60 });
const fleet = [stalled, healthy, unsaid, queued, done, failed];

describe("sums", () => {
  it("say of how many the amount is not known, and do not count those as zero", () => {
    expect(total([1, null, undefined, 2, Number.NaN])).toEqual({ value: 3, unknown: 3 });
  });
});

describe("overview", () => {
  it("counts what runs, what waits and what goes nowhere", () => {
    expect(overview(fleet)).toEqual({
      running: 3,
      runningDevices: { value: 20, unknown: 1 },
      waiting: 1,
      waitingDevices: { value: 16, unknown: 0 },
      futile: 2,
      futileDevices: { value: 16, unknown: 1 },
      futileRate: { value: 50, unknown: 1 },
      futileSpent: { deviceHours: { value: 4, unknown: 1 }, money: { value: 12, unknown: 1 } },
    });
  });

  it("holds a job for futile only while it runs and the condition stands", () => {
    const over = { ...stands("Diverging", "critical"), until: NOW - 10 };
    expect(futility(makeSeen({ conditions: [over] }).job)).toBeNull();
    expect(futility(makeSeen({ conditions: [stands("Slow", "warning")] }).job)).toBeNull();
    expect(futility(makeSeen({ state: "Paused", conditions: [stands("Stalled", "critical")] }).job)).toBeNull();
    expect(futility(stalled.job)?.type).toBe("Stalled");
  });
});

describe("device-hours by verdict", () => {
  it("come gravest first, jobs that do not run by their state", () => {
    expect(byVerdict(fleet).map(({ kind, name, jobs }) => [kind, name, jobs])).toEqual([
      ["verdict", "Stalled", 1],
      ["verdict", "Plateaued", 1],
      ["verdict", "Progressing", 1],
      ["state", "Queued", 1],
      ["state", "Failed", 1],
      ["state", "Complete", 1],
    ]);
    expect(byVerdict([stalled, unsaid])[1]?.spent.deviceHours).toEqual({ value: 0, unknown: 1 });
  });
});

describe("shares", () => {
  it("go by namespace or owner; jobs without an owner are a group of their own", () => {
    const owners = shares(fleet, "owner");
    expect(owners.map((group) => group.name)).toEqual(["ada", null]);
    expect(owners[0]).toMatchObject({ jobs: 2, running: 1, devices: { value: 16, unknown: 0 } });
    expect(shares(fleet, "namespace").map((group) => [group.name, group.jobs])).toEqual([
      ["local", 5],
      ["research", 1],
    ]);
  });
});

describe("what ends", () => {
  it("lists estimates within the horizon; what has none, or stands still, is unknown", () => {
    const found = ends(fleet, NOW, 3600);
    expect(found.within.map((end) => [end.seen.job.name, end.seconds, end.devices])).toEqual([["healthy", 3600, 4]]);
    expect(found).toMatchObject({ unknown: 2, unknownDevices: { value: 16, unknown: 1 } });
    expect(ends(fleet, NOW, 600).within).toEqual([]);
  });

  it("counts down while nothing new is heard", () => {
    expect(ends([healthy], NOW + 600, 3600).within[0]?.seconds).toBe(3000);
  });

  it("frees devices from the earliest to the latest end", () => {
    const soon = makeSeen({ name: "soon", spec, eta: eta(1000, 500, 2000) });
    const { within } = ends([soon, healthy], NOW, 10_000);
    expect(freed(within, 10_000)).toEqual([
      { at: 0, early: 0, expected: 0, late: 0 },
      { at: 500, early: 16, expected: 0, late: 0 },
      { at: 1000, early: 16, expected: 16, late: 0 },
      { at: 2000, early: 16, expected: 16, late: 16 },
      { at: 2880, early: 20, expected: 16, late: 16 },
      { at: 3600, early: 20, expected: 20, late: 16 },
      { at: 5400, early: 20, expected: 20, late: 20 },
      { at: 10_000, early: 20, expected: 20, late: 20 },
    ]);
  });
});

describe("thousands of ends", () => {
  it("are counted at evenly spaced moments, and none is lost", () => {
    const many = Array.from({ length: 3000 }, (_, index) =>
      makeSeen({ name: `job-${index}`, spec, eta: eta(10 + index, 5 + index, 20 + index) }),
    );
    const steps = freed(ends(many, NOW, 4000).within, 4000);
    expect(steps.length).toBeLessThan(300);
    expect(steps[0]).toEqual({ at: 0, early: 0, expected: 0, late: 0 });
    expect(steps.at(-1)).toEqual({ at: 4000, early: 48_000, expected: 48_000, late: 48_000 });
    for (const { early, expected, late } of steps) {
      expect(early).toBeGreaterThanOrEqual(expected);
      expect(expected).toBeGreaterThanOrEqual(late);
    }
  });
});

describe("what to look at first", () => {
  it("is the gravest, then the dearest, then the longest", () => {
    const dear = makeSeen({
      name: "dear",
      conditions: [stands("Diverging", "critical")],
      ledger: { pricePerHour: 900 },
    });
    const slow = makeSeen({ name: "slow", conditions: [stands("Slow", "warning")], ledger: { pricePerHour: 5000 } });
    const names = concerns([...fleet, slow, dear], NOW).map((concern) => concern.seen.job.name);
    expect(names).toEqual(["dear", "stalled", "slow", "unsaid", "failed"]);
  });

  it("leaves out what goes well and failures of long ago", () => {
    const old = makeSeen({ state: "Failed", verdict: null, endedAt: NOW - 10 * 86_400 });
    expect(concerns([healthy, queued, done, old], NOW)).toEqual([]);
  });
});

describe("how far to look ahead", () => {
  const HOURS = [3600, 4 * 3600, 12 * 3600];
  const ending = (...seconds: number[]) =>
    seconds.map((each, index) => makeSeen({ name: `job-${index}`, eta: eta(each) }));

  it("is as far as enough jobs end", () => {
    expect(usualHorizon(ending(60, 300), NOW, HOURS)).toBe(3600);
    expect(usualHorizon(ending(60, 7200), NOW, HOURS)).toBe(4 * 3600);
    expect(usualHorizon(ending(60, 60, 60, 60, 60, 60, 40_000), NOW, HOURS)).toBe(3600);
    expect(usualHorizon(ending(60, 90_000), NOW, HOURS)).toBe(12 * 3600);
    expect(usualHorizon([], NOW, HOURS)).toBe(12 * 3600);
  });
});
