import { describe, expect, it } from "vitest";
import type { Message } from "../../src/api/types";
import { render } from "../../src/i18n/catalogue";
import en from "../../src/i18n/en";
import { LANGUAGES, loadCatalogue } from "../../src/i18n/languages";
import type { Writer } from "../../src/model/clauses";
import { formatFor } from "../../src/model/format";
import { messageText } from "../../src/model/said";

const SLOPE = { slopeLow: -1380, slopeHigh: -330, slopeUnit: "%/h", seconds: 36, steps: 900 };
const LEFT = { remainingSeconds: 200, remainingSteps: 4000 };
const MESSAGES: readonly Message[] = [
  { kind: "course.noMetric", figures: {} },
  { kind: "course.noStep", figures: {} },
  { kind: "course.tooFew", figures: { metric: "loss", points: 7 } },
  { kind: "course.nearZero", figures: { metric: "loss" } },
  { kind: "course.falls", figures: { metric: "loss", ...SLOPE, betterPercent: 12, ...LEFT } },
  { kind: "course.rises", figures: { metric: "reward", ...SLOPE, slopeLow: 2, slopeHigh: 9, slopeUnit: "%/step" } },
  { kind: "course.worsens", figures: { metric: "loss", ...SLOPE, slopeLow: 1, slopeHigh: 4 } },
  { kind: "course.unclear", figures: { metric: "loss", mostPercent: 3.2 } },
  { kind: "course.flat", figures: { metric: "loss", seconds: 54, steps: 1300, morePoints: 180 } },
  { kind: "course.flatToTheEnd", figures: { metric: "loss", seconds: null, steps: 1300 } },
  { kind: "course.flat", figures: { metric: "loss", seconds: 54, steps: 1300, improvedBefore: "yes" } },
  { kind: "outcome.saved", figures: { savedStep: 1200 } },
  { kind: "outcome.endedByItself", figures: { savedStep: 1200 } },
  { kind: "outcome.notSaved", figures: { seconds: 300 } },
  { kind: "outcome.resumed", figures: { attempt: 2 } },
  { kind: "outcome.forced.noAnswer", figures: { seconds: 12, killedAfter: 30 } },
  { kind: "outcome.forced", figures: { seconds: null, killedAfter: null } },
  { kind: "warning.pastTotal", figures: { step: 400, total: 100 } },
  { kind: "warning.revisedTotal", figures: { before: 100, total: 200 } },
  { kind: "warning.shortGrace", figures: { seconds: 95, grace: 30 } },
].map((message) => ({ ...message, text: "as the server says" }));

async function writerOf(language: (typeof LANGUAGES)[number]): Promise<Writer> {
  const catalogue = await loadCatalogue(language);
  return { t: (key, parameters) => render(catalogue, language, key, parameters), format: formatFor(language, "UTC") };
}

describe.each(LANGUAGES)("in %s", async (language) => {
  const writer = await writerOf(language);
  const english = await writerOf("en");

  it.each(MESSAGES)("$kind is said from its figures", (message) => {
    const text = messageText(message, writer);
    expect(text).not.toMatch(/as the server says|[{}]|undefined|null|NaN/);
    if (language !== "en") expect(text).not.toBe(messageText(message, english));
  });
});

describe("messages", async () => {
  const writer = await writerOf("en");
  const say = (kind: string, figures: NonNullable<Message["figures"]>) =>
    messageText({ kind, figures, text: "as the server says" }, writer);

  it("say how fast a metric changes, by the minute where that is easier to grasp", () => {
    expect(say("course.falls", { metric: "loss", ...SLOPE, betterPercent: 12, ...LEFT })).toBe(
      "loss falls by 5.5%–23% a minute (95% interval); measured over the last 36s; at this pace 12% better by the end",
    );
    expect(say("course.rises", { metric: "reward", ...SLOPE, slopeLow: 2, slopeHigh: 9, seconds: null })).toBe(
      "reward rises by 2%–9% an hour (95% interval); measured over the last 900 steps",
    );
  });

  it("say what came of an action", () => {
    expect(say("outcome.endedByItself", { savedStep: 1200 })).toBe("saved at step 1,200; the run ended by itself");
    expect(say("outcome.saved", { savedStep: null })).toBe("saved");
    expect(say("outcome.forced.noAnswer", { seconds: 12, killedAfter: 30 })).toBe(
      "the run did not answer: ended by SIGTERM after 12s; killed 30s later",
    );
  });

  it("of a kind that is not known here are as the server says them", () => {
    expect(say("outcome.unheardOf", {})).toBe("as the server says");
    expect(say("warning.mended", {})).toBe("as the server says");
    expect(say("", {})).toBe("as the server says");
  });

  it("have an English sentence each", () => {
    const kinds = Object.keys(en).filter((key) => /^said\.(course|outcome|warning)\./.test(key));
    for (const key of kinds) {
      const figures = { metric: "loss", points: 3, seconds: 5, step: 1, total: 2, before: 3, grace: 4, attempt: 2 };
      const text = say(key.slice("said.".length), figures);
      expect(text, key).not.toMatch(/as the server says|[{}]/);
    }
  });
});
