import type { Part } from "../catalogue";
import type en from "../en/fleet";

export default {
  "fleet.title": "Frota",
} satisfies Part<typeof en>;
