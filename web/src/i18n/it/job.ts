import type { Part } from "../catalogue";
import type en from "../en/job";

export default {
  "job.panel": "Job {name}",
  "job.gone": "Questo job non c’è",
  "job.goneBody": "Può essere stato rimosso dopo la creazione di questo indirizzo.",
} satisfies Part<typeof en>;
