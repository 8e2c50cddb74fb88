import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { examinePolicies } from '../../../../../src/cli/check/advice/examine-policies.ts';
import { PROXIES } from '../../../../../src/cli/proxy-files/print/proxy-config.ts';
import { type Answers, DEFAULT_ANSWERS } from '../../../../../src/cli/proxy-files/setup/answers.ts';
import { ownPort, portsOf } from '../../../../../src/cli/proxy-files/setup/gateway-settings.ts';
import { nextSteps } from '../../../../../src/cli/proxy-files/setup/next-steps.ts';
import { namesApplication, setupFiles } from '../../../../../src/cli/proxy-files/setup/setup.ts';
import { SHIPPED_RANGES } from '../../../../../src/gateway/config/shipped-files.ts';

const FRONTS: readonly Answers['front'][] = [
  undefined,
  { kind: 'cloudflare' },
  { kind: 'load-balancer', networks: ['10.1.0.0/16', '2001:db8:1::/48'] },
];

function textOf(name: string, answers: Partial<Answers>): string {
  const files = setupFiles({ ...DEFAULT_ANSWERS, ...answers });
  return files.find((file) => file.name === name)?.text ?? '';
}

describe.each(FRONTS)('in front: $kind', (front) => {
  test.each([true, false])('keys: %s: headgate check has no warning', (keys) => {
    const text = textOf('policies.yaml', { front, keys });
    const paths = { policies: 'policies.yaml', cloudflareRanges: SHIPPED_RANGES };
    const { policies, diagnostics } = examinePolicies(paths, Date.now(), () => text);
    expect(policies).toBe(2);
    expect(diagnostics.filter(({ severity }) => severity !== 'info')).toEqual([]);
  });

  test.each(PROXIES)('%s: the files name the application and fit the policy file', (proxy) => {
    const files = setupFiles({
      ...DEFAULT_ANSWERS,
      ...{ proxy, front, application: { host: 'app.internal', port: 5000 } },
    });
    const texts = files.map(({ text }) => text).join('\n');
    expect(texts).toContain('app.internal');
    expect(texts).toContain('5000');
    // The route of on_gateway_failure: deny.
    expect(files.slice(2).filter(({ text }) => text.includes('/api/auth/login'))).toHaveLength(1);
  });
});

test.each(PROXIES)(
  '%s: the parts for an existing configuration take no name of its files',
  (proxy) => {
    const whole = setupFiles({ ...DEFAULT_ANSWERS, proxy }).slice(2);
    const parts = setupFiles({
      ...DEFAULT_ANSWERS,
      proxy,
      existing: true,
      login: '/account',
    }).slice(2);
    const names = parts.map(({ name }) => name);
    expect(names.every((name) => name.startsWith('headgate'))).toBe(true);
    const taken = whole.map(({ name }) => name).filter((name) => name !== 'headgate.lua');
    expect(names.filter((name) => taken.includes(name))).toEqual([]);
    // The route of on_gateway_failure: deny.
    expect(parts.filter(({ text }) => text.includes('/account'))).toHaveLength(1);
    const { includes } = nextSteps({ ...DEFAULT_ANSWERS, proxy, existing: true });
    // A snippet of Caddy needs no file of its own.
    for (const { line } of includes.filter(({ line }) => line !== 'import headgate'))
      expect(names.some((name) => line.includes(name))).toBe(true);
  },
);

test('the parts for an existing configuration do not name the application', () => {
  for (const proxy of PROXIES) {
    expect(namesApplication({ proxy, existing: false })).toBe(true);
    expect(namesApplication({ proxy, existing: true })).toBe(false);
  }
});

test('the load balancer is named in the file of each proxy, if the proxy reads its header', () => {
  const front = FRONTS[2];
  const files = {
    nginx: 'nginx.conf',
    caddy: 'Caddyfile',
    haproxy: 'haproxy.cfg',
    traefik: 'traefik.yaml',
  };
  for (const [proxy, name] of Object.entries(files)) {
    const lines = textOf(name, { proxy, front }).split('\n');
    const naming = lines.filter((line) => /10\.1\.0\.0\/16/.test(line) && !/^\s*#/.test(line));
    expect(naming, proxy).toHaveLength(1);
  }
  expect(parse(textOf('traefik.yaml', { proxy: 'traefik', front })).entryPoints.web).toMatchObject({
    forwardedHeaders: { trustedIPs: ['10.1.0.0/16', '2001:db8:1::/48'] },
  });
  expect(textOf('dynamic.yaml', { proxy: 'traefik', front })).toContain('trustForwardHeader: true');
  expect(textOf('policies.yaml', { front })).toContain(
    'trusted_proxies: [loopback, 10.1.0.0/16, "2001:db8:1::/48"]',
  );
});

describe.each(PROXIES)('compose.yaml with %s', (proxy) => {
  test('mounts the written files, and has the Redis of this machine', () => {
    const answers = { proxy, redis: 'redis://localhost:6380', with: ['compose'] } as const;
    const names = setupFiles({ ...DEFAULT_ANSWERS, ...answers }).map(({ name }) => name);
    const { services } = parse(textOf('compose.yaml', answers));
    const mounted = Object.values<{ volumes?: string[] }>(services)
      .flatMap(({ volumes = [] }) => volumes)
      .map((volume) => volume.split(':')[0]?.replace('./', ''))
      .filter((name) => name !== '.');
    // headgate gets the folder with the policy file.
    const others = ['policies.yaml', 'policies_test.yaml', 'compose.yaml'];
    expect(mounted.sort()).toEqual(names.filter((name) => !others.includes(name)).sort());
    expect(services.headgate.image).toMatch(/^ghcr\.io\/headgate\/headgate:\d+\.\d+\.\d+$/);
    expect(services.headgate.environment.HEADGATE_REDIS_URL).toBe('redis://localhost:6380');
    expect(services.redis.command.join(' ')).toContain('--bind 127.0.0.1 --port 6380');
  });
});

test('a Redis elsewhere is used, and not started', () => {
  const { services } = parse(
    textOf('compose.yaml', { redis: 'redis://10.0.0.9:6379', with: ['compose'] }),
  );
  expect(Object.keys(services)).toEqual(['headgate', 'proxy']);
  expect(services.headgate.environment.HEADGATE_REDIS_URL).toBe('redis://10.0.0.9:6379');
});

test.each([
  { port: 8000, url: ':8100/', settings: {} },
  { port: 8080, url: ':8000/', settings: { HEADGATE_PORT: '8180' } },
  { port: 8081, url: ':8000/', settings: { HEADGATE_GRPC_PORT: '8181' } },
  { port: 9464, url: ':8000/', settings: { HEADGATE_OPS_PORT: '9564' } },
])('an application on port $port keeps it', ({ port, url, settings }) => {
  for (const proxy of PROXIES) {
    const answers = { ...DEFAULT_ANSWERS, proxy, application: { host: 'localhost', port } };
    const { serve, curl } = nextSteps(answers);
    const overGrpc = proxy === 'envoy-grpc';
    const set = { ...settings, ...(!overGrpc && { HEADGATE_GRPC_PORT: 'off' }) };
    const words = Object.entries(set).map(([name, value]) => `${name}=${value}`);
    expect(serve.split(' ').sort()).toEqual(
      [...words, 'headgate', 'serve', '--policies', 'policies.yaml'].sort(),
    );
    expect(curl).toContain(`http://127.0.0.1${url}`);
    const text = setupFiles(answers)
      .map((file) => file.text)
      .join('\n')
      .replaceAll(/^\s*#.*$/gm, '');
    const asked = portsOf(answers)[overGrpc ? 'grpc' : 'check'];
    expect(text).toMatch(/8100|8000/);
    expect(text).toContain(String(asked));
  }
});

test.each(['systemd', 'compose'] as const)(
  'in the file for %s, only Envoy over gRPC has a gRPC port',
  (kind) => {
    const name = kind === 'systemd' ? 'headgate.service' : 'compose.yaml';
    for (const proxy of PROXIES) {
      const isOff = /HEADGATE_GRPC_PORT[=:] ?"?off/.test(textOf(name, { proxy, with: [kind] }));
      expect([proxy, isOff]).toEqual([proxy, proxy !== 'envoy-grpc']);
    }
  },
);

test('systemd starts the gateway again without end, as with the shipped unit', () => {
  const shipped = readFileSync(
    new URL('../../../../../deploy/systemd/headgate.service', import.meta.url),
    'utf8',
  );
  for (const unit of [textOf('headgate.service', { with: ['systemd'] }), shipped]) {
    expect(unit).toMatch(/^Restart=always$/m);
    expect(unit).toMatch(/^\[Unit\]$[^[]*^StartLimitIntervalSec=0$/m);
  }
});

test('an application of another machine takes no port', () => {
  const application = { host: '10.0.0.5', port: 8080 };
  expect(portsOf({ ...DEFAULT_ANSWERS, application })).toMatchObject({ proxy: 8000, check: 8080 });
  const answers = { ...DEFAULT_ANSWERS, proxy: 'traefik' };
  expect(ownPort({ ...answers, application: { host: '10.0.0.5', port: 8082 } })).toBe(8082);
});

test.each([
  ['caddy', 8090],
  ['haproxy', 8090],
  ['traefik', 8082],
])('%s sends checks to itself at a port that is free, or that was named', (proxy, port) => {
  const application = { host: 'localhost', port };
  const texts = (answers: Partial<Answers>) =>
    setupFiles({ ...DEFAULT_ANSWERS, proxy, application, ...answers })
      .map(({ text }) => text)
      .join('\n');
  for (const existing of [false, true]) {
    expect(texts({ existing })).toContain(`127.0.0.1:${port + 100}`);
    const named = texts({ existing, ownPort: 9999 });
    expect(named).toContain('127.0.0.1:9999');
    expect(named.replaceAll(`localhost:${port}`, '')).not.toContain(`:${port}`);
  }
  const ports = { ...DEFAULT_ANSWERS.ports, check: port + 100 };
  expect(texts({ ports })).toContain(`127.0.0.1:${port + 200}`);
  expect(() => texts({ ownPort: port })).toThrow(`application has port ${port}`);
  expect(() => texts({ ownPort: 8080 })).toThrow(
    'headgate has port 8080: choose another --own-port',
  );
  expect(() => texts({ ownPort: 8000 })).toThrow('clients connect to port 8000');
});

test('sentinels are named in the command and in the unit', () => {
  const redis = 'redis+sentinel://10.0.0.1:26379,10.0.0.2:26379/mymaster?sentinel_username=a%20b';
  expect(nextSteps({ ...DEFAULT_ANSWERS, redis }).serve).toBe(
    `HEADGATE_GRPC_PORT=off HEADGATE_REDIS_URL='${redis}' headgate serve --policies policies.yaml`,
  );
  const unit = textOf('headgate.service', { redis, with: ['systemd'] });
  expect(unit).toContain(`Environment="HEADGATE_REDIS_URL=${redis.replace('%', '%%')}"`);
});
