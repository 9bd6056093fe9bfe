/** The controls of a group of charts: axis, scale, smoothing, zoom. */
import { Button, FormSelect, FormSelectOption, ToggleGroup, ToggleGroupItem, Tooltip } from "@patternfly/react-core";
import AngleLeftIcon from "@patternfly/react-icons/dist/esm/icons/angle-left-icon";
import AngleRightIcon from "@patternfly/react-icons/dist/esm/icons/angle-right-icon";
import SearchMinusIcon from "@patternfly/react-icons/dist/esm/icons/search-minus-icon";
import SearchPlusIcon from "@patternfly/react-icons/dist/esm/icons/search-plus-icon";
import { type ReactNode, useId } from "react";
import { useI18n } from "../../i18n";
import { type ChartSettings, panned, SCALES, X_AXES, zoomed } from "../../model/chartSettings";
import type { Range, XAxis } from "../../model/curves";
import { SMOOTHINGS, type Smoothing } from "../../model/smoothing";
import type { ChangeSettings } from "./useChartSettings";

interface Props {
  readonly settings: ChartSettings;
  readonly onChange: ChangeSettings;
  /** Everything there is on the axis; null while nothing is drawn. */
  readonly whole: Range | null;
  /** Axes that cannot be had. */
  readonly missing?: readonly XAxis[];
}

export function ChartControls({ settings, onChange, whole, missing = [] }: Props) {
  const { t } = useI18n();
  const id = useId();
  const { range } = settings;
  const shown = range ?? whole;
  const move = (change: (shown: Range, whole: Range) => Range | null) => {
    if (shown && whole) onChange({ range: change(shown, whole) });
  };
  return (
    <fieldset className="hw-chart-controls" aria-label={t("chart.controls")}>
      <ToggleGroup isCompact aria-label={t("chart.axis")}>
        {X_AXES.map((axis) => (
          <ToggleGroupItem
            key={axis}
            text={t(`chart.axis.${axis}`)}
            isSelected={settings.axis === axis}
            isDisabled={missing.includes(axis)}
            onChange={() => onChange({ axis })}
          />
        ))}
      </ToggleGroup>
      <ToggleGroup isCompact aria-label={t("chart.scale")}>
        {SCALES.map((scale) => (
          <ToggleGroupItem
            key={scale}
            text={t(`chart.scale.${scale}`)}
            isSelected={settings.scale === scale}
            onChange={() => onChange({ scale })}
          />
        ))}
      </ToggleGroup>
      <div className="hw-chart-controls__smoothing">
        <label htmlFor={id}>{t("chart.smoothing")}</label>
        <FormSelect
          id={id}
          value={settings.smoothing}
          onChange={(_, value) => onChange({ smoothing: value as Smoothing })}
        >
          {SMOOTHINGS.map((smoothing) => (
            <FormSelectOption key={smoothing} value={smoothing} label={t(`chart.smoothing.${smoothing}`)} />
          ))}
        </FormSelect>
      </div>
      <div className="hw-chart-controls__zoom">
        <Tool label={t("chart.zoomIn")} isDisabled={!shown} onClick={() => move((a, b) => zoomed(a, b, 0.5))}>
          <SearchPlusIcon />
        </Tool>
        <Tool label={t("chart.zoomOut")} isDisabled={!range} onClick={() => move((a, b) => zoomed(a, b, 2))}>
          <SearchMinusIcon />
        </Tool>
        <Tool label={t("chart.earlier")} isDisabled={!range} onClick={() => move((a, b) => panned(a, b, -0.25))}>
          <AngleLeftIcon />
        </Tool>
        <Tool label={t("chart.later")} isDisabled={!range} onClick={() => move((a, b) => panned(a, b, 0.25))}>
          <AngleRightIcon />
        </Tool>
        {range && (
          <Button variant="link" size="sm" onClick={() => onChange({ range: null })}>
            {t("chart.reset")}
          </Button>
        )}
      </div>
    </fieldset>
  );
}

function Tool(props: {
  readonly label: string;
  readonly isDisabled: boolean;
  readonly onClick: () => void;
  readonly children: ReactNode;
}) {
  return (
    <Tooltip content={props.label}>
      <Button
        variant="plain"
        size="sm"
        aria-label={props.label}
        isAriaDisabled={props.isDisabled}
        onClick={props.onClick}
        icon={props.children}
      />
    </Tooltip>
  );
}
