import type { Part } from "../catalogue";
import type en from "../en/compare";

export default {
  "compare.title": "Comparar",
} satisfies Part<typeof en>;
