import type { Part } from "../catalogue";
import type en from "../en/compare";

export default {
  "compare.title": "Confronto",
  "compare.choose": "Scegli le esecuzioni",
  "compare.noneTitle": "Ancora nulla da confrontare",
  "compare.none":
    "Scegli due o più esecuzioni per vedere le curve sovrapposte, chi è la migliore in cosa e in che cosa differiscono.",
  "compare.gone": {
    one: "{count} esecuzione scelta non c'è più.",
    other: "{count} esecuzioni scelte non ci sono più.",
  },
  "compare.most": {
    one: "È mostrata solo la prima esecuzione.",
    other: "Sono mostrate solo le prime {count} esecuzioni.",
  },
  "compare.table": "Esecuzioni a confronto",
  "compare.rankedBy": "Esecuzioni in ordine di {metric}",
  "compare.rankBy": "Ordina per {metric}",
  "compare.min": "più basso è meglio",
  "compare.max": "più alto è meglio",
  "compare.noDirection": "Non si sa in quale direzione sia meglio",
  "compare.run": "Esecuzione",
  "compare.metrics": "Metriche: ultima, migliore",
  "compare.parameters": "Iperparametri che differiscono",
  "compare.same": { one: "({count} è uguale)", other: "({count} sono uguali)" },
  "compare.allSame": "tutti uguali",
  "compare.time": "Durata",
  "compare.bestValue": "migliore {value}",
  "compare.bestOfAll": "Migliore di tutte:",
  "compare.remove": "Rimuovi {name}",
  "compare.curves": "Curve",
} satisfies Part<typeof en>;
