import type { Part } from "../catalogue";
import type en from "../en/fleet";

export default {
  "fleet.title": "全体",
} satisfies Part<typeof en>;
