/** A short line in a curve's colour, dashed where its curve is. */
import { curveColour, isDashed } from "../../model/palette";
import { useDark } from "../../theme";

export function Swatch({ colour }: { readonly colour: number }) {
  const dark = useDark();
  return (
    <span
      aria-hidden="true"
      className={isDashed(colour) ? "hw-swatch hw-swatch--dashed" : "hw-swatch"}
      style={{ color: curveColour(colour, dark) }}
    />
  );
}
