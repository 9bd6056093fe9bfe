// biome-ignore-all lint/a11y/noRedundantRoles: browsers drop the roles of elements that are not laid out as tables
/**
 * The table of jobs. Only the rows in sight are in the document (react-virtual), so that thousands scroll as smoothly as ten;
 * two rows of the missing height stand above and below them.
 *
 * Rows are grids of a fixed height rather than rows of a table's layout: one that comes or goes has only itself laid out, where
 * a table lays out all it shows anew. Roles are written out, since browsers drop those of elements that are not laid out as
 * tables.
 */
import { Checkbox } from "@patternfly/react-core";
import { css } from "@patternfly/react-styles";
import styles from "@patternfly/react-styles/css/components/Table/table";
import { Table, Tbody, Th, Thead, Tr } from "@patternfly/react-table";
import { useVirtualizer } from "@tanstack/react-virtual";
import { type CSSProperties, type MouseEvent, memo, useCallback, useMemo, useRef, useState } from "react";
import { useAtNow } from "../api/react";
import type { Seen } from "../api/store";
import { useI18n } from "../i18n";
import { fitColumns, WIDTHS, widthOf } from "../model/columns";
import { isStale } from "../model/job";
import { type Column, DEFAULT_COLUMNS, type Listing, SORTS, type SortBy } from "../model/listing";
import { useGradually } from "../useGradually";
import { useSize } from "../useSize";
import { JobCell } from "./JobCell";

const ROW_HEIGHT = 41;
/** Rows above and below those in sight. */
const OVERSCAN = 6;
/** Rows that are drawn anew in one frame; after a leap the others follow in the next ones. */
const AT_ONCE = 12;

interface Props {
  readonly rows: readonly Seen[];
  readonly listing: Listing;
  readonly onSort: (by: SortBy, descending: boolean) => void;
  readonly selected: ReadonlySet<string>;
  readonly onSelect: (keys: readonly string[], isSelected: boolean) => void;
  /** Key of the job whose panel is open. */
  readonly open: string | null;
  readonly onOpen: (key: string) => void;
}

const rem = (): number => Number.parseFloat(getComputedStyle(document.documentElement).fontSize);
const isSort = (column: Column): column is Column & SortBy => (SORTS as readonly string[]).includes(column);

export function JobTable({ rows, listing, onSort, selected, onSelect, open, onOpen }: Props) {
  const { t } = useI18n();
  const [scroller, setScroller] = useState<HTMLDivElement | null>(null);
  const size = useSize(scroller);
  // The usual columns are fitted to the room there is; chosen ones are all there, and scroll.
  const isUsual = listing.columns === DEFAULT_COLUMNS;
  const columns = useMemo(
    () => (isUsual ? fitColumns(listing.columns, size / rem()) : listing.columns),
    [isUsual, listing.columns, size],
  );
  const shown = ["select", ...columns] as const;
  const whole = widthOf(columns);
  const template = shown
    .map((column) => `minmax(${isUsual ? 0 : `${WIDTHS[column]}rem`}, ${WIDTHS[column]}fr)`)
    .join(" ");
  const shownRows = useRef(rows);
  shownRows.current = rows;
  const selectAll = useCallback(
    (isSelected: boolean) =>
      onSelect(
        shownRows.current.map((row) => row.key),
        isSelected,
      ),
    [onSelect],
  );
  const allSelected = rows.length > 0 && rows.every((row) => selected.has(row.key));

  return (
    <div className="hw-table-scroll" ref={setScroller}>
      <Table
        aria-label={t("jobs.title")}
        aria-rowcount={rows.length + 1}
        variant="compact"
        gridBreakPoint=""
        isStickyHeader
        role="table"
        className="hw-jobs-table"
        style={{ "--hw-columns": template, ...(!isUsual && { minInlineSize: `${whole}rem` }) } as CSSProperties}
      >
        <Header
          columns={columns}
          sort={listing.sort}
          isDescending={listing.descending}
          onSort={onSort}
          isSelected={allSelected ? true : selected.size > 0 ? null : false}
          onSelectAll={selectAll}
        />
        <Rows
          scroller={scroller}
          rows={rows}
          columns={columns}
          selected={selected}
          onSelect={onSelect}
          open={open}
          onOpen={onOpen}
        />
      </Table>
    </div>
  );
}

interface RowsProps extends Pick<Props, "rows" | "selected" | "onSelect" | "open" | "onOpen"> {
  readonly scroller: HTMLDivElement | null;
  readonly columns: readonly Column[];
}

/** The rows in sight. What scrolling renders ends here: PatternFly's table and header measure themselves when they render. */
function Rows({ scroller, rows, columns, selected, onSelect, open, onOpen }: RowsProps) {
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller,
    estimateSize: () => ROW_HEIGHT,
    getItemKey: useCallback((index: number) => rows[index]?.key ?? index, [rows]),
    overscan: OVERSCAN,
  });
  const items = virtual.getVirtualItems();
  const { startIndex, endIndex } = virtual.range ?? { startIndex: 0, endIndex: 0 };
  const inSight = (index: number) => index >= startIndex && index <= endIndex;
  const sooner = [...items].sort((a, b) => Number(inSight(b.index)) - Number(inSight(a.index)) || a.index - b.index);
  const drawn = useGradually(
    sooner.map((item) => rows[item.index]?.key ?? ""),
    AT_ONCE,
  );
  const above = items[0]?.start ?? 0;
  const below = virtual.getTotalSize() - (items.at(-1)?.end ?? 0);
  return (
    <Tbody role="rowgroup">
      {above > 0 && <Gap height={above} />}
      {items.map((item) => {
        const row = rows[item.index];
        if (!row) return null;
        return drawn.has(row.key) ? (
          <JobRow
            key={row.key}
            seen={row}
            index={item.index}
            columns={columns}
            isSelected={selected.has(row.key)}
            isOpen={open === row.key}
            onSelect={onSelect}
            onOpen={onOpen}
          />
        ) : (
          <tr key={row.key} role="row" className="hw-row" aria-rowindex={item.index + 2} />
        );
      })}
      {below > 0 && <Gap height={below} />}
    </Tbody>
  );
}

interface HeaderProps {
  readonly columns: readonly Column[];
  readonly sort: SortBy;
  readonly isDescending: boolean;
  readonly onSort: (by: SortBy, descending: boolean) => void;
  /** null: some of the rows. */
  readonly isSelected: boolean | null;
  readonly onSelectAll: (isSelected: boolean) => void;
}

const Header = memo(function Header({ columns, sort, isDescending, onSort, isSelected, onSelectAll }: HeaderProps) {
  const { t } = useI18n();
  return (
    <Thead role="rowgroup">
      <Tr role="row" className="hw-head">
        <Th role="columnheader" className={css(styles.tableCheck, "hw-col-select")} aria-label={t("jobs.selectAll")}>
          <Checkbox
            id="select-all"
            isChecked={isSelected}
            onChange={(_, chosen) => onSelectAll(chosen)}
            aria-label={t("jobs.selectAll")}
          />
        </Th>
        {columns.map((column, index) => (
          <Th
            key={column}
            role="columnheader"
            className={`hw-col-${column}`}
            modifier="wrap"
            {...(isSort(column) && {
              sort: {
                columnIndex: index,
                sortBy: {
                  ...(sort === column && { index }),
                  direction: isDescending ? ("desc" as const) : ("asc" as const),
                  defaultDirection: "asc" as const,
                },
                onSort: (_event: unknown, _index: number, direction: string) => onSort(column, direction === "desc"),
              },
            })}
          >
            {t(`jobs.column.${column}`)}
          </Th>
        ))}
      </Tr>
    </Thead>
  );
});

function Gap({ height }: { readonly height: number }) {
  return (
    // biome-ignore lint/a11y/noAriaHiddenOnFocusable: a row of a table is nothing that takes the focus
    <tr aria-hidden="true" className="hw-gap">
      <td style={{ blockSize: height }} />
    </tr>
  );
}

interface RowProps {
  readonly seen: Seen;
  readonly index: number;
  readonly columns: readonly Column[];
  readonly isSelected: boolean;
  readonly isOpen: boolean;
  readonly onSelect: (keys: readonly string[], isSelected: boolean) => void;
  readonly onOpen: (key: string) => void;
}

/** Plain elements: PatternFly's rows and cells carry hundreds of custom properties each, and measure themselves. */
const JobRow = memo(function JobRow({ seen, index, columns, isSelected, isOpen, onSelect, onOpen }: RowProps) {
  const { t } = useI18n();
  const stale = useAtNow((now) => isStale(seen, now));

  function openUnlessControl(event: MouseEvent<HTMLTableRowElement>): void {
    if (!(event.target as Element).closest("a, button, input, label")) onOpen(seen.key);
  }

  return (
    <tr
      role="row"
      className={css("hw-row", isOpen && "hw-row-open", stale && "hw-stale")}
      aria-rowindex={index + 2}
      onClick={openUnlessControl}
    >
      <td role="cell" className="hw-cell hw-col-select">
        <input
          type="checkbox"
          className="hw-check"
          checked={isSelected}
          onChange={(event) => onSelect([seen.key], event.currentTarget.checked)}
          aria-label={t("jobs.select", { name: seen.job.name })}
        />
      </td>
      {columns.map((column) => (
        <td key={column} role="cell" className={`hw-cell hw-col-${column}`}>
          <JobCell column={column} seen={seen} />
        </td>
      ))}
    </tr>
  );
});
