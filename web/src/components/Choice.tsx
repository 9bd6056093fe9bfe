/** A menu of which one entry is chosen, behind an icon: for the masthead. */
import { MenuToggle, Select, SelectList, SelectOption, Tooltip } from "@patternfly/react-core";
import { type ReactNode, useState } from "react";

interface Props<T extends string> {
  readonly label: string;
  readonly icon: ReactNode;
  readonly options: readonly { readonly value: T; readonly label: string; readonly lang?: string }[];
  readonly value: T;
  readonly onChoose: (value: T) => void;
}

export function Choice<T extends string>({ label, icon, options, value, onChoose }: Props<T>) {
  const [isOpen, setOpen] = useState(false);
  return (
    <Select
      isOpen={isOpen}
      onOpenChange={setOpen}
      selected={value}
      onSelect={(_, chosen) => {
        onChoose(chosen as T);
        setOpen(false);
      }}
      popperProps={{ position: "right" }}
      shouldFocusToggleOnSelect
      toggle={(ref) => (
        <Tooltip content={label} position="bottom">
          <MenuToggle
            ref={ref}
            variant="plain"
            aria-label={label}
            isExpanded={isOpen}
            onClick={() => setOpen(!isOpen)}
            icon={icon}
          />
        </Tooltip>
      )}
    >
      <SelectList aria-label={label}>
        {options.map((option) => (
          <SelectOption key={option.value} value={option.value} lang={option.lang}>
            {option.label}
          </SelectOption>
        ))}
      </SelectList>
    </Select>
  );
}
