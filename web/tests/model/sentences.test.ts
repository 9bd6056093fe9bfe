import { describe, expect, it } from "vitest";
import type { Condition, ConditionType } from "../../src/api/types";
import { isMessageKey, render } from "../../src/i18n/catalogue";
import en from "../../src/i18n/en";
import { LANGUAGES, loadCatalogue } from "../../src/i18n/languages";
import type { Writer } from "../../src/model/clauses";
import { formatFor } from "../../src/model/format";
import {
  basisText,
  conditionText,
  figureText,
  resumedText,
  shownFigures,
  summaryText,
} from "../../src/model/sentences";
import { CONDITIONS } from "../../src/model/verdict";
import { makeJob, NOW } from "../builders";

type Evidence = NonNullable<Condition["evidence"]>;

const SLOPES = {
  slopeLow: -0.04,
  slopeHigh: 0.02,
  slopeUnit: "%/h",
  mostPercent: 0.31,
  firstStep: 500,
  lastStep: 88_000,
  newestStep: 88_000,
  worsening: "no",
  rateAtPeak: "yes",
};
const EVIDENCE: Readonly<Record<ConditionType, Evidence>> = {
  Stalled: {
    step: 900,
    seconds: 47,
    phase: null,
    limitSeconds: 10,
    usualGapSeconds: 1.1,
    gaps: 50,
    where: "a.py:29 in f",
  },
  NonFinite: { value: Number.NaN, reports: 12, lastStep: 950 },
  Diverging: { best: 2.1, bestStep: 400, level: 6.4, ratio: 3.05, hint: null },
  RestartLoop: { attempts: 3, bestStep: 1200, lastStep: 1100, ending: "SIGKILL" },
  Silent: { lastContact: NOW - 60, lastStep: 800, limitSeconds: 6 },
  StragglingRank: { rank: 3, ranks: "3", host: "gpu-07", step: 810, leadStep: 950, lost: 0, heard: 8 },
  Slow: { ratio: 1.53, stepSeconds: 2.3, bestStepSeconds: 1.5, seconds: 600 },
  Overfitting: { best: 0.41, bestStep: 4000, level: 0.5, risePercent: 21.9, evaluationsSince: 12, p: 0.001 },
  Plateaued: SLOPES,
  EvalPlateaued: { ...SLOPES, slopeUnit: "%/1,000 steps" },
  Frozen: { value: 0.25, reports: 9, othersMove: "yes" },
  TotalWrong: { step: 1010, totalSteps: 1000 },
  CheckpointLate: {
    step: 900,
    lastCheckpointStep: 500,
    stepsAtRisk: 400,
    secondsAtRisk: 720,
    usualSteps: 100,
    limitSteps: 300,
  },
};

function condition(type: ConditionType, changes: Partial<Condition> = {}): Condition {
  const evidence = EVIDENCE[type];
  const metric = "eval/loss";
  return {
    type,
    severity: "warning",
    since: NOW - 7200,
    sinceStep: 900,
    metric,
    evidence,
    text: "as the server says",
    ...changes,
  };
}

async function writerOf(language: (typeof LANGUAGES)[number]): Promise<Writer> {
  const catalogue = await loadCatalogue(language);
  return { t: (key, parameters) => render(catalogue, language, key, parameters), format: formatFor(language, "UTC") };
}

describe.each(LANGUAGES)("in %s", (language) => {
  it.each(CONDITIONS)("%s is said from its figures", async (type) => {
    const writer = await writerOf(language);
    const text = conditionText(condition(type), NOW, writer);
    expect(text).not.toContain("as the server says");
    expect(text).not.toMatch(/[{}]|undefined|null|NaN%/);
    const english = conditionText(condition(type), NOW, await writerOf("en"));
    if (language !== "en") expect(text).not.toBe(english);
  });

  it("every figure has a name", async () => {
    const writer = await writerOf(language);
    for (const evidence of Object.values(EVIDENCE)) {
      for (const [name, value] of Object.entries(evidence)) {
        expect(isMessageKey(`evidence.${name}`), name).toBe(true);
        expect(figureText(name, value, isMessageKey, writer)[1]).not.toBe("");
      }
    }
  });
});

describe("sentences", async () => {
  const writer = await writerOf("en");
  const say = (type: ConditionType, changes: Partial<Condition> = {}) =>
    conditionText(condition(type, changes), NOW, writer);

  it("say what the figures say", () => {
    expect(say("Stalled")).toBe(
      "no step for 2h, since step 900; its longest usual gap is 1.1s, the limit 10s; it stands at a.py:29 in f",
    );
    expect(say("Plateaued")).toBe(
      "no measurable improvement of eval/loss worth having for 2h (steps 900–88,000); slope -0.04% to 0.02% an hour (95% interval); if learning rate and data stay as they are, at most 0.31% better by the end; the learning rate is still at its peak: a cool-down usually helps yet",
    );
    expect(say("NonFinite")).toBe("eval/loss is NaN since step 900");
    expect(say("EvalPlateaued")).toContain("-0.04% to 0.02% per 1,000 steps");
  });

  it("leave out the clause whose figures are missing", () => {
    expect(say("Stalled", { evidence: { seconds: 47, phase: "eval", limitSeconds: 90 } })).toBe(
      "no step for 2h, since the start; it said that it is evaluating; the limit here is 1m 30s",
    );
    expect(say("StragglingRank", { evidence: { rank: 2, ranks: "2, 5", lost: 2, heard: 6 } })).toBe(
      "nothing is heard of rank 2, 5, while 6 others are heard",
    );
  });

  it("are the server's own where the main figures are missing", () => {
    for (const type of CONDITIONS) {
      if (["Silent", "Stalled"].includes(type)) continue; // these need none
      const { sinceStep, metric, ...bare } = condition(type, { evidence: {} });
      expect(conditionText(bare, NOW, writer)).toBe("as the server says");
    }
  });

  it("end where the condition ended", () => {
    expect(say("Silent", { evidence: { lastStep: 5 } })).toBe("nothing is heard of the run since step 5");
    expect(say("Slow", { until: NOW - 3600 })).toContain("for 1h");
  });

  it("name likely causes, and show their figures only there", () => {
    const evidence = { ...EVIDENCE.Diverging, hint: "as the server says", uniformLevel: Math.LN10, uniformClasses: 10 };
    expect(say("Diverging", { evidence })).toContain(
      "likely cause: 2.303 is close to ln 10, the loss of a uniform guess over so many classes",
    );
    expect(shownFigures(evidence).map(([name]) => name)).toEqual(["best", "bestStep", "level", "ratio"]);
  });

  it("say words of closed lists in the viewer's language", async () => {
    const italian = await writerOf("it");
    expect(figureText("phase", "eval", isMessageKey, italian)[1]).toBe("valutazione");
    expect(figureText("phase", "unheard of", isMessageKey, italian)[1]).toBe("unheard of");
    expect(figureText("value", "0.0 in place of NaN", isMessageKey, italian)[1]).toBe("0.0 al posto di NaN");
  });

  it("name figures that have no message as they are called", () => {
    expect(figureText("newFigureName", 0.5, isMessageKey, writer)).toEqual(["new figure name", "0.5"]);
    expect(figureText("limitSeconds", 90, isMessageKey, writer)).toEqual(["limit", "1m 30s"]);
    expect(figureText("constructor", 1, isMessageKey, writer)[0]).toBe("constructor");
  });
});

describe("states and estimates", async () => {
  const writer = await writerOf("en");

  it("say where a job stands", () => {
    expect(summaryText(makeJob(), writer)).toBe("Running, 45%");
    expect(summaryText(makeJob({ state: "Failed" }), writer)).toBe("Failed, 45%");
    expect(summaryText(makeJob({ state: "Paused", progress: { step: 12 } }), writer)).toBe("Paused, step 12");
    expect(summaryText(makeJob({ state: "Queued" }), writer)).toBe("Queued");
    const done = { state: "Complete", progress: { percent: 100, step: 1000, totalSteps: 1000 } } as const;
    expect(summaryText(makeJob(done), writer)).toBe("Complete");
    const early = { state: "Complete", ending: { kind: "early_stopped" } } as const;
    expect(summaryText(makeJob(early), writer)).toBe("Complete, stopped early at step 450 of 1,000");
  });

  it("say where an attempt went on", () => {
    const attempt = { ordinal: 2, id: "b", startedAt: NOW };
    expect(resumedText(makeJob(), writer)).toBeNull();
    const resumed = makeJob({ resumed: "resumed at 20 %", attempts: [{ ...attempt, resumedFromStep: 200 }] });
    expect(resumedText(resumed, writer)).toBe("resumed at 20%");
    expect(resumedText(makeJob({ resumed: "restarted", attempts: [attempt] }), writer)).toBe(
      "restarted from the beginning",
    );
  });

  it("say what an estimate rests on", () => {
    const eta = { seconds: 10, low: 5, high: 20, finishAt: NOW, basis: "as the server says" };
    expect(basisText(eta, writer)).toBe("as the server says");
    expect(basisText({ ...eta, stepSeconds: 0.5, steps: 1200 }, writer)).toBe(
      "500ms a step, over the last 1,200 steps",
    );
    expect(basisText({ ...eta, stepSeconds: 2, steps: 1, pauseSeconds: 90 }, writer)).toBe(
      "2s a step, over the last step; 1m 30s of pauses ahead",
    );
  });
});

it("there is a sentence for each type that the server may send", () => {
  for (const type of CONDITIONS)
    expect(
      Object.keys(en).some((key) => key === `why.${type}`),
      type,
    ).toBe(true);
});
