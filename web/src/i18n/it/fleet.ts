import type { Part } from "../catalogue";
import type en from "../en/fleet";

export default {
  "fleet.title": "Flotta",
} satisfies Part<typeof en>;
