/** Colours of curves: told apart with every kind of colour vision, and from the background of their theme. Pure. */

const LIGHT = ["#0066cc", "#ff5703", "#00a872", "#b32776", "#351e77", "#675801", "#c37ace", "#532f09"];
const DARK = ["#6ab0ff", "#f5921b", "#3dec90", "#e83ba1", "#8b69f3", "#e3ff4b", "#ffc3ef", "#b1692f"];

/** How many there are; later curves take them again, dashed. */
export const COLOURS = LIGHT.length;

export function curveColour(index: number, dark: boolean): string {
  return (dark ? DARK : LIGHT)[index % COLOURS] ?? "";
}

export const isDashed = (index: number): boolean => index >= COLOURS;
