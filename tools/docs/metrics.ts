/** docs/metrics.md, made from the registered metrics. */
import { DIALECT_NAMES } from '../../src/gateway/dialects/index.ts';
import { createTelemetry } from '../../src/gateway/telemetry/telemetry.ts';
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
    'a name of the policy file, `default`, or `none` if no policy applied: exempt and blocked clients, malformed paths',
  verdict:
    '`allow`, `deny`: counted in the store. `local`: allowed or denied by the count of this gateway alone. `error_allow`, `error_deny`: not counted, decided by `on_store_failure`. `exempt`, `blocked`: the client is on a list. `shadow_deny`: a shadow policy would have denied the request. This is **in addition to** the verdict that the request got',
  port: '`check`, `grpc`, `json` (the rate limit service) or `ops`',
  kind: 'one of `identity.sources`, a header with `_` in place of `-`; `ip` if the request had none of them',
  plan: 'a plan of the policy file; `unknown` stands for all others',
  effect:
    '`blocked`, `exempt`: clients. `shadow`, `off`, `enforce`: policies. `log_level`, `log_allows`',
  mode: '`local`, `open`, `closed`: what `X-RateLimit-Mode` says',
  reason: 'a word for what went wrong, see [failure modes](failure-modes.md#what-headgate-reports)',
  dialect: `the proxy that sent the check: ${DIALECT_NAMES.map(code).join(', ')}`,
  header:
    'a name in lower case that the policy file or the dialect knows; never one that a client invented',
  channel: 'how the outcome was reported: `settle` (`POST /settle`) or `envoy` (its access log)',
  result:
    'of reloads: `ok`, or `error`: refused, and the previous policies stay in force. Of settlements: `settled`; `cut` (settled, without what was beyond a whole limit); `repeated`; `gone` (nothing left to give back); `reset`; `waiting` for Redis; `lost`; `elsewhere` (another gateway counted the request by itself); refused tokens are `malformed`, `forged`, `ended` or `unknown_limit`',
  version: 'the version of headgate',
  node: 'the version of Node',
  limit:
    'a limit of the rate limit service: the domain and the keys and values that its file gives; values that clients choose only with `value_to_metric` or `detailed_metric`, and then at most 1,000 names, the rest as `others`',
  outcome:
    '`within` its limit, `near` it (from 80 % on), `over` it, or `shadow_over`: over a limit in shadow mode',
  sha: 'the SHA-1 that `SCRIPT EXISTS` takes',
  sha256: 'the first 12 digits',
};

const HEAD = `# Metrics

The ops port (\`HEADGATE_OPS_PORT\`, default 9464) serves these metrics at \`/metrics\` for Prometheus.
[\`deploy/prometheus\`](../deploy/prometheus/alerts.yaml) has alerts, each with a [runbook](runbooks), and [\`deploy/grafana\`](../deploy/grafana) has two dashboards.
No label contains anything that a client sent.

1. Let Prometheus scrape the ops port of each gateway. Here Prometheus runs on the machine of the gateway; elsewhere, set \`HEADGATE_OPS_HOST\` to an address that it reaches, with a \`HEADGATE_ADMIN_TOKEN\`, which \`/metrics\` does not need.

   \`\`\`yaml prometheus.yml
   global: { scrape_interval: 15s }
   scrape_configs:
     - job_name: headgate
       static_configs: [{ targets: ['127.0.0.1:9464'] }]
   \`\`\`

2. Reload Prometheus, and ask it: \`curl 'http://127.0.0.1:9090/api/v1/query?query=headgate_config_info'\`. The answer names the gateway as \`instance\`.
3. In Grafana, add this Prometheus under Connections, Data sources. Then choose Dashboards, New, Import, and upload [\`traffic.json\`](../deploy/grafana/traffic.json); then the same with [\`health.json\`](../deploy/grafana/health.json). At the top of each, choose the data source under \`Prometheus\`, and the job.

[\`deploy/compose\`](../deploy/compose/compose.yaml) starts all of that in containers.

A counter with labels does not exist before it first counts. If a query needs 0 instead, write \`X or vector(0)\`.
Several workers (\`HEADGATE_WORKERS\`) have one \`/metrics\`. The last column says how their values are combined.
`;

/** Throws if a label has no description. */
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
  const { registry } = createTelemetry({
    level: 'silent',
    version: '0',
    now: Date.now,
    destination: { write() {} },
  });
  return registry.getMetricsAsArray() as unknown as readonly Registered[];
}

function rowOf(metric: Registered): string[] {
  const { name, type, labelNames, help, aggregator = 'sum' } = metric;
  const workers = aggregator === 'omit' ? 'omitted' : aggregator;
  return [code(name), type, labelNames.map(code).join(', '), help, workers];
}

function meaningOf(label: string): string {
  const meaning = LABELS[label];
  if (meaning === undefined) throw new Error(`say in ${import.meta.filename} what ${label} is`);
  return meaning;
}
