/** How wide the columns of the list are, and which of them a narrow place shows. Pure. */
import type { Column } from "./listing";

/** Widths in rem; what room is left is shared in their proportion. */
export const WIDTHS: Readonly<Record<Column | "select", number>> = {
  select: 2.5,
  name: 12,
  namespace: 7,
  state: 6.75,
  verdict: 12,
  progress: 9,
  eta: 6.75,
  finish: 6,
  loss: 10,
  devices: 6,
  cost: 6.5,
  age: 5,
  updated: 6.5,
  framework: 8,
  owner: 6.5,
  tags: 9,
};

/** What a narrow place leaves out, first things first. */
const DROPPED: readonly Column[] = [
  "tags",
  "owner",
  "framework",
  "age",
  "devices",
  "cost",
  "updated",
  "namespace",
  "finish",
  "loss",
  "state",
  "eta",
];

/** The least width of a table with these columns, in rem. */
export const widthOf = (columns: readonly Column[]): number =>
  columns.reduce((sum, column) => sum + WIDTHS[column], WIDTHS.select);

/** Those of the columns that fit into a width (rem), the least telling left out first. */
export function fitColumns(columns: readonly Column[], width: number): readonly Column[] {
  let fitting = columns;
  for (const column of DROPPED) {
    if (widthOf(fitting) <= width) break;
    if (fitting.includes(column)) fitting = fitting.filter((each) => each !== column);
  }
  return fitting;
}
