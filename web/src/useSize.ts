/** How wide an element is, as it changes. */
import { useLayoutEffect, useState } from "react";

/** The inline size of an element's content in CSS pixels. */
export function useSize(element: HTMLElement | null): number {
  const [size, setSize] = useState(Number.POSITIVE_INFINITY);
  useLayoutEffect(() => {
    if (!element) return;
    setSize(element.clientWidth);
    const observer = new ResizeObserver(() => setSize(element.clientWidth));
    observer.observe(element);
    return () => observer.disconnect();
  }, [element]);
  return size;
}
