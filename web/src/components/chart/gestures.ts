/** What uPlot leaves to its users: panning with Shift and the mouse, zooming with Ctrl and the wheel or two fingers. */
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
  over.addEventListener("pointerdown", onDown, { signal });
  over.addEventListener("pointermove", onMove, { signal });
  over.addEventListener("pointerup", onUp, { signal });
  over.addEventListener("pointercancel", onUp, { signal });
  over.parentElement?.addEventListener("mousedown", onMouseDown, { signal, capture: true });
  return () => abort.abort();
}
