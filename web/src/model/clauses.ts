/** Clauses of sentences: put together from messages and figures, left out where a figure is missing. Pure. */
import type { MessageKey, Parameters } from "../i18n/catalogue";
import { type Format, isKnown } from "./format";

/** How to write in the viewer's language. */
export interface Writer {
  readonly t: (key: MessageKey, parameters?: Parameters) => string;
  readonly format: Format;
}

export type Clause = string | null;
export type Say = (key: MessageKey, parameters: Readonly<Record<string, string | number | null | undefined>>) => Clause;

/** Named figures as the server gives them, read one by one: null for one that is not there. */
export class Figures {
  readonly #all: Readonly<Record<string, string | number | null | undefined>>;
  readonly #format: Format;

  constructor(all: Readonly<Record<string, string | number | null | undefined>>, format: Format) {
    this.#all = all;
    this.#format = format;
  }

  number(name: string): number | null {
    const value = this.#all[name];
    return isKnown(value as number) ? (value as number) : null;
  }

  text(name: string): string | null {
    const value = this.#all[name];
    return typeof value === "string" && value !== "" ? value : null;
  }

  /** A number, finite or not, or a word. */
  any = (name: string): string | null => {
    const value = this.#all[name];
    return typeof value === "number" ? this.#format.value(value) : this.text(name);
  };
  is = (name: string): boolean => this.text(name) === "yes";
  count = (name: string): string | null => this.#format.count(this.number(name));
  value = (name: string): string | null => this.#format.value(this.number(name));
  share = (name: string): string | null => this.#format.share(this.number(name));
  time = (name: string): string | null => this.#format.stepTime(this.number(name));
  duration = (name: string): string | null => this.#format.duration(this.number(name));
}

/** A message with its parameters; null when one of them is not known. */
export const sayer =
  ({ t }: Writer): Say =>
  (key, parameters) => {
    const known: Record<string, string | number> = {};
    for (const [name, value] of Object.entries(parameters)) {
      if (value === null || value === undefined) return null;
      known[name] = value;
    }
    return t(key, known);
  };

/** The clauses that are known, one after the other. */
export function join(clauses: readonly Clause[], { t }: Writer): string {
  const known = clauses.filter((clause) => clause !== null);
  return known.length === 0 ? "" : known.reduce((one, other) => t("why.join", { one, other }));
}

/** How the slopes of one interval are written. */
export interface Slopes {
  readonly low: number;
  readonly high: number;
  /** A change, as a share. */
  readonly amount: (slope: number) => string;
  /** Amounts with what they are counted by: `3% an hour`. */
  readonly per: (amount: string) => string;
}

/** What goes faster in an hour than this (percent) is counted by the minute. */
const FAST = 100;
/** How the server writes units of slopes by steps: `%/step` and `%/1,000 steps`. */
const PER_STEPS = /^%\/(?:([\d,]+) )?steps?$/;

/** The interval of a slope among the figures; null where it is not known. */
export function slopesOf(f: Figures, { t, format }: Writer): Slopes | null {
  const low = f.number("slopeLow");
  const high = f.number("slopeHigh");
  const unit = f.text("slopeUnit");
  if (low === null || high === null || unit === null) return null;
  const amount = (slope: number) => format.share(slope) ?? "";
  if (unit === "%/h") {
    if (Math.max(Math.abs(low), Math.abs(high)) < FAST) {
      return { low, high, amount, per: (text) => t("why.perHour", { amount: text }) };
    }
    return { low, high, amount: (slope) => amount(slope / 60), per: (text) => t("said.perMinute", { amount: text }) };
  }
  const steps = PER_STEPS.exec(unit);
  if (!steps) return null;
  const count = Number((steps[1] ?? "1").replaceAll(",", ""));
  return { low, high, amount, per: (text) => t("why.perSteps", { amount: text, count }) };
}
