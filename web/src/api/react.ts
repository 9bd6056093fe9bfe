/** The store and the clock as React hooks. */
import { createContext, useContext, useSyncExternalStore } from "react";
import type { Connection } from "./feed";
import type { Fleet, JobStore, Seen } from "./store";

export const StoreContext = createContext<JobStore | null>(null);

export function useStore(): JobStore {
  const store = useContext(StoreContext);
  if (!store) throw new Error("no JobStore above this component");
  return store;
}

/** All jobs; a new object whenever anything changed. */
export function useFleet(): Fleet {
  const store = useStore();
  return useSyncExternalStore(store.subscribe, store.fleet);
}

/** One job by its key (`keyText`); undefined when there is none. Renders only when that job changed. */
export function useJob(key: string): Seen | undefined {
  const store = useStore();
  return useSyncExternalStore(store.subscribe, () => store.fleet().byKey.get(key));
}

export function useConnection(): Connection {
  const store = useStore();
  return useSyncExternalStore(store.subscribeConnection, store.connection);
}

const ticks = new Set<() => void>();
let timer: ReturnType<typeof setInterval> | undefined;

function subscribeTicks(listener: () => void): () => void {
  ticks.add(listener);
  timer ??= setInterval(() => {
    if (!document.hidden) for (const tick of ticks) tick();
  }, 1000);
  return () => {
    ticks.delete(listener);
    if (ticks.size === 0) {
      clearInterval(timer);
      timer = undefined;
    }
  };
}

/** The server's clock in whole Unix seconds: ages and remaining times count on it while nothing new comes. */
export function useNow(): number {
  const store = useStore();
  return useSyncExternalStore(subscribeTicks, () => Math.floor(store.now()));
}

/** What a function of the server's clock says now; renders only when that changes. For values compared by identity. */
export function useAtNow<T extends string | number | boolean | null>(of: (now: number) => T): T {
  const store = useStore();
  return useSyncExternalStore(subscribeTicks, () => of(Math.floor(store.now())));
}

export const RetryContext = createContext<() => void>(() => undefined);

/** How to have the worker try the server again at once. */
export const useRetry = (): (() => void) => useContext(RetryContext);
