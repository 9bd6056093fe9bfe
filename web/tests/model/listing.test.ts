import { describe, expect, it } from "vitest";
import type { Seen } from "../../src/api/store";
import {
  Arranger,
  arrange,
  choices,
  DEFAULT_LISTING,
  type Listing,
  readListing,
  SORTS,
  writeListing,
} from "../../src/model/listing";
import { makeSeen, NOW } from "../builders";

const listing = (changes: Partial<Listing>): Listing => ({ ...DEFAULT_LISTING, ...changes });
const filtered = (filters: Partial<Listing["filters"]>): Listing =>
  listing({ filters: { ...DEFAULT_LISTING.filters, ...filters } });

const jobs = [
  makeSeen({ name: "a", createdAt: NOW - 30, verdict: "Progressing", tags: ["fraud"], spec: { framework: "jax" } }),
  makeSeen({ name: "b", createdAt: NOW - 20, verdict: "Stalled", namespace: "team", spec: { owner: "mei" } }),
  makeSeen({ name: "c", createdAt: NOW - 10, verdict: null, state: "Complete", progress: { percent: 100 } }),
  makeSeen({
    name: "d",
    createdAt: NOW - 40,
    verdict: "Plateaued",
    progress: {},
    spec: { displayName: "Nightly BERT" },
  }),
];
const names = (one: Listing): string =>
  arrange(new Map(jobs.map((seen) => [seen.key, seen])), one)
    .map((seen) => seen.job.name)
    .join("");

describe("arrange", () => {
  it("shows the newest first by default", () => {
    expect(names(DEFAULT_LISTING)).toBe("cbad");
  });

  it("sorts the gravest verdict first, and jobs without one last either way", () => {
    expect(names(listing({ sort: "verdict" }))).toBe("bdac");
    expect(names(listing({ sort: "verdict", descending: true }))).toBe("adbc");
  });

  it("keeps unknown progress last either way, and equal rows in one order", () => {
    expect(names(listing({ sort: "progress" }))).toBe("abcd");
    expect(names(listing({ sort: "progress", descending: true }))).toBe("cabd");
  });

  it("filters: any value of one filter, all filters together", () => {
    expect(names(filtered({ verdict: ["Stalled", "Plateaued"] }))).toBe("bd");
    expect(names(filtered({ verdict: ["Stalled", "Plateaued"], namespace: ["team"] }))).toBe("b");
    expect(names(filtered({ tag: ["fraud"] }))).toBe("a");
    expect(names(filtered({ owner: ["mei"] }))).toBe("b");
    expect(names(filtered({ framework: ["jax"], state: ["Complete"] }))).toBe("");
  });

  it("finds text in names and display names, whatever the case", () => {
    expect(names(listing({ text: " bert " }))).toBe("d");
  });
});

describe("choices", () => {
  it("counts the values that occur; closed lists in their own order", () => {
    expect(choices(jobs).verdict.map((choice) => choice.value)).toEqual(["Stalled", "Plateaued", "Progressing"]);
    expect(choices(jobs).namespace).toEqual([
      { value: "local", count: 3 },
      { value: "team", count: 1 },
    ]);
  });
});

describe("the address", () => {
  it("holds a list's settings and gives them back", () => {
    const one = listing({
      filters: { ...DEFAULT_LISTING.filters, state: ["Running"], namespace: ["a b", "ü/&"] },
      text: "x=y",
      sort: "cost",
      descending: true,
      columns: ["name", "cost"],
    });
    expect(readListing(new URLSearchParams(writeListing(one, new URLSearchParams()).toString()))).toEqual(one);
  });

  it("leaves defaults out and other parameters in", () => {
    expect(writeListing(DEFAULT_LISTING, new URLSearchParams("job=local/a&sort=cost")).toString()).toBe(
      "job=local%2Fa",
    );
  });

  it("reads nonsense as the defaults", () => {
    const query = new URLSearchParams("sort=-nonsense&columns=x,,y&state=Nope&verdict=&namespace=");
    expect(readListing(query)).toEqual(DEFAULT_LISTING);
  });

  it("never loses the name column", () => {
    expect(readListing(new URLSearchParams("columns=cost,state")).columns).toEqual(["name", "state", "cost"]);
  });
});

describe("Arranger", () => {
  it("gives at each change what arranging everything anew gives", () => {
    let state = 1;
    const chance = (most: number) => {
      state = (state * 48_271) % 2_147_483_647;
      return state % most;
    };
    const arranger = new Arranger();
    let jobs = new Map<string, Seen>();
    const settings = SORTS.flatMap((sort) => [listing({ sort }), listing({ sort, descending: true, text: "1" })]);
    for (const one of settings) {
      for (let round = 0; round < 8; round += 1) {
        jobs = new Map(jobs);
        for (let count = 0; count < 12; count += 1) {
          const seen = makeSeen({
            name: `job-${chance(40)}`,
            state: (["Running", "Complete", "Queued"] as const)[chance(3)] ?? "Running",
            verdict: ([null, "Stalled", "Progressing"] as const)[chance(3)] ?? null,
            progress: chance(4) === 0 ? {} : { percent: chance(100) },
            createdAt: NOW - chance(5000),
            lastContactAge: chance(3) === 0 ? null : chance(60),
            ledger: chance(3) === 0 ? {} : { spent: { money: chance(50) } },
          });
          jobs.set(seen.key, seen);
        }
        jobs.delete(`local/job-${chance(40)}`);
        expect(arranger.arrange(jobs, one).map((seen) => seen.key)).toEqual(arrange(jobs, one).map((seen) => seen.key));
      }
    }
  });
});
