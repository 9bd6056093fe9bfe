/** A menu of all jobs, found by name, of which one chooses those to compare. */
import {
  Divider,
  MenuSearch,
  MenuSearchInput,
  MenuToggle,
  SearchInput,
  Select,
  SelectList,
  SelectOption,
} from "@patternfly/react-core";
import PlusCircleIcon from "@patternfly/react-icons/dist/esm/icons/plus-circle-icon";
import { useMemo, useState } from "react";
import type { Seen } from "../../api/store";
import { useI18n } from "../../i18n";
import { arrange, DEFAULT_LISTING } from "../../model/listing";

/** How many are listed; the search narrows them down. */
const MOST = 60;

interface Props {
  readonly all: ReadonlyMap<string, Seen>;
  readonly chosen: readonly string[];
  /** How many can be chosen. */
  readonly limit: number;
  readonly onChange: (keys: readonly string[]) => void;
}

export function RunPicker({ all, chosen, limit, onChange }: Props) {
  const { t } = useI18n();
  const [isOpen, setOpen] = useState(false);
  const [text, setText] = useState("");
  const found = useMemo(() => (isOpen ? arrange(all, { ...DEFAULT_LISTING, text }) : []), [isOpen, all, text]);
  const isFull = chosen.length >= limit;
  return (
    <Select
      isOpen={isOpen}
      onOpenChange={setOpen}
      selected={chosen as string[]}
      onSelect={(_, value) => {
        const key = String(value);
        onChange(chosen.includes(key) ? chosen.filter((each) => each !== key) : [...chosen, key]);
      }}
      isScrollable
      maxMenuHeight="24rem"
      popperProps={{ minWidth: "min(28rem, 90vw)", maxWidth: "90vw" }}
      toggle={(ref) => (
        <MenuToggle
          ref={ref}
          icon={<PlusCircleIcon />}
          isExpanded={isOpen}
          isDisabled={all.size === 0}
          onClick={() => setOpen(!isOpen)}
        >
          {t("compare.choose")}
        </MenuToggle>
      )}
    >
      <MenuSearch>
        <MenuSearchInput>
          <SearchInput
            value={text}
            onChange={(_, value) => setText(value)}
            onClear={() => setText("")}
            aria-label={t("jobs.search")}
            placeholder={t("jobs.search")}
          />
        </MenuSearchInput>
      </MenuSearch>
      <Divider />
      <SelectList aria-label={t("compare.choose")}>
        {found.slice(0, MOST).map(({ key, job }) => (
          <SelectOption
            key={key}
            value={key}
            hasCheckbox
            isSelected={chosen.includes(key)}
            isDisabled={isFull && !chosen.includes(key)}
            description={`${job.namespace} · ${t(`state.${job.state}`)}`}
          >
            {job.spec.displayName || job.name}
          </SelectOption>
        ))}
        {found.length === 0 && <SelectOption isDisabled>{t("jobs.noMatch")}</SelectOption>}
        {found.length > MOST && (
          <SelectOption isDisabled>{t("common.andMore", { count: found.length - MOST })}</SelectOption>
        )}
      </SelectList>
    </Select>
  );
}
