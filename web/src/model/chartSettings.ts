/** How charts are drawn, as it stands in the URL: x axis, scale, smoothing, and the part that is zoomed to. Pure. */
import type { Range, XAxis } from "./curves";
import { SMOOTHINGS, type Smoothing } from "./smoothing";

export const X_AXES: readonly XAxis[] = ["step", "time", "epoch"];

/** How values are laid out: `auto` is logarithmic where a linear scale would press nearly all of a curve flat. */
export const SCALES = ["auto", "linear", "log"] as const;
export type Scale = (typeof SCALES)[number];

export interface ChartSettings {
  readonly axis: XAxis;
  readonly scale: Scale;
  readonly smoothing: Smoothing;
  /** In units of the axis; null: everything. */
  readonly range: Range | null;
}

export const DEFAULT_SETTINGS: ChartSettings = { axis: "step", scale: "auto", smoothing: "light", range: null };

/** Reads settings from a query; what cannot be read is left at its default. */
export function readSettings(query: URLSearchParams): ChartSettings {
  const axis = X_AXES.find((each) => each === query.get("x"));
  const smoothing = SMOOTHINGS.find((each) => each === query.get("smooth"));
  return {
    axis: axis ?? DEFAULT_SETTINGS.axis,
    scale: SCALES.find((each) => each === query.get("scale")) ?? DEFAULT_SETTINGS.scale,
    smoothing: smoothing ?? DEFAULT_SETTINGS.smoothing,
    range: readRange(query.get("zoom")),
  };
}

function readRange(text: string | null): Range | null {
  const [from, to, ...rest] = (text ?? "").split("~").map((word) => (word.trim() === "" ? Number.NaN : Number(word)));
  if (from === undefined || to === undefined || rest.length > 0) return null;
  return Number.isFinite(from) && Number.isFinite(to) && from < to ? [from, to] : null;
}

/** Writes settings into a query, in place, leaving out defaults. */
export function writeSettings(settings: ChartSettings, query: URLSearchParams): void {
  const set = (name: string, value: string | null) => (value === null ? query.delete(name) : query.set(name, value));
  set("x", settings.axis === DEFAULT_SETTINGS.axis ? null : settings.axis);
  set("scale", settings.scale === DEFAULT_SETTINGS.scale ? null : settings.scale);
  set("smooth", settings.smoothing === DEFAULT_SETTINGS.smoothing ? null : settings.smoothing);
  set("zoom", settings.range?.map((end) => Number(end.toPrecision(7))).join("~") ?? null);
}

/** A range changed by a factor around a place within it (0: its start, 1: its end), kept within the whole. */
export function zoomed([from, to]: Range, whole: Range, factor: number, around = 0.5): Range | null {
  const length = (to - from) * factor;
  if (length >= whole[1] - whole[0]) return null;
  const least = (whole[1] - whole[0]) * 1e-6;
  return clamped(from + (to - from - Math.max(length, least)) * around, Math.max(length, least), whole);
}

/** A range moved by a part of its length, kept within the whole. */
export function panned([from, to]: Range, whole: Range, by: number): Range {
  return clamped(from + (to - from) * by, to - from, whole);
}

function clamped(from: number, length: number, whole: Range): Range {
  const start = Math.min(Math.max(from, whole[0]), Math.max(whole[0], whole[1] - length));
  return [start, start + length];
}
