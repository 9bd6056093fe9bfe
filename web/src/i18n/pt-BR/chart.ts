import type { Part } from "../catalogue";
import type en from "../en/chart";

export default {
  "chart.reset": "Mostrar tudo",
} satisfies Part<typeof en>;
