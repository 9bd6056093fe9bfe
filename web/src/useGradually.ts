/** Draws much that comes into sight at once bit by bit, so that no frame has too much to do. */
import { useEffect, useReducer, useRef } from "react";

/** Those of the keys that are to be drawn now: the ones drawn before and `most` others, which become more with each frame. */
export function useGradually(keys: readonly string[], most: number): ReadonlySet<string> {
  const before = useRef<ReadonlySet<string>>(new Set());
  const [, goOn] = useReducer((count: number) => count + 1, 0);
  const drawn = new Set<string>();
  let fresh = 0;
  for (const key of keys) {
    if (before.current.has(key)) drawn.add(key);
    else if (fresh < most) {
      drawn.add(key);
      fresh += 1;
    }
  }
  useEffect(() => {
    before.current = drawn;
    if (drawn.size === keys.length) return;
    const frame = requestAnimationFrame(goOn);
    return () => cancelAnimationFrame(frame);
  });
  return drawn;
}
