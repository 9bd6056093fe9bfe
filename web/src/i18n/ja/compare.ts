import type { Part } from "../catalogue";
import type en from "../en/compare";

export default {
  "compare.title": "比較",
  "compare.choose": "実行を選ぶ",
  "compare.noneTitle": "比較するものがまだありません",
  "compare.none": "二つ以上の実行を選ぶと、曲線を重ね、指標ごとの最良と設定の違いを示します。",
  "compare.gone": { other: "選んだ実行のうち {count} 件はもうありません。" },
  "compare.most": { other: "最初の {count} 件だけを表示しています。" },
  "compare.table": "実行の比較表",
  "compare.rankedBy": "{metric} による実行の順位",
  "compare.rankBy": "{metric} で順位をつける",
  "compare.min": "小さいほど良い",
  "compare.max": "大きいほど良い",
  "compare.noDirection": "どちらが良いか不明です",
  "compare.run": "実行",
  "compare.metrics": "指標: 最新、最良",
  "compare.parameters": "異なるハイパーパラメーター",
  "compare.same": { other: "(同じもの {count} 件)" },
  "compare.allSame": "すべて同じ",
  "compare.time": "時間",
  "compare.bestValue": "最良 {value}",
  "compare.bestOfAll": "全体で最良:",
  "compare.remove": "{name} を外す",
  "compare.curves": "曲線",
} satisfies Part<typeof en>;
