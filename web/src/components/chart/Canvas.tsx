/** The drawn part of a chart: keeps one uPlot as long as its shape stays, feeds it, and turns mouse and keys into settings. */
import { type KeyboardEvent, useEffect, useId, useLayoutEffect, useRef } from "react";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { type Translate, useI18n } from "../../i18n";
import { type ChartSettings, panned, zoomed } from "../../model/chartSettings";
import type { Range } from "../../model/curves";
import { hit } from "../../model/digest";
import type { ConditionSpan } from "../../model/marks";
import { useDark } from "../../theme";
import type { ChartCurve } from "./Chart";
import { attachGestures } from "./gestures";
import { type Painting, paintAbove, paintBelow } from "./paint";
import { plotOptions, readInk } from "./plot";
import { describe } from "./reading";
import type { ChartModel } from "./useChartModel";
import type { ChangeSettings } from "./useChartSettings";

/** Where the cursor is. */
export interface Pointer {
  readonly x: number;
  /** Pixels from the chart's left edge. */
  readonly left: number;
  /** Width of the chart in pixels. */
  readonly width: number;
  /** Whether it is in this chart, and not in another of its group. */
  readonly isHere: boolean;
}

interface Props {
  readonly title: string;
  readonly model: ChartModel;
  readonly curves: readonly ChartCurve[];
  readonly colours: readonly number[];
  readonly settings: ChartSettings;
  readonly onChange: ChangeSettings;
  readonly height: number;
  readonly syncKey: string | undefined;
  readonly pointer: Pointer | null;
  readonly onPointer: (pointer: Pointer | null) => void;
}

export function Canvas(props: Props) {
  const { title, model, curves, colours, settings, height, syncKey, pointer } = props;
  const { t, format } = useI18n();
  const dark = useDark();
  const help = useId();
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const live = useRef({ props, painting: null as Painting | null, isHovered: false, said: "" });
  const spoken = useRef<HTMLParagraphElement>(null);
  live.current.props = props;
  const { axis } = settings;
  const { log } = model;
  const shape = JSON.stringify([model.data.lines, colours]);

  // biome-ignore lint/correctness/useExhaustiveDependencies: `shape` stands for what is read; data comes below
  useLayoutEffect(() => {
    const element = box.current;
    if (!element) return;
    const ink = readInk(element, colours, dark);
    const state = live.current;
    const painting = (): Painting => ({
      marks: state.props.model.marks,
      runs: state.props.model.runs,
      gaps: state.props.model.gaps,
      ink,
      texts: {
        condition: (span) => conditionLabel(span, state.props.curves, t),
        attempt: (ordinal) => t("chart.attempt", { ordinal: String(ordinal) }),
      },
    });
    const change = (range: Range | null) => state.props.onChange({ range: kept(range, state.props.model.whole) });
    const created = new uPlot(
      plotOptions({
        width: element.clientWidth,
        height,
        lines: model.data.lines,
        colours,
        ink,
        axis,
        log,
        format,
        syncKey,
        range: () => state.props.settings.range ?? padded(state.props.model.whole),
        ceiling: () => state.props.model.ceiling,
        onRange: change,
        hooks: {
          drawClear: [(u) => paintBelow(u, painting())],
          draw: [(u) => paintAbove(u, painting())],
          setCursor: [(u) => state.props.onPointer(pointerOf(u, state.isHovered))],
        },
      }),
      data(model),
      element,
    );
    plot.current = created;
    const detach = attachGestures(created, {
      range: () => state.props.settings.range ?? state.props.model.whole,
      whole: () => state.props.model.whole,
      onRange: change,
      onHover: (isHovered) => {
        state.isHovered = isHovered;
      },
    });
    const observer = new ResizeObserver(() => {
      if (element.clientWidth > 0) created.setSize({ width: element.clientWidth, height });
    });
    observer.observe(element);
    return () => {
      observer.disconnect();
      detach();
      created.destroy();
      plot.current = null;
    };
  }, [shape, axis, log, format, t, dark, height, syncKey]);

  useEffect(() => {
    plot.current?.setData(data(model), true);
  }, [model]);

  const [from, to] = settings.range ?? [null, null];
  // biome-ignore lint/correctness/useExhaustiveDependencies: the scale reads the range itself when data is set
  useEffect(() => {
    const u = plot.current;
    u?.setData(u.data, true);
  }, [from, to]);

  const say = (x: number) => {
    if (spoken.current) spoken.current.textContent = describe(curves, model, axis, x, t, format);
  };

  const onKeyDown = (event: KeyboardEvent) => {
    const { whole } = model;
    if (!whole || event.ctrlKey || event.metaKey || event.altKey) return;
    const shown = settings.range ?? whole;
    const at = pointer ? (pointer.x - shown[0]) / (shown[1] - shown[0]) : 0.5;
    const go = (x: number | undefined) => {
      const u = plot.current;
      if (x === undefined || !u) return;
      live.current.isHovered = true;
      u.setCursor({ left: u.valToPos(x, "x"), top: u.over.clientHeight / 2 });
      say(x);
    };
    const act = ACTIONS[event.key];
    if (!act) return;
    const handled = act({ model, shown, whole, pointer, go, at, isShift: event.shiftKey, change: props.onChange });
    if (handled === false) return;
    event.preventDefault();
    event.stopPropagation();
  };

  const onBlur = () => {
    live.current.isHovered = false;
    plot.current?.setCursor({ left: -10, top: -10 });
  };

  return (
    <>
      {/* biome-ignore lint/a11y/useSemanticElements: nothing in HTML is a curve */}
      <div
        className="hw-chart__canvas"
        role="group"
        aria-roledescription={t("chart.role")}
        aria-label={title}
        aria-describedby={help}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: its points are read with the arrow keys
        tabIndex={0}
        ref={box}
        onKeyDown={onKeyDown}
        onBlur={onBlur}
      />
      <p id={help} className="pf-v6-screen-reader">
        {t("chart.keys")}
      </p>
      <p ref={spoken} role="status" className="pf-v6-screen-reader" />
    </>
  );
}

interface Keys {
  readonly model: ChartModel;
  readonly shown: Range;
  readonly whole: Range;
  readonly pointer: Pointer | null;
  readonly at: number;
  readonly isShift: boolean;
  readonly go: (x: number | undefined) => void;
  readonly change: ChangeSettings;
}

const arrow = (by: 1 | -1) => (keys: Keys) => {
  if (keys.isShift) {
    keys.change({ range: kept(panned(keys.shown, keys.whole, by * 0.25), keys.whole) });
    return;
  }
  const own = keys.model.stretches.flat();
  const found = hit(own, keys.pointer?.x ?? (by > 0 ? keys.shown[0] : keys.shown[1]), Number.POSITIVE_INFINITY);
  if (!found) return;
  keys.go(keys.pointer ? neighbour(own, found.stretch.x[found.index] ?? 0, by) : found.stretch.x[found.index]);
};

/** The next x of any stretch in a direction. */
function neighbour(stretches: readonly { readonly x: readonly number[] }[], x: number, by: 1 | -1): number {
  const next = stretches.flatMap(
    (each) => (by > 0 ? each.x.find((at) => at > x) : each.x.findLast((at) => at < x)) ?? [],
  );
  return next.length === 0 ? x : by > 0 ? Math.min(...next) : Math.max(...next);
}

const ACTIONS: Readonly<Record<string, (keys: Keys) => unknown>> = {
  ArrowLeft: arrow(-1),
  ArrowRight: arrow(1),
  Home: (keys) => keys.go(keys.shown[0]),
  End: (keys) =>
    keys.go(
      keys.model.stretches
        .flat()
        .findLast((each) => (each.x.at(-1) ?? 0) <= keys.shown[1])
        ?.x.at(-1),
    ),
  "+": (keys) => keys.change({ range: zoomed(keys.shown, keys.whole, 0.5, keys.at) }),
  "=": (keys) => keys.change({ range: zoomed(keys.shown, keys.whole, 0.5, keys.at) }),
  "-": (keys) => keys.change({ range: zoomed(keys.shown, keys.whole, 2, keys.at) }),
  "0": (keys) => keys.change({ range: null }),
  // Escape is the panel's too: it is the chart's only while there is something to undo.
  Escape: (keys) => {
    if (keys.shown === keys.whole) return false;
    keys.change({ range: null });
    return true;
  },
};

const data = (model: ChartModel): uPlot.AlignedData => [model.data.x, ...model.data.columns] as uPlot.AlignedData;

/** What a condition is called on a chart: with its metric where there are several. */
function conditionLabel({ type, metric }: ConditionSpan, curves: readonly ChartCurve[], t: Translate): string {
  const name = t(`verdict.${type}`);
  const others = new Set(curves.map((curve) => curve.metric));
  return metric !== null && others.size > 1 ? t("chart.conditionOf", { name, metric }) : name;
}

/** A range that shows everything is none. */
function kept(range: Range | null, whole: Range | null): Range | null {
  if (!range || !whole) return null;
  return range[0] <= whole[0] && range[1] >= whole[1] ? null : range;
}

/** A whole that can be drawn: one point alone gets room on both sides. */
function padded(whole: Range | null): Range | null {
  if (!whole || whole[1] > whole[0]) return whole;
  const room = Math.max(1, Math.abs(whole[0]) * 0.05);
  return [whole[0] - room, whole[1] + room];
}

function pointerOf(u: uPlot, isHere: boolean): Pointer | null {
  const left = u.cursor.left ?? -1;
  if (left < 0) return null;
  const offset = u.bbox.left / devicePixelRatio;
  return { x: u.posToVal(left, "x"), left: left + offset, width: u.width, isHere };
}
