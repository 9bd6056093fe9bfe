/** A short line in a curve's colour, dashed where its curve is. */
import { COLOURS } from "./plot";

export function Swatch({ colour }: { readonly colour: number }) {
  const dashed = colour >= COLOURS ? " hw-swatch--dashed" : "";
  return <span aria-hidden="true" className={`hw-swatch hw-swatch--${(colour % COLOURS) + 1}${dashed}`} />;
}
