import type { Part } from "../catalogue";
import type en from "../en/job";

export default {
  "job.panel": "Job {name}",
  "job.gone": "Este job não existe",
  "job.goneBody": "Pode ter sido removido depois que este endereço foi criado.",
} satisfies Part<typeof en>;
