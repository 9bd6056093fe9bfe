import type { Part } from "../catalogue";
import type en from "../en/chart";

export default {
  "chart.reset": "全体を表示",
} satisfies Part<typeof en>;
