import { describe, expect, it } from "vitest";
import {
  atRisk,
  commandLine,
  contactAge,
  evaluationMetrics,
  isStale,
  metric,
  percentOf,
  remaining,
} from "../../src/model/job";
import { standing, verdictSince } from "../../src/model/verdict";
import { makeJob, makeSeen, NOW } from "../builders";

describe("ages", () => {
  it("count on from when the document was made", () => {
    expect(contactAge(makeSeen({ lastContactAge: 2 }, NOW - 5), NOW)).toBe(7);
  });

  it("count from the end of a job that has ended", () => {
    expect(contactAge(makeSeen({ state: "Complete", endedAt: NOW - 90, lastContactAge: null }), NOW)).toBe(90);
  });

  it("are unknown before a job began", () => {
    expect(contactAge(makeSeen({ state: "Queued", startedAt: null, lastContactAge: null }), NOW)).toBeNull();
  });

  it("make a running job stale, never one that waits or has ended", () => {
    expect(isStale(makeSeen({ lastContactAge: 31 }), NOW)).toBe(true);
    expect(isStale(makeSeen({ lastContactAge: 5 }), NOW)).toBe(false);
    expect(isStale(makeSeen({ lastContactAge: 5, verdict: "Silent" }), NOW)).toBe(true);
    expect(isStale(makeSeen({ lastContactAge: 99, state: "Paused" }), NOW)).toBe(false);
  });
});

describe("remaining", () => {
  const eta = { seconds: 100, low: 80, high: 150, finishAt: NOW + 100, basis: "pace" };

  it("counts down, and not below nothing", () => {
    expect(remaining(makeSeen({ eta }, NOW - 90), NOW)).toEqual({ seconds: 10, low: 0, high: 60, finishAt: NOW + 100 });
  });

  it("stands still while the job does", () => {
    expect(remaining(makeSeen({ eta, state: "Paused" }, NOW - 90), NOW)?.seconds).toBe(100);
  });

  it("is unknown without an estimate and after the end", () => {
    expect(remaining(makeSeen({}), NOW)).toBeNull();
    expect(remaining(makeSeen({ eta, state: "Failed" }), NOW)).toBeNull();
  });
});

describe("progress", () => {
  it("is finer than the whole percent where steps are known", () => {
    expect(percentOf(makeJob({ progress: { percent: 45, step: 456, totalSteps: 1000 } }))).toBeCloseTo(45.6);
  });

  it("keeps to what the server says where the two do not agree", () => {
    expect(percentOf(makeJob({ progress: { percent: 45, step: 990, totalSteps: 1000 } }))).toBe(45);
    expect(percentOf(makeJob({ progress: {} }))).toBeNull();
  });
});

describe("metrics", () => {
  it("are found under other names", () => {
    const job = makeJob({ metrics: { "train/loss": 0.5, lr: 1e-4, eval_bleu: 30, val_loss: 0.6 } });
    expect(metric(job, "loss")).toBe(0.5);
    expect(metric(job, "learning_rate")).toBe(1e-4);
    expect(metric(job, "grad_norm")).toBeNull();
    expect(evaluationMetrics(job)).toEqual(["eval_bleu", "val_loss"]);
  });
});

describe("conditions", () => {
  const conditions = [
    { type: "Frozen", severity: "notice", since: 5, text: "" },
    { type: "Slow", severity: "warning", since: 3, until: 4, text: "" },
    { type: "Stalled", severity: "critical", since: 9, text: "" },
  ] as const;

  it("stand until withdrawn, gravest first", () => {
    expect(standing(makeJob({ conditions })).map((each) => each.type)).toEqual(["Stalled", "Frozen"]);
  });

  it("date the verdict", () => {
    expect(verdictSince(makeJob({ conditions, verdict: "Stalled" }))).toBe(9);
    expect(verdictSince(makeJob({ conditions, verdict: "Progressing" }))).toBeNull();
  });
});

describe("what a stop would lose", () => {
  it("is what came since the last checkpoint, or everything", () => {
    expect(atRisk(makeJob({ checkpoint: { step: 400 } }))).toEqual({ steps: 50, from: 400 });
    expect(atRisk(makeJob({}))).toEqual({ steps: 450, from: null });
    expect(atRisk(makeJob({ progress: {} }))).toEqual({ steps: null, from: null });
  });
});

describe("command lines", () => {
  it("quote what a shell would read otherwise", () => {
    expect(commandLine("stop", makeJob({ name: "train-2" }))).toBe("headway stop train-2");
    expect(commandLine("logs", makeJob({ name: "it's $HOME", namespace: "team a" }))).toBe(
      "headway logs 'it'\\''s $HOME' --namespace 'team a'",
    );
  });
});
