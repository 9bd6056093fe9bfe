import type { Catalogue } from "../catalogue";
import chart from "./chart";
import compare from "./compare";
import fleet from "./fleet";
import job from "./job";
import jobs from "./jobs";
import said from "./said";
import shell from "./shell";
import why from "./why";
import words from "./words";

export default {
  ...shell,
  ...words,
  ...why,
  ...said,
  ...jobs,
  ...job,
  ...compare,
  ...fleet,
  ...chart,
} satisfies Catalogue as Catalogue;
