/** Light, dark, or as the system is: a class on the root element, kept in this browser. */
import { useLayoutEffect, useSyncExternalStore } from "react";

export const THEMES = ["auto", "light", "dark"] as const;
export type Theme = (typeof THEMES)[number];

const STORED = "headway.theme";
const DARK_CLASS = "pf-v6-theme-dark";
const listeners = new Set<() => void>();
const system = () => window.matchMedia("(prefers-color-scheme: dark)");

export function theme(): Theme {
  const stored = localStorage.getItem(STORED);
  return THEMES.find((each) => each === stored) ?? "auto";
}

export const isDark = (): boolean => (theme() === "auto" ? system().matches : theme() === "dark");

export function setTheme(wanted: Theme): void {
  localStorage.setItem(STORED, wanted);
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  const query = system();
  query.addEventListener("change", listener);
  listeners.add(listener);
  return () => {
    query.removeEventListener("change", listener);
    listeners.delete(listener);
  };
}

export const useTheme = (): Theme => useSyncExternalStore(subscribe, theme);

/** Whether the page is dark now; for what draws on a canvas and must be drawn again. */
export const useDark = (): boolean => useSyncExternalStore(subscribe, isDark);

/** Sets the class before anything below paints, so that canvases read the right colours. */
export function applyTheme(): void {
  document.documentElement.classList.toggle(DARK_CLASS, isDark());
}

export function useAppliedTheme(): void {
  const dark = useDark();
  // biome-ignore lint/correctness/useExhaustiveDependencies: a change of `dark` is what there is to apply
  useLayoutEffect(applyTheme, [dark]);
}
