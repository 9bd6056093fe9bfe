import type { Part } from "../catalogue";
import type en from "../en/compare";

export default {
  "compare.title": "Confronto",
} satisfies Part<typeof en>;
