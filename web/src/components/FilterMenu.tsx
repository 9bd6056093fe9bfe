/** A filter of the list: a menu of the values that occur, each with how many jobs have it. */
import { Badge, MenuToggle, Select, SelectList, SelectOption } from "@patternfly/react-core";
import { useState } from "react";

interface Props {
  readonly label: string;
  readonly choices: readonly { readonly value: string; readonly label: string; readonly count: number }[];
  readonly chosen: readonly string[];
  readonly onChange: (chosen: readonly string[]) => void;
}

export function FilterMenu({ label, choices, chosen, onChange }: Props) {
  const [isOpen, setOpen] = useState(false);
  return (
    <Select
      isOpen={isOpen}
      onOpenChange={setOpen}
      selected={chosen as string[]}
      onSelect={(_, value) => {
        const word = String(value);
        onChange(chosen.includes(word) ? chosen.filter((each) => each !== word) : [...chosen, word]);
      }}
      isScrollable
      maxMenuHeight="20rem"
      toggle={(ref) => (
        <MenuToggle
          ref={ref}
          isExpanded={isOpen}
          isDisabled={choices.length === 0}
          onClick={() => setOpen(!isOpen)}
          badge={chosen.length > 0 ? <Badge isRead>{chosen.length}</Badge> : undefined}
        >
          {label}
        </MenuToggle>
      )}
    >
      <SelectList aria-label={label}>
        {choices.map(({ value, label: words, count }) => (
          <SelectOption key={value} value={value} hasCheckbox isSelected={chosen.includes(value)}>
            <span className="hw-choice">
              <span className="hw-cut">{words}</span>
              <span className="hw-choice-count">{count}</span>
            </span>
          </SelectOption>
        ))}
      </SelectList>
    </Select>
  );
}
