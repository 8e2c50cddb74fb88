/** deploy/compose without containers: its files fit each other, and work in the real programs. */
import { existsSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { readEnvironment } from '../../src/gateway/config/settings/environment.ts';
import { call, statuses } from '../support/http.ts';
import { RULES, RULES_FILE } from '../support/observability-rules.ts';
import { redisIsHere, startRedis } from '../support/redis.ts';
import {
  fileOfCompose,
  type Machine,
  mounts,
  readYaml,
  SERVICES,
  startMachine,
} from './support/compose.ts';
import { DASHBOARD_FOLDER, DASHBOARDS, queriesOf } from './support/observability-dashboards.ts';
import { checkPrometheusFile, startPrometheus } from './support/prometheus.ts';

const DASHBOARDS_IN_GRAFANA = '/etc/grafana/dashboards';
const SCRAPE_SECONDS = 5;

describe.each(Object.entries(SERVICES))('%s', (name, service) => {
  test('mounts existing files', () => {
    for (const file of mounts(name).values()) expect(existsSync(file), file.pathname).toBe(true);
    for (const volume of service.volumes ?? []) expect(volume).toMatch(/:ro$/);
  });
  test('waits for existing services with a health check', () => {
    for (const other of Object.keys(service.depends_on ?? {})) {
      expect(SERVICES[other]?.healthcheck?.test[0], other).toBe('CMD');
    }
    const [, machine] = service.network_mode?.split('service:') ?? [];
    if (machine !== undefined) expect(SERVICES).toHaveProperty(machine);
  });
  test('has few rights, and is reachable only from this machine', () => {
    expect(service).toMatchObject({
      read_only: true,
      cap_drop: ['ALL'],
      security_opt: ['no-new-privileges:true'],
    });
    expect(service).not.toHaveProperty('privileged');
    for (const port of service.ports ?? []) expect(port).toMatch(/^127\.0\.0\.1:\d+:\d+$/);
  });
  test('is built here, or has a fixed version', () => {
    if (service.build === undefined) expect(service.image).toMatch(/:v?\d+\.\d+\.\d+(-[a-z-]+)?$/);
    else expect(existsSync(new URL('Dockerfile', fileOfCompose(`${service.build}/`)))).toBe(true);
  });
});

test.each([1, 2])('gateway %i has valid settings, and shares Redis with the other', (number) => {
  const { redis, opsHost, host } = readEnvironment({
    ...SERVICES[`gateway-${number}`]?.environment,
  });
  expect({ opsHost, host }).toEqual({ opsHost: '0.0.0.0', host: '127.0.0.1' });
  expect(redis?.addresses).toEqual([{ host: 'redis', port: 6379 }]);
  expect(SERVICES).toHaveProperty('redis');
});

test('the ops port is not published, because the admin token is public', () => {
  const { opsPort } = readEnvironment({});
  for (const number of [1, 2]) {
    const { environment = {} } = SERVICES[`gateway-${number}`] ?? {};
    expect(readEnvironment({ ...environment }).adminToken).toMatch(/^demo-/);
  }
  const published = Object.values(SERVICES).flatMap(({ ports = [] }) => ports);
  expect(published).toHaveLength(4);
  for (const port of published) expect(port).not.toMatch(new RegExp(`:${opsPort}$`));
});

test.each([1, 2])('machine %i has the shipped NGINX file and a gateway', (number) => {
  const shipped = new URL('../nginx/nginx.conf', fileOfCompose('.'));
  expect(mounts(`proxy-${number}`).get('/etc/nginx/nginx.conf')?.pathname).toBe(shipped.pathname);
  for (const part of ['gateway', 'proxy']) {
    expect(SERVICES[`${part}-${number}`]?.network_mode).toBe(`service:machine-${number}`);
  }
});

test('Prometheus scrapes the ops port of every machine', () => {
  const { opsPort } = readEnvironment({});
  const { global, scrape_configs: jobs } = readYaml('prometheus.yml');
  expect(global.scrape_interval).toBe(`${SCRAPE_SECONDS}s`);
  expect(jobs[0].static_configs[0].targets).toEqual([
    `machine-1:${opsPort}`,
    `machine-2:${opsPort}`,
  ]);
});

test('Prometheus finds the alert rules, here and in its container', () => {
  const [path] = readYaml('prometheus.yml').rule_files;
  expect(fileOfCompose(path)).toEqual(RULES_FILE);
  const mounted = mounts('prometheus');
  const config = [...mounted.keys()].find((target) => target.endsWith('prometheus.yml')) ?? '';
  expect(mounted.get(resolve(dirname(config), path))).toEqual(RULES_FILE);
});

test('Grafana finds every dashboard and its Prometheus', () => {
  const [source] = readYaml('grafana/datasources.yaml').datasources;
  const { hostname, port } = new URL(source.url);
  expect(SERVICES[hostname]?.ports?.[0]).toMatch(new RegExp(`:${port}$`));
  expect(source).toMatchObject({ type: 'prometheus', isDefault: true });
  expect(source.jsonData.timeInterval).toBe(`${SCRAPE_SECONDS}s`);
  const [provider] = readYaml('grafana/dashboards.yaml').providers;
  expect(provider.options.path).toBe(DASHBOARDS_IN_GRAFANA);
  const mounted = mounts('grafana');
  for (const { file } of DASHBOARDS) {
    const target = `${DASHBOARDS_IN_GRAFANA}/${file}`;
    expect(mounted.get(target)).toEqual(new URL(file, DASHBOARD_FOLDER));
  }
  const home = SERVICES.grafana?.environment?.GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH ?? '';
  expect(mounted.has(home)).toBe(true);
});

const programs = inject('programs');
const login = ({ url }: Machine, key: string) =>
  call(url, '/api/auth/login', { method: 'POST', headers: { 'x-api-key': key } });

describe.skipIf(!redisIsHere || programs.nginx === undefined)('two machines', () => {
  const started = new AsyncDisposableStack();
  let first: Machine;
  let second: Machine;

  beforeAll(async () => {
    const redis = started.use(await startRedis());
    first = started.use(await startMachine(1, redis.url));
    second = started.use(await startMachine(2, redis.url));
  });
  afterAll(() => started.disposeAsync());

  test('count together: of alternating logins, five are allowed and the sixth is denied', async () => {
    const bodies: string[] = [];
    const either = async (i: number) => {
      const answer = await login(i % 2 === 0 ? first : second, 'alice');
      bodies.push(answer.body);
      return answer;
    };
    expect(await statuses(5, either)).toEqual([200, 200, 200, 200, 200]);
    const reached = (number: number) => `POST /api/auth/login reached machine-${number}\n`;
    expect(bodies).toEqual([1, 2, 1, 2, 1].map(reached));
    expect(await statuses(2, either)).toEqual([429, 429]);
  });

  test.skipIf(programs.prometheus === undefined)(
    'are measured, the alert rules are loaded, and the first panels of the dashboards have data',
    async () => {
      checkPrometheusFile(fileURLToPath(fileOfCompose('prometheus.yml')));
      await using prometheus = await startPrometheus('compose/prometheus.yml', {
        [`scrape_interval: ${SCRAPE_SECONDS}s`]: 'scrape_interval: 1s',
        '../prometheus/alerts.yaml': fileURLToPath(RULES_FILE),
        'machine-1:9464': new URL(first.opsUrl).host,
        'machine-2:9464': new URL(second.opsUrl).host,
      });
      expect(await prometheus.alerts()).toEqual(RULES.map(({ alert }) => alert));
      const numbers = DASHBOARDS.flatMap(({ panels }) =>
        panels.filter(({ type }) => type === 'stat'),
      );
      const queries = numbers.flatMap(queriesOf);
      expect(queries.length).toBeGreaterThanOrEqual(DASHBOARDS.length);
      const withoutData = async () => {
        await Promise.all([login(first, 'bob'), login(second, 'bob')]);
        const answers = await Promise.all(queries.map((query) => prometheus.query(query)));
        const isData = (values: readonly number[] = []) =>
          values.length > 0 && values.every(Number.isFinite);
        return queries.filter((_, i) => !isData(answers[i]));
      };
      await expect.poll(withoutData, { timeout: 60_000, interval: 100 }).toEqual([]);
      expect(await prometheus.query('count(headgate_degraded == 0)')).toEqual([2]);
    },
  );
});
