/** The tail of a log as a terminal would have left it: colours dropped, rewritten lines shown as they were written last. */

// biome-ignore lint/suspicious/noControlCharactersInRegex: escape sequences begin with one
const ESCAPES = /\u001b(?:\[[0-9;:?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)|[@-Z\\-_])/g;

export const MOST_LINES = 2000;

export class LogTail {
  #lines: readonly string[] = [];
  #open = "";

  /** Takes in a piece of the log; returns the lines, the one being written among them. */
  push(chunk: string): readonly string[] {
    const parts = (this.#open + chunk).split("\n");
    this.#open = parts.pop() ?? "";
    if (this.#open.length > 64_000) this.#open = this.#open.slice(-64_000);
    this.#lines = [...this.#lines, ...parts.map(clean)].slice(-MOST_LINES);
    const open = clean(this.#open);
    return open ? [...this.#lines, open] : this.#lines;
  }
}

/** One line without escape sequences; of parts that a carriage return rewrote, the last. */
export function clean(line: string): string {
  const plain = line.replace(/\r+$/, "").replace(ESCAPES, "");
  return plain.includes("\r") ? (plain.split("\r").findLast((part) => part !== "") ?? "") : plain;
}
