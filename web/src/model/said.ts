/** What the server says of the course, of actions and of what does not add up, said again in the viewer's language. Pure. */
import type { Message } from "../api/types";
import { isMessageKey, type MessageKey } from "../i18n/catalogue";
import { type Clause, Figures, join, sayer, slopesOf, type Writer } from "./clauses";

/** A message in the viewer's language; as the server says it where its kind is not known here. */
export function messageText(message: Message, writer: Writer): string {
  const key = `said.${message.kind}`;
  if (!isMessageKey(key)) return message.text;
  const f = new Figures(message.figures ?? {}, writer.format);
  const family = message.kind.slice(0, message.kind.indexOf("."));
  const text = join(clausesOf(family, key, f, writer), writer);
  if (text === "") return message.text;
  return f.is("improvedBefore") ? writer.t("said.before", { text }) : text;
}

function clausesOf(family: string, key: MessageKey, f: Figures, writer: Writer): readonly Clause[] {
  switch (family) {
    case "course":
      return course(key, f, writer);
    case "outcome":
      return outcome(key, f, writer);
    default:
      return warning(key, f, writer);
  }
}

function course(key: MessageKey, f: Figures, writer: Writer): readonly Clause[] {
  const say = sayer(writer);
  const metric = f.text("metric") ?? "";
  const steps = f.number("steps");
  const span = f.duration("seconds") ?? (steps === null ? null : writer.t("said.steps", { count: steps }));
  const better = f.share("betterPercent");
  const hasEnd = f.number("remainingSteps") !== null;
  return [
    say(key, { metric, by: by(f, writer) ?? "", span: span ?? "", count: f.number("points") ?? 0 }),
    slopesOf(f, writer) && say("said.over", { span }),
    say(hasEnd ? "said.better" : "said.betterDoubled", { amount: better }),
    say("said.most", { amount: f.share("mostPercent") }),
    say("said.more", { count: f.number("morePoints") }),
    key === "said.course.flatToTheEnd" ? writer.t("said.noisy") : null,
  ];
}

/** By how much a metric changes, whichever way. */
function by(f: Figures, writer: Writer): string | null {
  const slopes = slopesOf(f, writer);
  if (!slopes) return null;
  const [low, high] = [Math.abs(slopes.low), Math.abs(slopes.high)].sort((a, b) => a - b);
  const range = writer.t("said.range", { low: slopes.amount(low ?? 0), high: slopes.amount(high ?? 0) });
  return writer.t("said.by", { rate: slopes.per(range) });
}

function outcome(key: MessageKey, f: Figures, writer: Writer): readonly Clause[] {
  const say = sayer(writer);
  const saved = say("said.saved", { step: f.count("savedStep") });
  if (key === "said.outcome.saved") return [saved ?? writer.t(key)];
  const how = say("said.sigtermAfter", { time: f.time("seconds") }) ?? writer.t("said.sigterm");
  return [
    saved,
    say(key, { time: f.duration("seconds") ?? "", attempt: f.count("attempt") ?? "", how }),
    say("said.killed", { time: f.time("killedAfter") }),
  ];
}

function warning(key: MessageKey, f: Figures, writer: Writer): readonly Clause[] {
  const figures = { step: f.count("step"), total: f.count("total"), before: f.count("before") };
  const times = { time: f.duration("seconds"), grace: f.duration("grace") };
  const given = Object.entries({ ...figures, ...times }).map(([name, value]) => [name, value ?? ""]);
  return [writer.t(key, Object.fromEntries(given) as Readonly<Record<string, string>>)];
}

/** Likely causes among the figures of a condition. */
export function causesOf(f: Figures, writer: Writer): readonly Clause[] {
  const say = sayer(writer);
  const causes = [
    say("said.uniform", { level: f.value("uniformLevel"), classes: f.count("uniformClasses") }),
    say("said.gradient", {
      metric: f.text("gradientMetric"),
      value: f.value("gradientBefore"),
      usual: f.value("gradientUsual"),
    }),
    say("said.rate", { rate: f.value("learningRateAtPeak") }),
  ];
  return causes.map((cause) => say("said.cause", { cause }));
}
