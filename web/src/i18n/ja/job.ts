import type { Part } from "../catalogue";
import type en from "../en/job";

export default {
  "job.panel": "ジョブ {name}",
  "job.gone": "このジョブはありません",
  "job.goneBody": "このアドレスが作られた後に削除されたのかもしれません。",
} satisfies Part<typeof en>;
