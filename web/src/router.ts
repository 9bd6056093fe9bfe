/** The address as state: a small router over the history API. Pages are paths; what they show stands in the query. */
import { type MouseEvent, useSyncExternalStore } from "react";

export interface Address {
  readonly path: string;
  readonly query: URLSearchParams;
}

const listeners = new Set<() => void>();
let current: { readonly href: string; readonly address: Address } | undefined;

function notify(): void {
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  if (listeners.size === 0) window.addEventListener("popstate", notify);
  listeners.add(listener);
  return () => {
    listeners.delete(listener);
    if (listeners.size === 0) window.removeEventListener("popstate", notify);
  };
}

/** Where the page is; the same object as long as it stays there. */
export function currentAddress(): Address {
  const { href, pathname, search } = window.location;
  if (current?.href !== href) current = { href, address: { path: pathname, query: new URLSearchParams(search) } };
  return current.address;
}

export const useAddress = (): Address => useSyncExternalStore(subscribe, currentAddress);

/** The text of an address, its query left out when empty. */
export function href(path: string, query?: URLSearchParams): string {
  const text = query?.toString();
  return text ? `${path}?${text}` : path;
}

/** Goes to an address; `replace` leaves no entry in the history, for what changes with each key press. */
export function navigate(to: string, { replace = false }: { readonly replace?: boolean } = {}): void {
  if (to === window.location.pathname + window.location.search) return;
  window.history[replace ? "replaceState" : "pushState"](null, "", to);
  notify();
}

/** Changes the query of the present page. */
export function changeQuery(change: (query: URLSearchParams) => void, options?: { readonly replace?: boolean }): void {
  const { path, query } = currentAddress();
  const changed = new URLSearchParams(query);
  change(changed);
  navigate(href(path, changed), options);
}

/** For `onClick` of an `<a href>`: goes there within the page, unless the click asks for a new tab or window. */
export function followLink(event: MouseEvent<HTMLAnchorElement>): void {
  if (event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  event.preventDefault();
  const { pathname, search } = event.currentTarget;
  navigate(pathname + search);
}
