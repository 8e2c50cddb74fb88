/** Alerts, runbooks, dashboards and the reference of metrics fit what gateways measure. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { LOG_LINES } from '../../src/gateway/telemetry/log-lines.ts';
import { registeredMetrics } from '../../tools/docs/metrics.ts';
import { waitUntil } from '../support/eventually.ts';
import {
  blocksOf,
  metricsNamedIn,
  RULE_TESTS,
  RULES,
  RULES_FILE,
  RUNBOOKS,
} from '../support/observability-rules.ts';
import { ownRedisIsHere, startRedis } from '../support/redis.ts';
import { DASHBOARDS, queriesOf } from './support/observability-dashboards.ts';
import { type Measured, startMeasured } from './support/observability-traffic.ts';
import {
  checkPrometheusFile,
  checkRules,
  type Prometheus,
  startPrometheus,
  testRules,
} from './support/prometheus.ts';

const prometheusIsHere = inject('programs').prometheus !== undefined;
const read = (file: URL) => readFileSync(file, 'utf8');

describe('every metric exists that is named in', () => {
  const names = registeredMetrics().flatMap(({ name, type }) =>
    type === 'histogram' ? ['', '_bucket', '_sum', '_count'].map((part) => name + part) : [name],
  );
  const texts: readonly (readonly [string, string])[] = [
    ...[RULES_FILE, ...RULE_TESTS].map((file) => [basename(file.pathname), read(file)] as const),
    ...DASHBOARDS.map(({ file, ...dashboard }) => [file, JSON.stringify(dashboard)] as const),
    ...RUNBOOKS,
  ];
  test.each(texts)('%s', (_file, text) => {
    const named = metricsNamedIn(text);
    expect(named).not.toEqual([]);
    expect(named.filter((name) => !names.includes(name))).toEqual([]);
  });
});

test.skipIf(!prometheusIsHere)('docs/metrics.md has a valid file for Prometheus', () => {
  const page = read(new URL('../../docs/metrics.md', import.meta.url));
  const [, block = ''] = /```yaml prometheus\.yml\n([\s\S]*?)```/.exec(page) ?? [];
  expect(block).toContain('127.0.0.1:9464');
  const folder = mkdtempSync(join(tmpdir(), 'headgate-metrics-'));
  try {
    const file = join(folder, 'prometheus.yml');
    writeFileSync(file, block.replaceAll(/^ {3}/gm, ''));
    checkPrometheusFile(file);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

describe('alerts', () => {
  test.skipIf(!prometheusIsHere)('are valid, and fire only when they should', () => {
    checkRules(fileURLToPath(RULES_FILE));
    testRules(RULE_TESTS.map((file) => fileURLToPath(file)));
  });

  test.each(RULES)(
    '$alert has a severity, a summary, a description and a runbook',
    ({ alert, labels, annotations }) => {
      expect(labels.severity).toMatch(/^(critical|warning|info)$/);
      expect(Object.keys(annotations)).toEqual(['summary', 'description', 'runbook_url']);
      expect(annotations.runbook_url).toBe(`docs/runbooks/${alert}.md`);
      const runbook = RUNBOOKS.get(`${alert}.md`);
      expect(runbook).toMatch(new RegExp(`^# ${alert}\n\n${labels.severity}: `, 'i'));
      for (const part of ['**Impact**', '## Diagnose', '## Fix', '## When to ignore']) {
        if (!/users \|/.test(runbook ?? '')) expect(runbook).toContain(part);
      }
      const tests = RULE_TESTS.map(read).join('\n');
      expect(tests).toContain(`alertname: ${alert}\n`);
    },
  );

  test('have one runbook each, and every runbook has an alert', () => {
    expect([...RUNBOOKS.keys()].sort()).toEqual(RULES.map(({ alert }) => `${alert}.md`).sort());
  });

  test('have runbooks whose log events exist', () => {
    const searched = blocksOf('sh').flatMap((block) =>
      [...block.matchAll(/"event":"\(?([\w|]+)\)?"/g)].flatMap(([, names = '']) =>
        names.split('|'),
      ),
    );
    expect(searched).not.toEqual([]);
    for (const name of searched) expect(Object.keys(LOG_LINES)).toContain(name);
  });
});

describe.each(DASHBOARDS)('dashboard $file', ({ uid, panels, links, templating }) => {
  test('offers a choice of Prometheus, job and gateways, and links to the others', () => {
    expect(templating.list.map(({ name }) => name)).toEqual(['datasource', 'job', 'instance']);
    const others = DASHBOARDS.filter((other) => other.uid !== uid);
    expect(links.map(({ url }) => url)).toEqual(others.map((other) => `/d/${other.uid}`));
  });

  test('describes every panel and its unit, and every panel uses the chosen gateways', () => {
    for (const { title, description, datasource, fieldConfig, targets } of panels) {
      expect(description, title).toMatch(/\.$/);
      expect(fieldConfig.defaults.unit, title).toBeDefined();
      expect(datasource.uid, title).toBe(`\${datasource}`);
      expect(targets.length, title).toBeGreaterThan(0);
      for (const { expr } of targets) {
        const selectors = expr.match(/\{[^}]*\}/g) ?? [];
        expect(selectors.length, expr).toBeGreaterThan(0);
        for (const selector of selectors) {
          expect(selector).toContain('job=~"$job", instance=~"$instance"');
        }
      }
    }
  });

  test('has no panels on top of each other', () => {
    const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, i) => `${x + (i % w)},${y + Math.floor(i / w)}`),
    );
    expect(new Set(cells).size).toBe(cells.length);
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
  });
});

describe.skipIf(!ownRedisIsHere || !prometheusIsHere)('a gateway under load', () => {
  const started = new AsyncDisposableStack();
  let measured: Measured;
  let prometheus: Prometheus;

  beforeAll(async () => {
    const redis = started.use(await startRedis());
    measured = started.use(await startMeasured(redis));
    prometheus = started.use(
      await startPrometheus('compose/prometheus.yml', {
        'scrape_interval: 5s': 'scrape_interval: 250ms',
        'evaluation_interval: 15s': 'evaluation_interval: 250ms',
        '../prometheus/alerts.yaml': fileURLToPath(RULES_FILE),
        'machine-1:9464, machine-2:9464': new URL(measured.gateway.opsUrl).host,
      }),
    );
    await waitUntil('the gateway is scraped', async () => (await prometheus.query('up'))[0] === 1);
    await Promise.all([measured.silence(redis), measured.changeFiles()]);
  });
  afterAll(() => started.disposeAsync());

  test.each(DASHBOARDS)('has data for every panel of $file', async ({ panels }) => {
    const queries = panels.flatMap(queriesOf);
    const withoutData = async () => {
      await measured.traffic();
      const answers = await Promise.all(queries.map((query) => prometheus.query(query)));
      const isData = (values: readonly number[] = []) =>
        values.length > 0 && values.every(Number.isFinite);
      return queries.filter((_, i) => !isData(answers[i]));
    };
    await expect.poll(withoutData, { timeout: 60_000, interval: 100 }).toEqual([]);
  });

  test.each([
    'headgate_decisions_total{policy="login", verdict="deny"}',
    'headgate_decisions_total{policy="login", verdict="error_allow"}',
    'headgate_decisions_total{policy="pay", verdict="error_deny"}',
    'headgate_decisions_total{policy="chat", verdict="local"}',
    'headgate_decisions_total{policy="next", verdict="shadow_deny"}',
    'headgate_decisions_total{verdict="exempt"}',
    'headgate_decisions_total{verdict="blocked"}',
    'headgate_identity_total{kind="api_key"}',
    'headgate_untrusted_header_total{header="cf-connecting-ip"}',
    'headgate_untrusted_proxy_requests_total',
    'headgate_misconfigured_requests_total{dialect="haproxy"}',
    'headgate_strangers_refused_total',
    'headgate_unmatched_total',
    'headgate_remembered_denials_total',
    'headgate_repeated_checks_total',
    'headgate_policy_reloads_total{result="ok"}',
    'headgate_active_windows',
    'headgate_policy_reloads_total{result="error"}',
    'headgate_store_errors_total{reason="timeout"}',
    'headgate_store_given_up_total',
  ])('counts %s', async (counter) => {
    const counted = async () => (await prometheus.query(counter))[0] ?? 0;
    // The gateway counts active windows every ten seconds.
    await expect.poll(counted, { timeout: 60_000 }).toBeGreaterThan(0);
  });

  test('can be queried with every expression of the runbooks', async () => {
    const queries = blocksOf('promql');
    expect(queries.length).toBeGreaterThan(RULES.length);
    await Promise.all(queries.map((query) => prometheus.query(query)));
  });

  test('is covered by every alert, and HeadgateDown does not fire', async () => {
    expect(await prometheus.alerts()).toEqual(RULES.map(({ alert }) => alert));
    await Promise.all(RULES.map(({ expr }) => prometheus.query(expr)));
    expect(await prometheus.query('ALERTS{alertname="HeadgateDown"}')).toEqual([]);
  });
});
