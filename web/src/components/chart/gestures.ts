/**
 * What uPlot leaves to its users: panning with Shift and the mouse, zooming with Ctrl and the wheel; on a touch screen two
 * fingers zoom, and one pans what is zoomed and else reads. Up and down, the page scrolls as anywhere.
 */
import type uPlot from "uplot";
import { panned, zoomed } from "../../model/chartSettings";
import type { Range } from "../../model/curves";

interface Gestures {
  readonly range: () => Range | null;
  readonly whole: () => Range | null;
  readonly onRange: (range: Range | null) => void;
  readonly onHover: (isHovered: boolean) => void;
}

/** Listens on a plot; returns how to stop. */
export function attachGestures(u: uPlot, { range, whole, onRange, onHover }: Gestures): () => void {
  const { over } = u;
  const abort = new AbortController();
  const { signal } = abort;
  let held: { readonly x: number; readonly range: Range } | null = null;

  const onWheel = (event: WheelEvent) => {
    const shown = range();
    const all = whole();
    if (!shown || !all) return;
    const width = over.clientWidth;
    if (event.ctrlKey || event.metaKey) {
      event.preventDefault();
      const around = (event.clientX - over.getBoundingClientRect().left) / width;
      onRange(zoomed(shown, all, Math.exp(Math.max(-1, Math.min(1, event.deltaY / 300))), around));
    } else if (Math.abs(event.deltaX) > Math.abs(event.deltaY) && shown !== all) {
      event.preventDefault();
      onRange(panned(shown, all, event.deltaX / width));
    }
  };

  const fingers = new Map<number, number>();
  let dragged: { readonly x: number; readonly range: Range; readonly isZoomed: boolean } | null = null;
  let pinched: { readonly gap: number; readonly middle: number; readonly range: Range } | null = null;
  const spread = (): readonly [gap: number, middle: number] | null => {
    const [one, other] = fingers.values();
    return one === undefined || other === undefined ? null : [Math.max(24, Math.abs(one - other)), (one + other) / 2];
  };
  const onTouch = (event: PointerEvent) => {
    if (event.pointerType !== "touch") return;
    fingers.set(event.pointerId, event.clientX - over.getBoundingClientRect().left);
    const shown = range();
    const now = spread();
    const x = fingers.get(event.pointerId) ?? 0;
    dragged = shown && fingers.size === 1 ? { x, range: shown, isZoomed: shown !== whole() } : null;
    pinched = shown && now && fingers.size === 2 ? { gap: now[0], middle: now[1], range: shown } : null;
  };
  const onTouchMove = (event: PointerEvent) => {
    if (!fingers.has(event.pointerId)) return;
    fingers.set(event.pointerId, event.clientX - over.getBoundingClientRect().left);
    const all = whole();
    const now = spread();
    const width = over.clientWidth;
    if (dragged && all) {
      const x = fingers.get(event.pointerId) ?? 0;
      if (dragged.isZoomed) onRange(panned(dragged.range, all, (dragged.x - x) / width));
      else {
        onHover(true);
        u.setCursor({ left: Math.min(Math.max(0, x), width), top: over.clientHeight / 2 });
      }
      return;
    }
    if (!pinched || !now || !all) return;
    const moved = panned(pinched.range, all, (pinched.middle - now[1]) / width);
    onRange(zoomed(moved, all, pinched.gap / now[0], now[1] / width));
  };
  const onTouchEnd = (event: PointerEvent) => {
    if (!fingers.delete(event.pointerId)) return;
    dragged = pinched = null;
    onHover(false);
    u.setCursor({ left: -10, top: -10 });
  };

  const onDown = (event: PointerEvent) => {
    const shown = range();
    if (event.button !== 0 || !event.shiftKey || !shown) return;
    held = { x: event.clientX, range: shown };
    over.setPointerCapture(event.pointerId);
  };
  const onMove = (event: PointerEvent) => {
    const all = whole();
    if (held && all) onRange(panned(held.range, all, (held.x - event.clientX) / over.clientWidth));
  };
  const onUp = () => {
    held = null;
  };
  // uPlot would begin to select where Shift means to pan.
  const onMouseDown = (event: MouseEvent) => {
    if (event.shiftKey) event.stopImmediatePropagation();
  };

  over.addEventListener("mouseenter", () => onHover(true), { signal, capture: true });
  over.addEventListener("mouseleave", () => onHover(false), { signal, capture: true });
  over.addEventListener("wheel", onWheel, { signal, passive: false });
  over.addEventListener("pointerdown", onTouch, { signal });
  over.addEventListener("pointermove", onTouchMove, { signal });
  over.addEventListener("pointerup", onTouchEnd, { signal });
  over.addEventListener("pointercancel", onTouchEnd, { signal });
  over.addEventListener("pointerdown", onDown, { signal });
  over.addEventListener("pointermove", onMove, { signal });
  over.addEventListener("pointerup", onUp, { signal });
  over.addEventListener("pointercancel", onUp, { signal });
  over.parentElement?.addEventListener("mousedown", onMouseDown, { signal, capture: true });
  return () => abort.abort();
}
