/** Makes metrics from tables. A topic has a table of its metrics, as it has one of its log lines. */
import { Counter, Gauge, Histogram, type Registry } from 'prom-client';

/** Upper bounds of histograms for what takes less than a few milliseconds, in seconds. */
export const FAST_BUCKETS = [
  0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25,
];

interface MetricRow {
  readonly help: string;
  readonly labels?: readonly string[];
  /** Prometheus reads one value for all workers. Default: the sum of theirs. */
  readonly aggregator?: 'max' | 'min';
  readonly buckets?: readonly number[];
}

/** The keys are the names. A metric with buckets is a histogram, one whose name ends with `_total` a counter, any other a gauge. */
export type MetricRows = Readonly<Record<`headgate_${string}`, MetricRow>>;

type LabelOf<Row> = Row extends { readonly labels: readonly (infer L extends string)[] }
  ? L
  : never;

type MetricsOf<Rows> = {
  readonly [Name in keyof Rows]: Rows[Name] extends { readonly buckets: unknown }
    ? Histogram
    : Name extends `${string}_total`
      ? Counter<LabelOf<Rows[Name]>>
      : Gauge<LabelOf<Rows[Name]>>;
};

/** Returns what makes the metrics of a table, and registers them in its order. */
export function metricsIn(registry: Registry) {
  return <Rows extends MetricRows>(rows: Rows): MetricsOf<Rows> => {
    const metrics = Object.entries(rows).map(([name, row]) => [
      name,
      metricOf(name, row, registry),
    ]);
    return Object.fromEntries(metrics);
  };
}

function metricOf(name: string, row: MetricRow, registry: Registry) {
  const { labels = [], buckets, ...rest } = row;
  const configuration = { name, ...rest, labelNames: [...labels], registers: [registry] };
  if (buckets !== undefined) return new Histogram({ ...configuration, buckets: [...buckets] });
  return name.endsWith('_total') ? new Counter(configuration) : new Gauge(configuration);
}

/**
 * At each scrape, the counter takes over what a tally has counted. Looking up a label of a metric for each request costs
 * ten times as much.
 */
export function countAtScrape<Label extends string>(
  counter: Counter<Label>,
  counts: () => Iterable<readonly [labels: Record<Label, string>, count: number]>,
): void {
  // prom-client calls it before it reads the counter.
  const collect = () => {
    counter.reset();
    for (const [labels, count] of counts()) counter.inc(labels, count);
  };
  Object.assign(counter, { collect });
}
