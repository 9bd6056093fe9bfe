/** Keeps what has not changed the same object, so that what is made of it is not made anew. */
import { useRef } from "react";

/** The array of before as long as it has the same members. */
export function useSame<T>(array: readonly T[]): readonly T[] {
  return useSameBy(array, Object.is);
}

/** The array of before as long as `isSame` holds for every pair of members. */
export function useSameBy<T>(array: readonly T[], isSame: (one: T, other: T) => boolean): readonly T[] {
  const kept = useRef(array);
  const before = kept.current;
  if (before.length !== array.length || array.some((member, index) => !isSame(before[index] as T, member))) {
    kept.current = array;
  }
  return kept.current;
}
