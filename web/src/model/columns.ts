/** How wide the columns of the list are, and which of them a narrow place shows. Pure. */
import type { Column } from "./listing";

/** Widths in rem; what room is left is shared in their proportion. */
export const WIDTHS: Readonly<Record<Column | "select", number>> = {
  select: 2.5,
  name: 10.25,
  namespace: 6.25,
  state: 7,
  verdict: 9.75,
  progress: 7.5,
  eta: 6.25,
  finish: 5.5,
  loss: 9.25,
  devices: 5.5,
  cost: 5.75,
  age: 5,
  updated: 5.75,
  framework: 7,
  owner: 6,
  tags: 8,
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
  "eta",
  "state",
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
