/** Which metrics share a chart, and in what order charts come. Pure. */

const LOSSES = ["loss", "train_loss", "train/loss", "eval_loss", "val_loss", "validation_loss", "eval/loss"];
const NEXT = [
  /^(eval|val|valid|validation|test)([_/]|$)/,
  /accuracy|reward|bleu|f1|perplexity/,
  /grad(ient)?_norm/,
  /learning_rate|(^|[/_])lr$/,
  /throughput|per_second/,
];

/** Groups of metric names: training and evaluation loss together, every other metric alone, the telling ones first. */
export function chartsOf(metrics: readonly string[]): string[][] {
  const losses = LOSSES.filter((name) => metrics.includes(name));
  const rank = (name: string) => {
    const index = NEXT.findIndex((pattern) => pattern.test(name));
    return index < 0 ? NEXT.length : index;
  };
  const others = metrics
    .filter((name) => !LOSSES.includes(name))
    .sort((a, b) => rank(a) - rank(b) || (a < b ? -1 : a > b ? 1 : 0));
  return [...(losses.length > 0 ? [losses] : []), ...others.map((name) => [name])];
}
