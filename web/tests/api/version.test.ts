import { expect, it } from "vitest";
import { entryOf } from "../../src/api/version";

it("the entry of a page is its script", () => {
  const page = (hash: string) =>
    `<!doctype html><head><script type="module" crossorigin src="/assets/index-${hash}.js"></script></head>`;
  expect(entryOf(page("abc"))).toBe("/assets/index-abc.js");
  expect(entryOf("<h1>This build ships no dashboard</h1>")).toBeNull();
});
