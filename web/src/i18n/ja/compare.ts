import type { Part } from "../catalogue";
import type en from "../en/compare";

export default {
  "compare.title": "比較",
} satisfies Part<typeof en>;
