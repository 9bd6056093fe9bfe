/** How wide an element is, as it changes. */
import { type RefObject, useLayoutEffect, useState } from "react";

/** The inline size of an element's content in CSS pixels. */
export function useSize(ref: RefObject<HTMLElement | null>): number {
  const [size, setSize] = useState(Number.POSITIVE_INFINITY);
  useLayoutEffect(() => {
    const element = ref.current;
    if (!element) return;
    setSize(element.clientWidth);
    const observer = new ResizeObserver(() => setSize(element.clientWidth));
    observer.observe(element);
    return () => observer.disconnect();
  }, [ref]);
  return size;
}
