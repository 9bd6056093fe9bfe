/** What a chart gives uPlot: lines with their looks, axes with numbers in the viewer's language, and what the mouse does. */
import type uPlot from "uplot";
import type { Cell, Range, XAxis } from "../../model/curves";
import type { Format } from "../../model/format";
import { curveColour, isDashed } from "../../model/palette";
import { linearTicks, logTicks, timeTicks } from "../../model/ticks";

/** `main` is what one reads; `raw` lies behind it where it is smoothed; `low` and `high` bound the band. */
export type LineKind = "main" | "raw" | "low" | "high";

export interface PlotLine {
  /** Index of its curve. */
  readonly curve: number;
  readonly kind: LineKind;
  readonly superseded: boolean;
}

/** One x for all lines, a column for each. */
export interface PlotData {
  readonly x: readonly number[];
  readonly columns: readonly Cell[][];
  readonly lines: readonly PlotLine[];
}

/** Colours and font as the theme has them now. */
export interface Ink {
  readonly text: string;
  readonly subtle: string;
  readonly grid: string;
  readonly surface: string;
  readonly font: string;
  readonly critical: string;
  readonly warning: string;
  readonly notice: string;
  /** By index of the curve. */
  readonly curves: readonly string[];
}

export function readInk(element: Element, curves: readonly number[], dark: boolean): Ink {
  const style = getComputedStyle(element);
  const read = (name: string) => style.getPropertyValue(name).trim();
  return {
    text: read("--pf-t--global--text--color--regular"),
    subtle: read("--pf-t--global--text--color--subtle"),
    grid: read("--hw-chart-grid"),
    surface: read("--pf-t--global--background--color--primary--default"),
    font: style.fontFamily,
    critical: read("--pf-t--global--icon--color--status--danger--default"),
    warning: read("--pf-t--global--icon--color--status--warning--default"),
    notice: read("--pf-t--global--icon--color--status--info--default"),
    curves: curves.map((index) => curveColour(index, dark)),
  };
}

export interface PlotOptions {
  readonly width: number;
  readonly height: number;
  readonly lines: readonly PlotLine[];
  readonly colours: readonly number[];
  readonly ink: Ink;
  readonly axis: XAxis;
  readonly log: boolean;
  readonly format: Format;
  readonly syncKey: string | undefined;
  readonly range: () => Range | null;
  /** Where values are cut off. */
  readonly ceiling: () => number | null;
  readonly onRange: (range: Range | null) => void;
  readonly hooks: uPlot.Hooks.Arrays;
}

const FONT_SIZE = 11;
/** Pixels that a number on the x axis gets. */
const X_ROOM: Readonly<Record<XAxis, number>> = { step: 56, time: 84, epoch: 56 };

export function plotOptions(options: PlotOptions): uPlot.Options {
  const { ink, axis, log, format, lines } = options;
  const font = `${FONT_SIZE}px ${ink.font}`;
  const look = { font, stroke: ink.subtle, ticks: { show: false }, border: { show: false } };
  const grid = { stroke: ink.grid, width: 1 };
  const sync = options.syncKey === undefined ? {} : { sync: syncOf(options.syncKey) };
  return {
    width: options.width,
    height: options.height,
    padding: [10, 26, 0, 0],
    legend: { show: false },
    scales: {
      x: { time: false, range: () => [...(options.range() ?? [0, 1])] as [number, number] },
      y: log
        ? { distr: 3, range: logRange }
        : { range: (_, low, high) => linearRange(low, ceilinged(high, options.ceiling())) },
    },
    axes: [
      {
        ...look,
        grid: { ...grid, show: false },
        border: { show: true, stroke: ink.grid, width: 1 },
        size: 24,
        gap: 6,
        splits: (u, _, from, to) =>
          xTicks(axis, from, to, Math.max(2, Math.floor(u.bbox.width / devicePixelRatio / X_ROOM[axis]))),
        values: (_, ticks) => ticks.map((tick) => xLabel(axis, tick, format)),
      },
      {
        ...look,
        grid,
        gap: 8,
        size: (u, values) => axisSize(u, values, font),
        splits: (u, _, from, to) => {
          const most = Math.max(2, Math.floor(u.bbox.height / devicePixelRatio / 36));
          return log ? logTicks(from, to, most) : linearTicks(from, to, most);
        },
        filter: (_, ticks) => ticks,
        values: (_, ticks) => ticks.map((tick) => yLabel(tick, ticks, format)),
      },
    ],
    series: [{}, ...lines.map((line) => lineOptions(line, options))],
    bands: bandsOf(lines).map(([high, low]) => {
      const line = lines[high];
      const colour = ink.curves[line?.curve ?? 0] ?? ink.text;
      return { series: [high + 1, low + 1], fill: fade(colour, line?.superseded ? 0.06 : 0.16) };
    }),
    cursor: {
      y: false,
      points: { size: 7, width: 2, stroke: () => ink.surface, fill: (_, series) => colourOf(lines[series - 1], ink) },
      drag: { x: true, y: false, setScale: false, dist: 4 },
      dataIdx: (u, series, index) => (series === 0 ? index : nearestDefined(u.data[series], index)),
      bind: {
        dblclick: () => () => {
          options.onRange(null);
          return null;
        },
      },
      ...sync,
    },
    hooks: {
      ...options.hooks,
      setSelect: [
        (u) => {
          const { left, width } = u.select;
          if (width < 4) return;
          const from = u.posToVal(left, "x");
          const to = u.posToVal(left + width, "x");
          u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
          options.onRange([from, to]);
        },
      ],
    },
  };
}

/** Charts of one group share where the cursor is, but not what is selected: that comes back as their range. */
function syncOf(key: string): uPlot.Cursor.Sync {
  const moves = (kind: string) => kind === "mousemove" || kind === "mouseleave";
  return { key, setSeries: false, scales: ["x", null], filters: { pub: moves, sub: moves } };
}

function colourOf(line: PlotLine | undefined, ink: Ink): string {
  return ink.curves[line?.curve ?? 0] ?? ink.text;
}

function lineOptions(line: PlotLine, { ink, colours }: PlotOptions): uPlot.Series {
  const colour = colourOf(line, ink);
  if (line.kind === "low" || line.kind === "high") return { width: 0, points: { show: false } };
  const faint = line.kind === "raw" || line.superseded;
  const dashed = line.superseded || isDashed(colours[line.curve] ?? 0);
  return {
    stroke: fade(colour, line.kind === "raw" ? (line.superseded ? 0.18 : 0.32) : line.superseded ? 0.5 : 1),
    width: faint ? 1 : 1.75,
    ...(dashed ? { dash: line.superseded ? [2, 3] : [7, 3] } : {}),
    points:
      line.kind === "raw"
        ? { show: false }
        : { show: isSparse, size: 5, width: 0, fill: fade(colour, faint ? 0.5 : 1) },
  };
}

/** Points are drawn where they are far apart, or where a line has only one. */
function isSparse(u: uPlot, series: number, from: number, to: number): boolean {
  const column = u.data[series];
  let count = 0;
  let first = 0;
  let last = 0;
  for (let index = from; index <= to; index += 1) {
    if (typeof column?.[index] !== "number") continue;
    if (count === 0) first = index;
    last = index;
    count += 1;
  }
  if (count <= 1) return true;
  const place = (index: number) => u.valToPos(u.data[0][index] ?? 0, "x");
  return (place(last) - place(first)) / (count - 1) > 14;
}

/** Index pairs (high, low) of the lines that bound a band. */
function bandsOf(lines: readonly PlotLine[]): (readonly [number, number])[] {
  return lines.flatMap((line, index) =>
    line.kind === "high" && lines[index - 1]?.kind === "low" ? [[index, index - 1] as const] : [],
  );
}

function nearestDefined(column: ArrayLike<Cell> | undefined, index: number): number {
  if (!column || typeof column[index] === "number") return index;
  for (let away = 1; away < column.length; away += 1) {
    if (typeof column[index - away] === "number") return index - away;
    if (typeof column[index + away] === "number") return index + away;
  }
  return index;
}

const ceilinged = (high: number | null, ceiling: number | null): number | null =>
  high === null || ceiling === null ? high : Math.min(high, ceiling);

function linearRange(low: number | null, high: number | null): [number, number] {
  if (low === null || high === null) return [0, 1];
  const size = Math.max(Math.abs(low), Math.abs(high));
  // What differs by rounding alone is drawn as the level line that it is.
  const span = high - low > size * 1e-9 ? high - low : size || 1;
  const floor = low - span * 0.06;
  return [low >= 0 && floor < 0 ? 0 : floor, high + span * 0.06];
}

function logRange(_: uPlot, low: number | null, high: number | null): [number, number] {
  if (low === null || high === null || !(low > 0)) return [0.1, 1];
  const factor = Math.max(1.02, (high / low) ** 0.06);
  return [low / factor, high * factor];
}

export function xTicks(axis: XAxis, from: number, to: number, most: number): number[] {
  if (axis === "time") return timeTicks(from, to, most);
  const ticks = linearTicks(from, to, most);
  return axis === "step" ? ticks.filter(Number.isInteger) : ticks;
}

export function xLabel(axis: XAxis, value: number, format: Format): string {
  if (axis === "time") return format.duration(value) ?? "";
  return axis === "step" ? (format.count(value) ?? "") : (format.value(value) ?? "");
}

/** All ticks of an axis with as many digits as tell them apart. */
function yLabel(tick: number, ticks: readonly number[], format: Format): string {
  const size = Math.max(...ticks.map(Math.abs));
  if (size >= 1e9) return format.power(tick) ?? "";
  if (size >= 1e6 || (size < 1e-2 && size > 0) || tick === 0) return format.value(tick) ?? "";
  const steps = ticks.slice(1).map((each, index) => Math.abs(each - (ticks[index] ?? 0)));
  const digits = Math.min(6, Math.max(0, Math.ceil(-Math.log10(Math.min(...steps, size) * 1.0001))));
  return tick.toLocaleString(format.locale, { maximumFractionDigits: digits, useGrouping: "always" });
}

function axisSize(u: uPlot, values: string[] | null, font: string): number {
  if (!values || values.length === 0) return 40;
  u.ctx.save();
  u.ctx.font = font;
  const widest = Math.max(...values.map((value) => u.ctx.measureText(value).width));
  u.ctx.restore();
  return Math.ceil(Math.max(24, widest) + 12);
}

/** A colour of the theme (`#rrggbb` or `rgb()`) made see-through. */
export function fade(colour: string, alpha: number): string {
  const hex = /^#([0-9a-f]{6})$/i.exec(colour)?.[1];
  if (!hex) return alpha >= 1 ? colour : `color-mix(in srgb, ${colour} ${alpha * 100}%, transparent)`;
  const part = (at: number) => Number.parseInt(hex.slice(at, at + 2), 16);
  return `rgba(${part(0)}, ${part(2)}, ${part(4)}, ${alpha})`;
}
