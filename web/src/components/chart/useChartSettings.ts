/** Chart settings out of the address, and how to change them. Zooming leaves no entries in the browser's history. */
import { useCallback, useMemo } from "react";
import { type ChartSettings, readSettings, writeSettings } from "../../model/chartSettings";
import { changeQuery, useAddress } from "../../router";

export type ChangeSettings = (change: Partial<ChartSettings>) => void;

export function useChartSettings(): readonly [ChartSettings, ChangeSettings] {
  const { query } = useAddress();
  const settings = useMemo(() => readSettings(query), [query]);
  const change = useCallback<ChangeSettings>((changed) => {
    // A range is in units of its axis: another axis shows everything.
    const reset = changed.axis === undefined ? {} : { range: null };
    changeQuery((written) => writeSettings({ ...readSettings(written), ...reset, ...changed }, written), {
      replace: true,
    });
  }, []);
  return [settings, change];
}
