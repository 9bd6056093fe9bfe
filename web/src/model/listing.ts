/** Which jobs a list shows and in what order: filters, sorting, and both as they stand in the URL. Pure. */
import type { Seen } from "../api/store";
import type { JobRow, State, Verdict } from "../api/types";
import { contactAt, costValue, metric, percentOf } from "./job";
import { hasEnded, STATES, VERDICTS, verdictRank } from "./verdict";

export const FILTERS = ["state", "verdict", "namespace", "framework", "owner", "tag"] as const;
export type Filter = (typeof FILTERS)[number];

export const COLUMNS = [
  "name",
  "namespace",
  "state",
  "verdict",
  "progress",
  "eta",
  "finish",
  "loss",
  "devices",
  "cost",
  "age",
  "updated",
  "framework",
  "owner",
  "tags",
] as const;
export type Column = (typeof COLUMNS)[number];

export const DEFAULT_COLUMNS: readonly Column[] = COLUMNS.slice(0, 12);

export const SORTS = [
  "name",
  "namespace",
  "state",
  "verdict",
  "progress",
  "eta",
  "finish",
  "loss",
  "devices",
  "cost",
  "age",
  "updated",
] as const;
export type SortBy = (typeof SORTS)[number];

export interface Listing {
  readonly filters: Readonly<Record<Filter, readonly string[]>>;
  readonly text: string;
  readonly sort: SortBy;
  readonly descending: boolean;
  readonly columns: readonly Column[];
}

/** Newest first, as the command line has it. */
export const DEFAULT_LISTING: Listing = {
  filters: { state: [], verdict: [], namespace: [], framework: [], owner: [], tag: [] },
  text: "",
  sort: "age",
  descending: false,
  columns: DEFAULT_COLUMNS,
};

const isOneOf = <T extends string>(words: readonly T[], word: string): word is T => words.includes(word as T);

/** Reads a list's settings from a query; what cannot be read is left at its default. */
export function readListing(query: URLSearchParams): Listing {
  const sort = query.get("sort") ?? "";
  const by = sort.replace(/^-/, "");
  const columns = (query.get("columns") ?? "").split(",").filter((word) => isOneOf(COLUMNS, word));
  const filters = Object.fromEntries(
    FILTERS.map((name) => {
      const values = [...new Set(query.getAll(name))].filter((value) => value !== "");
      if (name === "state") return [name, values.filter((value) => isOneOf<State>(STATES, value))];
      if (name === "verdict") return [name, values.filter((value) => isOneOf<Verdict>(VERDICTS, value))];
      return [name, values];
    }),
  ) as unknown as Listing["filters"];
  return {
    filters,
    text: query.get("text") ?? "",
    sort: isOneOf(SORTS, by) ? by : DEFAULT_LISTING.sort,
    descending: isOneOf(SORTS, by) ? sort.startsWith("-") : DEFAULT_LISTING.descending,
    columns: columns.length > 0 ? withName(columns as Column[]) : DEFAULT_COLUMNS,
  };
}

/** Writes a list's settings into a query, leaving out defaults; other parameters stay. */
export function writeListing(listing: Listing, query: URLSearchParams): URLSearchParams {
  const written = new URLSearchParams(query);
  for (const name of FILTERS) {
    written.delete(name);
    for (const value of listing.filters[name]) written.append(name, value);
  }
  const set = (name: string, value: string, usual: string) =>
    value === usual ? written.delete(name) : written.set(name, value);
  set("text", listing.text, "");
  const sortText = (each: Listing) => `${each.descending ? "-" : ""}${each.sort}`;
  set("sort", sortText(listing), sortText(DEFAULT_LISTING));
  set("columns", listing.columns.join(","), DEFAULT_COLUMNS.join(","));
  return written;
}

/** Columns in the table's own order; the name is always there. */
export function withName(columns: readonly Column[]): Column[] {
  return COLUMNS.filter((column) => column === "name" || columns.includes(column));
}

/** The values of a filter that a job has. */
export function valuesOf(job: JobRow, filter: Filter): readonly string[] {
  switch (filter) {
    case "state":
      return [job.state];
    case "verdict":
      return job.verdict === null ? [] : [job.verdict];
    case "namespace":
      return [job.namespace];
    case "framework":
      return job.spec.framework ? [job.spec.framework] : [];
    case "owner":
      return job.spec.owner ? [job.spec.owner] : [];
    case "tag":
      return job.tags;
  }
}

export function matches(job: JobRow, listing: Listing): boolean {
  const text = listing.text.trim().toLocaleLowerCase();
  if (text) {
    const name = job.name.toLocaleLowerCase();
    const shown = (job.spec.displayName ?? "").toLocaleLowerCase();
    if (!name.includes(text) && !shown.includes(text)) return false;
  }
  return FILTERS.every((filter) => {
    const wanted = listing.filters[filter];
    return wanted.length === 0 || valuesOf(job, filter).some((value) => wanted.includes(value));
  });
}

export type Choices = Readonly<Record<Filter, readonly { readonly value: string; readonly count: number }[]>>;

/** How often each value of each filter occurs: most frequent first for open lists, in the given order for closed ones. */
export function choices(jobs: readonly Seen[]): Choices {
  const counts = new Map(FILTERS.map((filter) => [filter, new Map<string, number>()]));
  for (const { job } of jobs) {
    for (const [filter, known] of counts) {
      for (const value of valuesOf(job, filter)) known.set(value, (known.get(value) ?? 0) + 1);
    }
  }
  return Object.fromEntries(
    [...counts].map(([filter, known]) => [filter, inOrder(filter, known)]),
  ) as unknown as Choices;
}

function inOrder(filter: Filter, counts: ReadonlyMap<string, number>): Choices[Filter] {
  const order: readonly string[] | null = filter === "state" ? STATES : filter === "verdict" ? VERDICTS : null;
  const found = [...counts].map(([value, count]) => ({ value, count }));
  if (order) return found.sort((a, b) => order.indexOf(a.value) - order.indexOf(b.value));
  return found.sort((a, b) => b.count - a.count || compareText(a.value, b.value));
}

const collator = new Intl.Collator(undefined, { numeric: true });
const compareText = (a: string, b: string): number => collator.compare(a, b);

type Value = number | string | null;

const STATE_RANK = new Map(STATES.map((state, index) => [state, index]));

/** What a list is sorted by: nothing that time alone changes. Null (unknown) comes last either way. */
export function sortValue({ job, at }: Seen, by: SortBy): Value {
  switch (by) {
    case "name":
      return job.name;
    case "namespace":
      return job.namespace;
    case "state":
      return STATE_RANK.get(job.state) ?? STATES.length;
    case "verdict":
      return job.verdict === null ? null : verdictRank(job.verdict);
    case "progress":
      return percentOf(job);
    case "eta":
      return job.eta && !hasEnded(job.state) ? at + job.eta.seconds : null;
    case "finish":
      return hasEnded(job.state) ? job.endedAt : job.eta ? at + job.eta.seconds : null;
    case "loss": {
      // What is no number any more is worse than any that is.
      const loss = metric(job, "loss");
      return loss !== null && Number.isNaN(loss) ? Number.POSITIVE_INFINITY : loss;
    }
    case "devices":
      return (job.spec.nodes ?? 1) * (job.spec.devicesPerNode ?? 1);
    case "cost":
      return costValue(job.ledger.spent);
    case "age":
      return -job.createdAt;
    case "updated": {
      const contact = contactAt({ job, at });
      return contact === null ? null : -contact;
    }
  }
}

interface Placed {
  readonly seen: Seen;
  readonly value: Value;
}

/**
 * Keeps a list filtered and in order while its jobs change: what did not change is neither read nor moved anew, so that
 * thousands of rows of which some hundreds change cost little. Equal ones are ordered by key, so that rows do not jump.
 */
export class Arranger {
  #listing: Listing | undefined;
  #rows: readonly Placed[] = [];
  /** How each job as it was seen is placed; null: it is filtered out. */
  #known = new WeakMap<Seen, Placed | null>();

  arrange(jobs: ReadonlyMap<string, Seen>, listing: Listing): Seen[] {
    if (listing !== this.#listing) {
      this.#listing = listing;
      this.#known = new WeakMap();
      this.#rows = [];
    }
    const rows: Placed[] = [];
    const put = (seen: Seen | undefined) => {
      if (!seen) return;
      let placed = this.#known.get(seen);
      if (placed === undefined) {
        placed = matches(seen.job, listing) ? { seen, value: sortValue(seen, listing.sort) } : null;
        this.#known.set(seen, placed);
      }
      if (placed) rows.push(placed);
    };
    // The order of before is nearly the new one, which is what sorting is quickest with.
    const before = new Set<string>();
    for (const { seen } of this.#rows) {
      before.add(seen.key);
      put(jobs.get(seen.key));
    }
    for (const seen of jobs.values()) if (!before.has(seen.key)) put(seen);
    const sign = listing.descending ? -1 : 1;
    rows.sort((a, b) => compare(a, b, sign));
    this.#rows = rows;
    return rows.map((row) => row.seen);
  }
}

function compare(a: Placed, b: Placed, sign: 1 | -1): number {
  if (a.value === null || b.value === null) {
    if (a.value !== b.value) return a.value === null ? 1 : -1;
  } else if (typeof a.value === "string" || typeof b.value === "string") {
    const order = compareText(String(a.value), String(b.value));
    if (order !== 0) return sign * order;
  } else if (a.value !== b.value) return sign * (a.value - b.value);
  return a.seen.key < b.seen.key ? -1 : a.seen.key > b.seen.key ? 1 : 0;
}

/** The jobs of a list, filtered and in order, at once. */
export const arrange = (jobs: ReadonlyMap<string, Seen>, listing: Listing): Seen[] =>
  new Arranger().arrange(jobs, listing);
