import type { Part } from "../catalogue";
import type en from "../en/compare";

export default {
  "compare.title": "Comparação",
  "compare.choose": "Escolher execuções",
  "compare.noneTitle": "Nada para comparar ainda",
  "compare.none":
    "Escolha duas ou mais execuções para ver as curvas sobrepostas, qual é a melhor em quê e no que diferem.",
  "compare.gone": {
    one: "{count} execução escolhida não existe mais.",
    other: "{count} execuções escolhidas não existem mais.",
  },
  "compare.most": {
    one: "Só a primeira execução é mostrada.",
    other: "Só as primeiras {count} execuções são mostradas.",
  },
  "compare.table": "Execuções lado a lado",
  "compare.rankedBy": "Execuções ordenadas por {metric}",
  "compare.rankBy": "Ordenar por {metric}",
  "compare.min": "menor é melhor",
  "compare.max": "maior é melhor",
  "compare.noDirection": "Não se sabe qual direção é melhor",
  "compare.run": "Execução",
  "compare.metrics": "Métricas: mais recente, melhor",
  "compare.parameters": "Hiperparâmetros que diferem",
  "compare.same": { one: "({count} é igual)", other: "({count} são iguais)" },
  "compare.allSame": "todos iguais",
  "compare.time": "Duração",
  "compare.bestValue": "melhor {value}",
  "compare.bestOfAll": "Melhor de todas:",
  "compare.remove": "Remover {name}",
  "compare.curves": "Curvas",
} satisfies Part<typeof en>;
