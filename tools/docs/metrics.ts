/** docs/metrics.md, made from the registered metrics. */
import { DIALECT_NAMES } from '../../src/dialects/index.ts';
import { createMetrics } from '../../src/telemetry/metrics.ts';
import { code, table } from './markdown.ts';

/** What the registry holds, of which its types tell less. */
interface Registered {
  readonly name: string;
  readonly help: string;
  readonly type: string;
  readonly labelNames: readonly string[];
  readonly aggregator?: string;
  readonly upperBounds?: readonly number[];
}

const LABELS: Readonly<Record<string, string>> = {
  policy:
    'a name of the policy file, `default`, or `none` where no policy was asked: exempt and blocked clients, malformed paths',
  verdict:
    '`allow`, `deny`: by what was counted in the store. `local`: allowed or denied by what this gateway alone counted. `error_allow`, `error_deny`: by `on_store_failure`, uncounted. `exempt`, `blocked`: by who the client is. `shadow_deny`: what a policy in shadow would have denied, **besides** the verdict that the request got',
  kind: 'one of `identity.sources`, a header with `_` in place of `-`; `ip` where the request had none of them',
  effect:
    '`blocked`, `exempt`: clients. `shadow`, `off`, `enforce`: policies. `log_level`, `log_allows`',
  mode: '`local`, `open`, `closed`: what `X-RateLimit-Mode` says',
  reason: 'a word for what went wrong, see [failure modes](failure-modes.md#what-headgate-reports)',
  dialect: `the proxy that sent the check: ${DIALECT_NAMES.map(code).join(', ')}`,
  header:
    'a name, in lower case, that the policy file or the dialect knows; never one that a client made up',
  result: '`ok`, or `error`: refused, and what was in force stays',
  version: 'of headgate',
  node: 'of Node',
  sha: 'SHA-1, by which `SCRIPT EXISTS` knows it',
  sha256: 'its first 12 digits',
};

const HEAD = `# Metrics

What \`/metrics\` of the operators' port (\`HEADGATE_OPS_PORT\`, 9464) has for Prometheus.
[\`deploy/prometheus\`](../deploy/prometheus/alerts.yaml) has alerts over them, with a [runbook](runbooks) each, and [\`deploy/grafana\`](../deploy/grafana) two dashboards.
No label holds anything that a client sent.

A counter with labels is not there before it first counts, and so is not 0 either: ask for \`X or vector(0)\` where that matters.
Several workers (\`HEADGATE_WORKERS\`) are one \`/metrics\`; the last column says what is made of them.
`;

/** Throws when there is a label that nothing is said of. */
export function metricReference(): string {
  const metrics = registeredMetrics();
  const isOurs = ({ name }: Registered) => name.startsWith('headgate_');
  const ours = metrics.filter(isOurs);
  const labels = [...new Set(ours.flatMap(({ labelNames }) => labelNames))];
  const sections = [
    HEAD,
    '## Of headgate\n',
    table(['metric', 'type', 'labels', 'is', 'workers'], ours.map(rowOf)),
    '## Labels\n',
    table(
      ['label', 'is'],
      labels.map((label) => [code(label), meaningOf(label)]),
    ),
    '## Buckets\n',
    table(
      ['histogram', 'upper bounds'],
      ours.flatMap(({ name, upperBounds }) =>
        upperBounds === undefined ? [] : [[code(name), upperBounds.join(', ')]],
      ),
    ),
    '## Of the process and of Node\n\nOn Linux; elsewhere some are missing.\n',
    table(
      ['metric', 'type', 'labels', 'is', 'workers'],
      metrics.filter((each) => !isOurs(each)).map(rowOf),
    ),
  ];
  return sections.join('\n');
}

/** Whatever a gateway measures, whether it has measured anything yet or not. */
export function registeredMetrics(): readonly Registered[] {
  return createMetrics().registry.getMetricsAsArray() as unknown as readonly Registered[];
}

function rowOf(metric: Registered): string[] {
  const { name, type, labelNames, help, aggregator = 'sum' } = metric;
  const workers = aggregator === 'omit' ? 'not there' : aggregator;
  return [code(name), type, labelNames.map(code).join(', '), help, workers];
}

function meaningOf(label: string): string {
  const meaning = LABELS[label];
  if (meaning === undefined) throw new Error(`say in ${import.meta.filename} what ${label} is`);
  return meaning;
}
