/** Draws what is marked on a chart: condition spans below the lines, attempts, checkpoints and gaps above them. */
import type uPlot from "uplot";
import type { Severity } from "../../api/types";
import type { ConditionSpan, GapMark, Marks } from "../../model/marks";
import { fade, type Ink } from "./plot";

/** Texts that are drawn, in the viewer's language. */
export interface MarkTexts {
  readonly condition: (span: ConditionSpan) => string;
  readonly attempt: (ordinal: number) => string;
}

export interface Painting {
  readonly marks: Marks;
  /** By curve, where several jobs are shown. */
  readonly runs: readonly Marks[];
  /** By curve. */
  readonly gaps: readonly (readonly GapMark[])[];
  readonly texts: MarkTexts;
  readonly ink: Ink;
}

const severityInk = (severity: Severity, ink: Ink): string => ink[severity];

/** Shades conditions. */
export function paintBelow(u: uPlot, { marks, ink }: Painting): void {
  clip(u, (ctx, scale) => {
    for (const span of marks.conditions) {
      const colour = severityInk(span.severity, ink);
      const left = u.valToPos(span.from, "x", true);
      const width = Math.max(3 * scale, u.valToPos(span.to, "x", true) - left);
      ctx.fillStyle = fade(colour, 0.09);
      ctx.fillRect(left, u.bbox.top, width, u.bbox.height);
      ctx.fillStyle = fade(colour, 0.9);
      ctx.fillRect(left, u.bbox.top, width, 2 * scale);
      if (span.standing) continue;
      ctx.fillStyle = fade(colour, 0.35);
      ctx.fillRect(left + width - scale, u.bbox.top, scale, u.bbox.height);
    }
  });
}

/** Writes the names of conditions where they begin, as far as there is room. */
function paintNames(u: uPlot, ctx: CanvasRenderingContext2D, scale: number, { marks, texts, ink }: Painting): void {
  const right = u.bbox.left + u.bbox.width;
  let labelled = Number.NEGATIVE_INFINITY;
  ctx.font = `600 ${10 * scale}px ${ink.font}`;
  ctx.textBaseline = "top";
  for (const span of [...marks.conditions].sort((a, b) => a.from - b.from)) {
    const text = texts.condition(span);
    const width = ctx.measureText(text).width;
    const start = Math.max(u.valToPos(span.from, "x", true), u.bbox.left);
    const left = Math.min(start + 4 * scale, right - width - 4 * scale);
    if (left < labelled + 6 * scale || start > right || u.valToPos(span.to, "x", true) < u.bbox.left) continue;
    ctx.fillStyle = fade(ink.surface, 0.8);
    ctx.fillRect(left - 2 * scale, u.bbox.top + 3 * scale, width + 4 * scale, 13 * scale);
    ctx.fillStyle = severityInk(span.severity, ink);
    ctx.fillText(text, left, u.bbox.top + 5 * scale);
    labelled = left + width;
  }
}

/** Draws attempts as upright lines, checkpoints as diamonds on the x axis, and gaps along the lower edge. */
export function paintAbove(u: uPlot, painting: Painting): void {
  const { marks, gaps, texts, ink } = painting;
  clip(u, (ctx, scale) => {
    paintNames(u, ctx, scale, painting);
    const bottom = u.bbox.top + u.bbox.height;
    const right = u.bbox.left + u.bbox.width;
    ctx.font = `${10 * scale}px ${ink.font}`;
    ctx.textBaseline = "top";
    // Beneath the names of conditions, where there are any.
    const top = u.bbox.top + (marks.conditions.length > 0 ? 19 : 3) * scale;
    for (const { ordinal, x } of marks.attempts) {
      const at = Math.round(u.valToPos(x, "x", true)) + 0.5;
      if (at < u.bbox.left || at > right) continue;
      ctx.strokeStyle = ink.subtle;
      ctx.lineWidth = scale;
      ctx.setLineDash([4 * scale, 3 * scale]);
      line(ctx, at, u.bbox.top, at, bottom);
      ctx.setLineDash([]);
      const text = texts.attempt(ordinal);
      const width = ctx.measureText(text).width;
      const left = Math.min(at + 4 * scale, right - width);
      ctx.fillStyle = fade(ink.surface, 0.8);
      ctx.fillRect(left - 2 * scale, top, width + 4 * scale, 13 * scale);
      ctx.fillStyle = ink.subtle;
      ctx.fillText(text, left, top + 2 * scale);
    }
    for (const { x } of marks.checkpoints) diamond(ctx, u.valToPos(x, "x", true), bottom, 4 * scale, ink);
    paintRuns(u, ctx, scale, painting);
    gaps.forEach((own, curve) => {
      for (const gap of own) paintGap(u, ctx, scale, gap, curve, ink);
    });
  });
}

/** Gives each run with conditions a lane at the upper edge in its own colour; its attempts begin at ticks below. */
function paintRuns(u: uPlot, ctx: CanvasRenderingContext2D, scale: number, { runs, texts, ink }: Painting): void {
  const bottom = u.bbox.top + u.bbox.height;
  let lane = 0;
  ctx.font = `600 ${9 * scale}px ${ink.font}`;
  ctx.textBaseline = "middle";
  runs.forEach(({ conditions, attempts }, curve) => {
    const colour = ink.curves[curve] ?? ink.text;
    ctx.strokeStyle = colour;
    ctx.lineWidth = 1.5 * scale;
    for (const { x } of attempts) {
      const at = u.valToPos(x, "x", true);
      line(ctx, at, bottom - 10 * scale, at, bottom);
    }
    // What set in after the curve's last point has no place on it.
    const placed = conditions.filter((span) => span.to > span.from);
    if (placed.length === 0 || lane >= MOST_LANES) return;
    const top = u.bbox.top + (3 + LANE * lane) * scale;
    lane += 1;
    for (const span of placed) {
      const left = u.valToPos(span.from, "x", true);
      const width = Math.max(4 * scale, u.valToPos(span.to, "x", true) - left);
      ctx.fillStyle = colour;
      ctx.fillRect(left, top, width, 3 * scale);
      const text = texts.condition(span);
      const room = ctx.measureText(text).width + 6 * scale;
      const start = Math.max(left, u.bbox.left);
      if (left + width - start < room) continue;
      ctx.fillStyle = fade(ink.surface, 0.85);
      ctx.fillRect(start, top - 1.5 * scale, room, 9 * scale);
      ctx.fillStyle = colour;
      ctx.fillRect(start, top, 3 * scale, 3 * scale);
      ctx.fillStyle = severityInk(span.severity, ink);
      ctx.fillText(text, start + 5 * scale, top + 2.5 * scale);
    }
  });
}

const LANE = 10;
/** Lanes that leave the curves room. */
const MOST_LANES = 5;

function paintGap(u: uPlot, ctx: CanvasRenderingContext2D, scale: number, gap: GapMark, curve: number, ink: Ink): void {
  const left = u.valToPos(gap.from, "x", true);
  const width = Math.max(6 * scale, u.valToPos(gap.to, "x", true) - left);
  const top = u.bbox.top + u.bbox.height - 14 * scale - curve * 6 * scale;
  ctx.strokeStyle = ink.critical;
  ctx.lineWidth = 1.5 * scale;
  if (!gap.whole) {
    cross(ctx, left, top, 2.5 * scale);
    return;
  }
  cross(ctx, left, top, 3 * scale);
  if (width <= 12 * scale) return;
  ctx.setLineDash([2 * scale, 3 * scale]);
  line(ctx, left + 5 * scale, top, left + width, top);
  ctx.setLineDash([]);
  ctx.font = `600 ${10 * scale}px ${ink.font}`;
  ctx.textBaseline = "bottom";
  ctx.fillStyle = ink.critical;
  if (width > 34 * scale) ctx.fillText("NaN", left + 7 * scale, top - 2 * scale);
}

/** Draws within the plot's own area, in device pixels; `scale` is the number of them in one of CSS's. */
function clip(u: uPlot, draw: (ctx: CanvasRenderingContext2D, scale: number) => void): void {
  const { ctx, bbox } = u;
  ctx.save();
  ctx.beginPath();
  const margin = 6 * devicePixelRatio;
  ctx.rect(bbox.left - margin, bbox.top, bbox.width + 2 * margin, bbox.height + margin);
  ctx.clip();
  ctx.textAlign = "left";
  draw(ctx, devicePixelRatio);
  ctx.restore();
}

function line(ctx: CanvasRenderingContext2D, x1: number, y1: number, x2: number, y2: number): void {
  ctx.beginPath();
  ctx.moveTo(x1, y1);
  ctx.lineTo(x2, y2);
  ctx.stroke();
}

function cross(ctx: CanvasRenderingContext2D, x: number, y: number, size: number): void {
  line(ctx, x - size, y - size, x + size, y + size);
  line(ctx, x - size, y + size, x + size, y - size);
}

function diamond(ctx: CanvasRenderingContext2D, x: number, y: number, size: number, ink: Ink): void {
  ctx.beginPath();
  ctx.moveTo(x, y - size);
  ctx.lineTo(x + size, y);
  ctx.lineTo(x, y + size);
  ctx.lineTo(x - size, y);
  ctx.closePath();
  ctx.fillStyle = ink.surface;
  ctx.fill();
  ctx.strokeStyle = ink.text;
  ctx.lineWidth = 1.25 * devicePixelRatio;
  ctx.stroke();
}
