/**
 * The API's documents as the dashboard holds them: generated from the server's OpenAPI, with numbers that JSON has no word
 * for ("NaN", "Infinity", "-Infinity" on the wire) turned into numbers by `decode`.
 */
import type { components } from "./schema";

type NonFinite = "NaN" | "Infinity" | "-Infinity";

type Decoded<T> = T extends NonFinite ? number : T extends object ? { readonly [K in keyof T]: Decoded<T[K]> } : T;

type Schemas = components["schemas"];

export type Job = Decoded<Schemas["Job"]>;
/** What a list shows of a job: some of its document's fields, under the same names. Every `Job` is one. */
export type JobRow = Omit<SentRow, "at">;
/** A row as the stream carries it: `at` says when the server made it. */
export type SentRow = Decoded<Schemas["JobRow"]>;
export type State = Schemas["State"];
export type Verdict = Schemas["Verdict"];
export type Condition = Decoded<Schemas["Condition"]>;
export type ConditionType = Schemas["ConditionType"];
export type Severity = Schemas["Severity"];
export type Phase = Schemas["Phase"];
export type Attempt = Decoded<Schemas["Attempt"]>;
export type RankInfo = Decoded<Schemas["RankInfo"]>;
export type Eta = Decoded<Schemas["Eta"]>;
export type Cost = Decoded<Schemas["Cost"]>;
export type Ledger = Decoded<Schemas["Ledger"]>;
export type Series = Decoded<Schemas["Series"]>;
/** [step, t, mean, low, high, n, bad]; see the server's SeriesPoint. */
export type SeriesPoint = Decoded<Schemas["SeriesPoint"]>;
export type Sparkline = Decoded<Schemas["Sparkline"]>;
export type RowChanges = Decoded<Schemas["RowChanges"]>;
export type Message = Decoded<Schemas["Message"]>;
export type Action = Decoded<Schemas["Action"]>;
export type ActionKind = Schemas["ActionKind"];
export type ActionRequest = Partial<Decoded<Schemas["ActionRequest"]>>;
export type Problem = Schemas["Status"];

/** What names a job. */
export interface JobKey {
  readonly namespace: string;
  readonly name: string;
}

const NON_FINITE: Readonly<Record<string, number>> = {
  NaN: Number.NaN,
  Infinity: Number.POSITIVE_INFINITY,
  "-Infinity": Number.NEGATIVE_INFINITY,
};

/** Turns the wire's words for non-finite numbers into numbers, in place; `value` is fresh from JSON.parse. */
export function decode<T>(value: unknown): T {
  revive(value);
  return value as T;
}

function revive(value: unknown): void {
  if (typeof value !== "object" || value === null) return;
  const fields = value as Record<string, unknown>;
  for (const key in fields) {
    const field = fields[key];
    if (typeof field === "string") {
      const number = NON_FINITE[field];
      if (number !== undefined) fields[key] = number;
    } else if (typeof field === "object") revive(field);
  }
}

/** A job's key in one string that is safe in a URL's query and unambiguous: both parts percent-encoded. */
export function keyText(key: JobKey): string {
  return `${encodeURIComponent(key.namespace)}/${encodeURIComponent(key.name)}`;
}

/** The key that `keyText` wrote; null when it is not one. */
export function readKey(text: string): JobKey | null {
  const [namespace, name, ...rest] = text.split("/");
  if (!namespace || !name || rest.length > 0) return null;
  try {
    return { namespace: decodeURIComponent(namespace), name: decodeURIComponent(name) };
  } catch {
    return null;
  }
}
