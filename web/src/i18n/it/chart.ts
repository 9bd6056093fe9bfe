import type { Part } from "../catalogue";
import type en from "../en/chart";

export default {
  "chart.reset": "Mostra tutto",
} satisfies Part<typeof en>;
