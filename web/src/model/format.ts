/**
 * Figures in words, by locale: durations, ages, moments, money, numbers. Pure; what is unknown (undefined, null, NaN where a
 * figure cannot be NaN) comes back as null, and the caller shows that as unknown, never as 0.
 */

export type Maybe = number | null | undefined;

export interface Format {
  readonly locale: string;
  /** `41s`, `3m 20s`, `25m`, `3h 12m`, `2d 4h`: two units at most, rounded down. */
  duration(seconds: Maybe): string | null;
  /** What is left, as a duration, but `<1s` at the very end: what is not over takes more than none. */
  remaining(seconds: Maybe): string | null;
  /** A duration in its first unit: `41s`, `25m`, `6.2h`, `3.5d`. */
  span(seconds: Maybe): string | null;
  /** The time of one step: `180ms`, `1.8s`, `41s`, `2m 5s`. */
  stepTime(seconds: Maybe): string | null;
  /** `16:40` today, `Sat 01:12` within the week, else with its date; in the viewer's time zone. */
  moment(at: Maybe, now: number): string | null;
  /** A moment in full, for titles. */
  fullMoment(at: Maybe): string | null;
  /** A value of a metric, four significant digits: `0.2347`, `2e-5`, `NaN`. */
  value(value: Maybe): string | null;
  /** A value of an axis that spans many powers of ten: `1`, `1e4`, `2e12`. */
  power(value: Maybe): string | null;
  /** A count: `41,200`. */
  count(value: Maybe): string | null;
  percent(value: Maybe): string | null;
  /** A percentage in two significant digits, given in percent: `0.3%`, `-12%`. */
  share(percent: Maybe): string | null;
  /** An amount of memory: `512 MiB`, `71.2 GiB`. */
  bytes(value: Maybe): string | null;
  money(amount: Maybe): string | null;
  /** A number with one or two digits: device-hours and other amounts. */
  amount(value: Maybe): string | null;
}

type UnitName = "day" | "hour" | "minute" | "second" | "millisecond";

const DAY = 86_400;
const MIB = 2 ** 20;
const GIB = 2 ** 30;
const cache = new Map<string, Format>();

export function formatFor(locale: string, timeZone?: string): Format {
  const id = `${locale} ${timeZone ?? ""}`;
  let format = cache.get(id);
  if (!format) {
    format = makeFormat(locale, timeZone);
    cache.set(id, format);
  }
  return format;
}

function makeFormat(locale: string, timeZone?: string): Format {
  const numbers = new Map<string, Intl.NumberFormat>();
  const number = (value: number, options: Intl.NumberFormatOptions): string => {
    const id = JSON.stringify(options);
    let format = numbers.get(id);
    if (!format) {
      // Italian leaves four digits ungrouped by custom: beside larger numbers, that looks like an oversight.
      format = new Intl.NumberFormat(locale, { useGrouping: "always", ...options });
      numbers.set(id, format);
    }
    return format.format(value);
  };
  const zone = timeZone === undefined ? {} : { timeZone };
  const clock = new Intl.DateTimeFormat(locale, { hour: "2-digit", minute: "2-digit", hourCycle: "h23", ...zone });
  const weekday = new Intl.DateTimeFormat(locale, { weekday: "short", ...zone });
  const date = new Intl.DateTimeFormat(locale, { month: "short", day: "numeric", ...zone });
  const full = new Intl.DateTimeFormat(locale, { dateStyle: "medium", timeStyle: "medium", hourCycle: "h23", ...zone });
  const dayOf = new Intl.DateTimeFormat("en-CA", { year: "numeric", month: "2-digit", day: "2-digit", ...zone });

  // Japanese writes units in its own words only in the short form.
  const unitDisplay = locale.startsWith("ja") ? "short" : "narrow";
  const unit = (value: number, name: UnitName, digits = 0): string =>
    number(value, { style: "unit", unit: name, unitDisplay, maximumFractionDigits: digits });

  const duration = (seconds: Maybe): string | null => {
    if (!isKnown(seconds)) return null;
    const whole = Math.max(0, Math.floor(seconds));
    const pair = (big: number, bigName: UnitName, small: number, smallName: UnitName, withSmall: boolean): string =>
      small > 0 && withSmall ? `${unit(big, bigName)} ${unit(small, smallName)}` : unit(big, bigName);
    if (whole < 60) return unit(whole, "second");
    const minutes = Math.floor(whole / 60);
    if (minutes < 60) return pair(minutes, "minute", whole % 60, "second", minutes < 10);
    const hours = Math.floor(minutes / 60);
    if (hours < 24) return pair(hours, "hour", minutes % 60, "minute", true);
    const days = Math.floor(hours / 24);
    return pair(days, "day", hours % 24, "hour", days < 10);
  };

  return {
    locale,
    duration,
    remaining(seconds) {
      return isKnown(seconds) && seconds < 1 ? `<${unit(1, "second")}` : duration(seconds);
    },
    span(seconds) {
      if (!isKnown(seconds)) return null;
      const value = Math.max(0, seconds);
      if (value < 60) return unit(Math.floor(value), "second");
      if (value < 3600) return unit(Math.floor(value / 60), "minute");
      if (value < 2 * DAY) return unit(value / 3600, "hour", 1);
      return unit(value / DAY, "day", 1);
    },
    stepTime(seconds) {
      if (!isKnown(seconds)) return null;
      if (seconds < 1) {
        return number(seconds * 1000, {
          style: "unit",
          unit: "millisecond",
          unitDisplay,
          maximumSignificantDigits: 3,
        });
      }
      if (seconds < 10) return unit(seconds, "second", 1);
      return duration(seconds);
    },
    moment(at, now) {
      if (!isKnown(at)) return null;
      const there = new Date(at * 1000);
      const time = clock.format(there);
      if (dayOf.format(there) === dayOf.format(new Date(now * 1000))) return time;
      if (Math.abs(at - now) < 6 * DAY) return `${weekday.format(there)} ${time}`;
      return `${date.format(there)}, ${time}`;
    },
    fullMoment: (at) => (isKnown(at) ? full.format(new Date(at * 1000)) : null),
    value(value) {
      if (value === null || value === undefined) return null;
      if (Number.isNaN(value)) return "NaN";
      if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
      const size = Math.abs(value);
      if (value !== 0 && (size < 1e-3 || size >= 1e7)) {
        return number(value, { notation: "scientific", maximumSignificantDigits: 4 }).replace("E", "e");
      }
      if (Number.isInteger(value)) return number(value, { maximumFractionDigits: 0 });
      if (size >= 1e4) return number(value, { maximumFractionDigits: 0 });
      return number(value, { maximumSignificantDigits: 4 });
    },
    power: (value) =>
      isKnown(value) && Math.abs(value) < 1e4
        ? number(value, { maximumSignificantDigits: 4 })
        : isKnown(value)
          ? number(value, { notation: "scientific", maximumSignificantDigits: 4 }).replace("E", "e")
          : null,
    count: (value) => (isKnown(value) ? number(value, { maximumFractionDigits: 0 }) : null),
    percent: (value) => (isKnown(value) ? number(Math.floor(value) / 100, { style: "percent" }) : null),
    share: (percent) =>
      isKnown(percent) ? number(percent / 100, { style: "percent", maximumSignificantDigits: 2 }) : null,
    bytes(value) {
      if (!isKnown(value)) return null;
      const [size, unit] = value >= GIB ? [value / GIB, "GiB"] : [value / MIB, "MiB"];
      return `${number(size, { maximumSignificantDigits: 3 })} ${unit}`;
    },
    money(amount) {
      if (!isKnown(amount)) return null;
      const digits = Math.abs(amount) >= 100 ? 0 : 2;
      // What costs something is never shown as if it cost nothing.
      const isTiny = amount > 0 && amount < 0.005;
      const least = isTiny ? "<" : "";
      return (
        least +
        number(isTiny ? 0.01 : amount, {
          style: "currency",
          currency: "USD",
          currencyDisplay: "narrowSymbol",
          minimumFractionDigits: digits,
          maximumFractionDigits: digits,
        })
      );
    },
    amount(value) {
      if (!isKnown(value)) return null;
      const size = Math.abs(value);
      if (value > 0 && value < 0.005) return `<${number(0.01, { maximumFractionDigits: 2 })}`;
      return number(value, { maximumFractionDigits: size >= 100 ? 0 : size >= 10 ? 1 : 2 });
    },
  };
}

/** A hyperparameter to its last digit but for what binary fractions add, small ones as people write them: `0.006`, `3e-4`. */
export function exactText(value: unknown): string {
  if (typeof value !== "number") return String(value);
  const decimal = Number(value.toPrecision(12));
  return decimal === 0 || Math.abs(decimal) >= 1e-3 ? String(decimal) : decimal.toExponential();
}

/** Whether a figure is there and finite. */
export function isKnown(value: Maybe): value is number {
  return typeof value === "number" && Number.isFinite(value);
}
