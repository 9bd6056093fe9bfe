import { describe, expect, it } from "vitest";
import { clean, LogTail, MOST_LINES } from "../../src/model/log";

describe("clean", () => {
  it.each([
    ["\u001b[31mred\u001b[0m", "red"],
    ["10%\r20%\r30%", "30%"],
    ["30%\r", "30%"],
    ["\u001b]0;title\u0007text", "text"],
    ["a\u001b[2K\u001b[1Gb", "ab"],
    ["<b>not bold</b>", "<b>not bold</b>"],
    ["", ""],
  ])("%j is %j", (line, text) => {
    expect(clean(line)).toBe(text);
  });
});

describe("LogTail", () => {
  it("joins lines whatever the pieces are cut at, the open one last", () => {
    const tail = new LogTail();
    expect(tail.push("one\ntw")).toEqual(["one", "tw"]);
    expect(tail.push("o\n")).toEqual(["one", "two"]);
    expect(tail.push("\u001b[3")).toHaveLength(3);
    expect(tail.push("1mred\u001b[0m\n")).toEqual(["one", "two", "red"]);
  });

  it("holds only so many lines", () => {
    const tail = new LogTail();
    const lines = tail.push(Array.from({ length: MOST_LINES + 10 }, (_, index) => `${index}\n`).join(""));
    expect(lines).toHaveLength(MOST_LINES);
    expect(lines[0]).toBe("10");
  });
});
