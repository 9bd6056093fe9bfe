/** Above the table: search, filters, columns, and what can be done with the chosen jobs. */
import {
  Button,
  Label,
  LabelGroup,
  MenuToggle,
  SearchInput,
  Select,
  SelectList,
  SelectOption,
  Title,
  Toolbar,
  ToolbarContent,
  ToolbarGroup,
  ToolbarItem,
} from "@patternfly/react-core";
import ColumnsIcon from "@patternfly/react-icons/dist/esm/icons/columns-icon";
import { css } from "@patternfly/react-styles";
import button from "@patternfly/react-styles/css/components/Button/button";
import { memo, useMemo, useState } from "react";
import type { Seen } from "../api/store";
import type { State, Verdict } from "../api/types";
import { type Translate, useI18n } from "../i18n";
import { canPause, canStop } from "../model/job";
import {
  type Choices,
  COLUMNS,
  type Column,
  choices,
  DEFAULT_LISTING,
  FILTERS,
  type Filter,
  type Listing,
  withName,
} from "../model/listing";
import { followLink } from "../router";
import { EndDialog } from "./EndDialog";
import { FilterMenu } from "./FilterMenu";

interface Props {
  readonly all: readonly Seen[];
  /** Whether these are all: while they come, nothing is counted. */
  readonly known: boolean;
  readonly shown: number;
  readonly listing: Listing;
  readonly onChange: (changes: Partial<Listing>, replace?: boolean) => void;
  readonly chosen: readonly Seen[];
  readonly onChosenDone: () => void;
}

export function JobsToolbar({ all, known, shown, listing, onChange, chosen, onChosenDone }: Props) {
  const { t } = useI18n();
  const { filters, text } = listing;
  const isFiltered = text !== "" || FILTERS.some((filter) => filters[filter].length > 0);
  const total = all.length;
  const found = useMemo(() => choices(all), [all]);
  return (
    <Toolbar className="hw-toolbar" inset={{ default: "insetMd" }}>
      <ToolbarContent>
        <ToolbarItem>
          <Title headingLevel="h1" size="xl">
            {t("jobs.title")}
          </Title>
        </ToolbarItem>
        <ToolbarItem className="hw-search">
          <SearchInput
            value={text}
            placeholder={t("jobs.search")}
            aria-label={t("jobs.search")}
            onChange={(_, value) => onChange({ text: value }, true)}
            onClear={() => onChange({ text: "" }, true)}
            resetButtonLabel={t("jobs.filter.clear")}
          />
        </ToolbarItem>
        <ToolbarGroup variant="filter-group" className="hw-toolbar-filters">
          {FILTERS.map((filter) => (
            <FilterItem key={filter} filter={filter} found={found[filter]} listing={listing} onChange={onChange} />
          ))}
        </ToolbarGroup>
        <ToolbarGroup align={{ default: "alignEnd" }} className="hw-toolbar-end">
          <ToolbarItem className="hw-count" role="status">
            {known && (isFiltered ? t("jobs.countOf", { count: shown, total }) : t("jobs.count", { count: total }))}
          </ToolbarItem>
          <ToolbarItem>
            <ColumnsMenu columns={listing.columns} onChange={onChange} />
          </ToolbarItem>
        </ToolbarGroup>
      </ToolbarContent>
      {isFiltered && (
        <ToolbarContent className="hw-toolbar-chips">
          {FILTERS.filter((filter) => filters[filter].length > 0).map((filter) => (
            <LabelGroup key={filter} categoryName={t(`jobs.filter.${filter}`)} numLabels={6}>
              {filters[filter].map((value) => (
                <Label
                  key={value}
                  isCompact
                  variant="outline"
                  closeBtnAriaLabel={t("jobs.filter.remove", { name: valueText(t, filter, value) })}
                  onClose={() =>
                    onChange({ filters: { ...filters, [filter]: filters[filter].filter((each) => each !== value) } })
                  }
                >
                  {valueText(t, filter, value)}
                </Label>
              ))}
            </LabelGroup>
          ))}
          <Button variant="link" isInline onClick={() => onChange({ filters: DEFAULT_LISTING.filters, text: "" })}>
            {t("jobs.filter.clear")}
          </Button>
        </ToolbarContent>
      )}
      {chosen.length > 0 && <Chosen chosen={chosen} onDone={onChosenDone} />}
    </Toolbar>
  );
}

interface FilterProps extends Pick<Props, "listing" | "onChange"> {
  readonly filter: Filter;
  readonly found: Choices[Filter];
}

/** Rendered only when its choices change: PatternFly's menus read computed styles each time they render. */
const FilterItem = memo(FilterMenuOf, (before, after) => {
  const { found, ...rest } = after;
  return (
    before.filter === rest.filter &&
    before.listing === rest.listing &&
    before.onChange === rest.onChange &&
    JSON.stringify(before.found) === JSON.stringify(found)
  );
});

function FilterMenuOf({ filter, found, listing, onChange }: FilterProps) {
  const { t } = useI18n();
  const chosen = listing.filters[filter];
  // What nothing can be chosen from is not shown; what is chosen can always be taken back.
  if (found.length < 2 && chosen.length === 0) return null;
  const gone = chosen.filter((value) => !found.some((choice) => choice.value === value));
  const options = [...found, ...gone.map((value) => ({ value, count: 0 }))];
  return (
    <ToolbarItem>
      <FilterMenu
        label={t(`jobs.filter.${filter}`)}
        choices={options.map((choice) => ({ ...choice, label: valueText(t, filter, choice.value) }))}
        chosen={chosen}
        onChange={(values) => onChange({ filters: { ...listing.filters, [filter]: values } })}
      />
    </ToolbarItem>
  );
}

function valueText(t: Translate, filter: Filter, value: string): string {
  if (filter === "state") return t(`state.${value as State}`);
  if (filter === "verdict") return t(`verdict.${value as Verdict}`);
  return value;
}

const ColumnsMenu = memo(function ColumnsMenu({
  columns,
  onChange,
}: {
  readonly columns: readonly Column[];
  readonly onChange: Props["onChange"];
}) {
  const { t } = useI18n();
  const [isOpen, setOpen] = useState(false);
  return (
    <Select
      isOpen={isOpen}
      onOpenChange={setOpen}
      selected={columns as Column[]}
      onSelect={(_, value) => {
        const column = value as Column;
        const others = columns.filter((each) => each !== column);
        onChange({ columns: withName(columns.includes(column) ? others : [...columns, column]) });
      }}
      popperProps={{ position: "right" }}
      toggle={(ref) => (
        <MenuToggle ref={ref} isExpanded={isOpen} onClick={() => setOpen(!isOpen)} icon={<ColumnsIcon />}>
          {t("jobs.columns")}
        </MenuToggle>
      )}
    >
      <SelectList aria-label={t("jobs.columns")}>
        {COLUMNS.filter((column) => column !== "name").map((column) => (
          <SelectOption key={column} value={column} hasCheckbox isSelected={columns.includes(column)}>
            {t(`jobs.column.${column}`)}
          </SelectOption>
        ))}
      </SelectList>
    </Select>
  );
});

function Chosen({ chosen, onDone }: { readonly chosen: readonly Seen[]; readonly onDone: () => void }) {
  const { t } = useI18n();
  const [ending, setEnding] = useState<"stop" | "pause" | null>(null);
  const stoppable = chosen.filter(({ job }) => canStop(job));
  const pausable = chosen.filter(({ job }) => canPause(job));
  const compare = new URLSearchParams(chosen.map(({ key }) => ["job", key]));
  return (
    <ToolbarContent className="hw-chosen">
      <ToolbarItem className="hw-chosen-count">{t("jobs.selected", { count: chosen.length })}</ToolbarItem>
      <ToolbarItem>
        <a
          className={css(button.button, button.modifiers.secondary, button.modifiers.small)}
          href={`/compare?${compare}`}
          onClick={followLink}
        >
          {t("jobs.compare")}
        </a>
      </ToolbarItem>
      <ToolbarItem>
        <Button variant="secondary" size="sm" isDisabled={pausable.length === 0} onClick={() => setEnding("pause")}>
          {t("pause.do")}
        </Button>
      </ToolbarItem>
      <ToolbarItem>
        <Button variant="danger" size="sm" isDisabled={stoppable.length === 0} onClick={() => setEnding("stop")}>
          {t("stop.do")}
        </Button>
      </ToolbarItem>
      <ToolbarItem>
        <Button variant="link" size="sm" onClick={onDone}>
          {t("jobs.deselect")}
        </Button>
      </ToolbarItem>
      {ending && (
        <EndDialog
          verb={ending}
          jobs={ending === "stop" ? stoppable : pausable}
          onClose={(done) => {
            setEnding(null);
            if (done) onDone();
          }}
        />
      )}
    </ToolbarContent>
  );
}
