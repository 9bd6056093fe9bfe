/**
 * Whether the server has another build of the dashboard than the one that is open: parts that are loaded when they are first
 * needed may be gone then. The names of built files hold a hash, so the page's own script tells builds apart.
 */
import { useSyncExternalStore } from "react";
import type { JobStore } from "./store";

let outdated = false;
const listeners = new Set<() => void>();

/** The script in a page's text that starts the dashboard; null when it cannot be told. */
export function entryOf(page: string): string | null {
  return /<script[^>]*\ssrc="([^"]+)"/.exec(page)?.[1] ?? null;
}

/** Asks the server for the page as it would be opened now. */
export async function checkVersion(): Promise<void> {
  const own = document.querySelector<HTMLScriptElement>("script[type=module][src]")?.getAttribute("src") ?? null;
  try {
    const answer = await fetch("/", { cache: "no-store", headers: { accept: "text/html" } });
    const entry = answer.ok ? entryOf(await answer.text()) : null;
    if (own === null || entry === null || entry === own) return;
  } catch {
    return; // the server is away: the stream tells, and it is asked again when it is back
  }
  outdated = true;
  for (const listener of listeners) listener();
}

/** Asks whenever the server has come back: it may have been updated meanwhile. */
export function watchVersion(store: JobStore): void {
  let wasAway = false;
  store.subscribeConnection(() => {
    const { kind } = store.connection();
    if (kind === "live" && wasAway) void checkVersion();
    if (kind !== "connecting") wasAway = kind === "away";
  });
}

export function useIsOutdated(): boolean {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => outdated,
  );
}
