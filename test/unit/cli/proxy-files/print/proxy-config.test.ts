import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { PROXIES } from '../../../../../src/cli/proxy-files/print/proxy-config.ts';
import { fillRegions } from '../../../../../src/cli/proxy-files/print/regions.ts';
import { proxyConfigOf, validFile } from '../../../../support/proxy-config.ts';

const ROOT = new URL('../../../../../', import.meta.url);
const read = (name: string) => readFileSync(new URL(name, ROOT), 'utf8');
const SHIPPED_POLICIES = read('config/policies.yaml');
const FILES: Readonly<Record<string, string>> = {
  nginx: 'nginx/nginx.conf',
  envoy: 'envoy/envoy.yaml',
  'envoy-grpc': 'envoy/envoy-grpc.yaml',
  caddy: 'caddy/Caddyfile',
  haproxy: 'haproxy/haproxy.cfg',
  traefik: 'traefik/dynamic.yaml',
};

const EVERYTHING = `
version: 1
identity:
  sources: [api_key, user, { header: fastly-client-ip, from: [151.101.0.0/16] }, ip]
  api_key: { header: authorization }
  user: { header: x-auth-user }
  verified_headers: [x-tenant]
  forwarded_header: forwarded
default: { limits: [1000/1h, { rate: 9/1h, per: "header:x-device" }] }
policies:
  - { name: a, match: { path: /a }, limits: [5/1h], plans: { pro: [{ rate: 9/1h, per: "header:x-tenant" }] } }
`;

test.each(['envoy', 'envoy-grpc'])(
  '%s refuses what identifies clients and is not UTF-8',
  (proxy) => {
    const refusedBy = (policies: string) =>
      [...proxyConfigOf(proxy, policies).matchAll(/header: \{ name: (\S+), .*invert_match/g)].map(
        ([, name]) => name,
      );
    expect(refusedBy(EVERYTHING)).toEqual(['"authorization"', 'fastly-client-ip', 'x-device']);
    const byAddress = 'version: 1\nidentity: { sources: [ip] }\ndefault: { limits: [1/1h] }';
    expect(refusedBy(byAddress)).toEqual([]);
    expect(() => parse(proxyConfigOf(proxy, byAddress))).not.toThrow();
  },
);

test.each(['nginx', 'envoy', 'caddy', 'haproxy', 'traefik'])(
  '%s must set the header by which a limit reserves',
  (proxy) => {
    const policies = `
version: 1
identity: { sources: [ip], verified_headers: [x-reserve] }
default: { limits: [{ rate: 9/1h, algorithm: fixed-window, unit: tokens, reserve: { header: x-reserve }, unknown: 9 }] }`;
    expect(proxyConfigOf(proxy, policies).toLowerCase()).toContain('x-reserve');
  },
);

test('only Envoy over gRPC sends metadata of filters, and only what the policy file names', () => {
  const policies = `
version: 1
identity:
  sources: [user, ip]
  user: { metadata: envoy.filters.http.jwt_authn, claim: [payload, sub] }
  plan: { metadata: "a:b]", claim: plan }
default: { limits: [1/1h], plans: { pro: [9/1h] } }`;
  for (const proxy of PROXIES) {
    const text = proxyConfigOf(proxy, policies);
    if (proxy !== 'envoy-grpc') expect(text).toBe(proxyConfigOf(proxy, BY_ADDRESS));
  }
  const { http_filters } = managerOf(proxyConfigOf('envoy-grpc', policies));
  const check = http_filters.find(({ name }) => name === 'headgate.ext_authz');
  expect(check?.typed_config.metadata_context_namespaces).toEqual([
    'envoy.filters.http.jwt_authn',
    'a:b]',
  ]);
});

interface HttpManager {
  readonly http_filters: readonly {
    readonly name: string;
    readonly typed_config: { readonly metadata_context_namespaces?: unknown };
  }[];
}

function managerOf(text: string): HttpManager {
  const { static_resources } = parse(text);
  return static_resources.listeners[0].filter_chains[0].filters[0].typed_config;
}

test('there is a file for every proxy', () => {
  expect(PROXIES).toEqual(Object.keys(FILES));
});

describe.each(PROXIES)('%s', (proxy) => {
  test('the shipped file is what the shipped policies give, byte for byte', () => {
    expect(proxyConfigOf(proxy, SHIPPED_POLICIES)).toBe(read(`deploy/${FILES[proxy]}`));
  });

  test('names every header that the policy file reads', () => {
    const lines = proxyConfigOf(proxy, EVERYTHING).toLowerCase().split('\n');
    const lineOf = (name: string) => lines.find((line) => line.includes(name)) ?? '';
    // Caddy sends all headers, so it only has to name those that clients must not set.
    const passed = ['authorization', 'fastly-client-ip', 'x-device', 'forwarded'];
    for (const name of proxy === 'caddy' ? [] : passed) expect(lineOf(name), name).not.toBe('');
    for (const name of ['x-auth-user', 'x-tenant']) expect(lineOf(name)).toMatch(/ must .*set/);
  });

  test("never passes on a client's own value of a header that the gateway believes", () => {
    const added = proxyConfigOf(proxy, EVERYTHING)
      .split('\n')
      .filter((line) => /x.auth.user|x.tenant/i.test(line) && !line.trimStart().startsWith('#'));
    const harmless =
      /^\s*(proxy_set_header \S+ "";|header_up -\S+|http-request del-header \S+|http-request lua\.headgate \S+ \S+)$/;
    expect(added.filter((line) => !harmless.test(line))).toEqual([]);
  });

  test('writes other addresses, and only there', () => {
    const gateway = { host: '10.0.0.2', port: 9_999 };
    const application = { host: '10.0.0.3', port: 7_777 };
    const written = proxyConfigOf(proxy, SHIPPED_POLICIES, { gateway, application }).split('\n');
    const shipped = read(`deploy/${FILES[proxy]}`).split('\n');
    const changed = shipped.filter((line, i) => line !== written[i]);
    expect(written).toHaveLength(shipped.length);
    expect(changed.length).toBeGreaterThan(1);
    for (const line of changed) expect(line).toMatch(/127\.0\.0\.1.*(3000|8080|8081)/);
    expect(written.filter((line) => /10\.0\.0\.2.*9999/.test(line))).not.toEqual([]);
    expect(written.filter((line) => /10\.0\.0\.3.*7777/.test(line))).not.toEqual([]);
  });

  test('shows where a secret goes', () => {
    const without = proxyConfigOf(proxy, SHIPPED_POLICIES).split('\n');
    const secret = proxyConfigOf(proxy, SHIPPED_POLICIES, { sendsSecret: true }).split('\n');
    const changed = secret.filter((line, i) => line !== without[i]);
    // Caddy always reads it from its environment.
    if (proxy === 'caddy') expect(changed).toEqual([]);
    else expect(changed).toEqual([expect.stringMatching(/^\s*[^#]*"the secret"/)]);
  });

  test('without a policy that says deny, it refuses nothing', () => {
    const text = proxyConfigOf(proxy, SHIPPED_POLICIES.replace(/on_gateway_failure: deny.*/, ''));
    expect(text).not.toContain('/api/auth/login/?');
    expect(text).not.toContain('[a-z0-9');
  });
});

describe.each(PROXIES)('%s, to include in an existing configuration', (proxy) => {
  const shipped = read(`deploy/${FILES[proxy]}`);
  const printed = proxyConfigOf(proxy, SHIPPED_POLICIES, { include: true });

  test('is made of lines of the shipped file, says where each part goes, and leaves the application out', () => {
    const lines = new Set(shipped.split('\n').map((line) => line.trim()));
    expect(printed.split('\n').filter((line) => !lines.has(line.trim()))).toEqual([]);
    const starts = printed.match(/^# headgate: part for .+$/gm) ?? [];
    expect(starts.length).toBeGreaterThan(2);
    expect(printed.match(/^# headgate: end of part$/gm)).toHaveLength(starts.length);
    // Caddy passes requests on by the lines that are printed.
    if (proxy !== 'caddy') expect(printed).not.toMatch(/127\.0\.0\.1.*3000/);
  });

  test('has every region', () => {
    const regions = (text: string) => text.match(/# headgate: (?!end|part ).+/g);
    expect(regions(printed)).toEqual(regions(shipped));
  });
});

describe.each(['http', 'server', 'location'])('the parts of NGINX for %s', (place) => {
  const all = proxyConfigOf('nginx', SHIPPED_POLICIES, { include: true });
  const printed = proxyConfigOf('nginx', SHIPPED_POLICIES, { include: place });

  test('are all parts for this place, and no other', () => {
    const parts = all.split(/^(?=# headgate: part for )/m);
    const wanted = parts.filter((part) => part.split('\n')[0]?.split(' ', 8).includes(place));
    expect(wanted.length).toBe(place === 'location' ? 2 : 1);
    expect(printed).toBe(wanted.join(''));
  });
});

const BY_ADDRESS = 'version: 1\nidentity: { sources: [ip] }\ndefault: { limits: [1/1h] }';

describe('the part of NGINX for a location', () => {
  const partFor = (sources: string) =>
    proxyConfigOf(
      'nginx',
      `version: 1\nidentity: { sources: ${sources} }\ndefault: { limits: [9/1h] }\n`,
      { include: 'location' },
    );
  const linesOf = (text: string) =>
    text.split('\n').filter((line) => /^ *proxy_set_header/.test(line));

  test('has no proxy_set_header if the policy file reads no header of clients', () => {
    expect(linesOf(partFor('[ip]'))).toEqual([]);
    expect(linesOf(partFor('[api_key, ip]'))).toEqual([
      'proxy_set_header X-Api-Key $http_x_api_key;',
    ]);
  });

  test('passes the settle token on if a limit charges afterwards', () => {
    const { fallback, ...file } = validFile(BY_ADDRESS);
    const limits = fallback.limits.map((limit) => ({ ...limit, refund: { status: [204] } }));
    const policies = { ...file, fallback: { ...fallback, limits } };
    const printed = proxyConfigOf('nginx', BY_ADDRESS, { include: 'location', policies });
    expect(linesOf(printed)).toEqual(['proxy_set_header X-Headgate-Settle $headgate_settle;']);
  });

  test('says what to repeat', () => {
    expect(partFor('[ip]').replaceAll('\n# ', ' ')).toContain(
      'If your server or http block has some, repeat them in the location.',
    );
  });
});

test('the part of NGINX for the block http has only what the parts use', () => {
  const all = proxyConfigOf('nginx', SHIPPED_POLICIES, { include: true });
  const defined = all.match(/^ *map .* (\$\w+) \{$/gm)?.map((line) => line.split(' ').at(-2) ?? '');
  expect(defined).toHaveLength(4);
  for (const name of defined ?? []) expect(all.split(name).length).toBeGreaterThan(2);
});

test('a place without parts is refused with the places that have some', () => {
  expect(() => proxyConfigOf('nginx', SHIPPED_POLICIES, { include: 'main' })).toThrow(
    'there is no part for "main"; name one of http, server, location',
  );
  expect(() => proxyConfigOf('envoy', SHIPPED_POLICIES, { include: 'main' })).toThrow(
    'there is no part for "main"; the parts are for: the HTTP connection manager; ',
  );
});

test('the parts of Traefik, in their places, are its file without the application', () => {
  const printed = proxyConfigOf('traefik', SHIPPED_POLICIES, { include: true });
  const merged = printed
    .split(/^(?=# headgate: part for )/m)
    .map((part) => [/part for http\.(\w+)/.exec(part)?.[1] ?? '', parse(part)]);
  const { http } = parse(read('deploy/traefik/dynamic.yaml'));
  delete http.routers.application;
  delete http.services.application;
  expect(Object.fromEntries(merged)).toEqual(http);
});

describe('regions', () => {
  const text = 'a\n  # headgate: one\n  b\n  # headgate: end\nc';

  test('are replaced with their indentation, and nothing else is', () => {
    expect(fillRegions(text, { one: (shipped) => [...shipped, 'x', '  y'] })).toBe(
      'a\n  # headgate: one\n  b\n  x\n    y\n  # headgate: end\nc',
    );
  });

  test('that are unknown, missing or not closed are faults', () => {
    expect(() => fillRegions(text, {})).toThrow('nothing writes the region "one"');
    const both = { one: () => [], two: () => [] };
    expect(() => fillRegions(text, both)).toThrow('there is no region "two"');
    expect(() => fillRegions('# headgate: one', both)).toThrow('has no end');
  });
});

describe('the port at which a proxy sends checks to itself', () => {
  const local = (port: number) => ({ host: 'localhost', port });
  const withPort = (proxy: string, input: Parameters<typeof proxyConfigOf>[2]) =>
    proxyConfigOf(proxy, SHIPPED_POLICIES, input);

  test.each(['caddy', 'haproxy'])('%s: it changes in every line', (proxy) => {
    const shipped = read(`deploy/${FILES[proxy]}`);
    expect(withPort(proxy, { ownPort: 9_999 })).toBe(shipped.replaceAll(':8090', ':9999'));
    // Of another machine, so it stays.
    const gateway = { host: '10.0.0.2', port: 8_090 };
    expect(withPort(proxy, { ownPort: 9_999, gateway })).toContain('10.0.0.2:8090');
  });

  test('traefik: it is in both files', () => {
    for (const include of [false, 'traefik.yaml'])
      expect(withPort('traefik', { ownPort: 9_999, include })).toContain('127.0.0.1:9999');
  });

  test('one that headgate or the application has is refused', () => {
    expect(() => withPort('caddy', { ownPort: 8_080, gateway: local(8_080) })).toThrow(
      'headgate has port 8080: choose another --own-port',
    );
    expect(() => withPort('haproxy', { application: local(8_090) })).toThrow(
      'application has port 8090: choose another --own-port',
    );
  });

  test.each(['nginx', 'envoy', 'envoy-grpc'])('%s has none', (proxy) => {
    expect(() => withPort(proxy, { ownPort: 9_999 })).toThrow('needs no --own-port');
  });
});

describe('the port for clients', () => {
  const listening: Readonly<Record<string, (port: number) => string>> = {
    nginx: (port) => `listen ${port};`,
    envoy: (port) => `{ address: 0.0.0.0, port_value: ${port} }`,
    'envoy-grpc': (port) => `{ address: 0.0.0.0, port_value: ${port} }`,
    caddy: (port) => `:${port} {`,
    haproxy: (port) => `bind :${port}`,
    traefik: (port) => `address: ":${port}"`,
  };

  test.each(PROXIES)('%s: it is the one of --listen, and nothing else changes', (proxy) => {
    const [file, include] =
      proxy === 'traefik' ? ['traefik/traefik.yaml', 'traefik.yaml'] : [FILES[proxy], false];
    const shipped = read(`deploy/${file}`);
    const written = listening[proxy];
    if (written === undefined) expect.unreachable();
    expect(shipped.split(written(8_000))).toHaveLength(2);
    for (const port of [80, 3_000, 8_080]) {
      const printed = proxyConfigOf(proxy, SHIPPED_POLICIES, { port, include });
      expect(printed).toBe(shipped.replace(written(8_000), written(port)));
    }
  });

  test.each(['caddy', 'haproxy'])('%s: it may be the shipped port of checks', (proxy) => {
    const written = listening[proxy];
    if (written === undefined) expect.unreachable();
    const shipped = read(`deploy/${FILES[proxy]}`);
    const expected = shipped
      .replace(written(8_000), 'CLIENTS')
      .replaceAll(':8090', ':8000')
      .replace('CLIENTS', written(8_090));
    const ports = { port: 8_090, ownPort: 8_000 };
    expect(proxyConfigOf(proxy, SHIPPED_POLICIES, ports)).toBe(expected);
  });

  test('one that something else has is refused', () => {
    const print = (proxy: string, input: Parameters<typeof proxyConfigOf>[2]) => () =>
      proxyConfigOf(proxy, SHIPPED_POLICIES, input);
    const gateway = { host: '127.0.0.1', port: 8_080 };
    expect(print('nginx', { port: 8_080, gateway })).toThrow(
      'headgate has port 8080: choose another --listen',
    );
    expect(
      print('nginx', { port: 3_000, application: { host: 'localhost', port: 3_000 } }),
    ).toThrow('application has port 3000: choose another --listen');
    expect(print('caddy', { port: 8_090 })).toThrow(
      'clients connect to port 8090: choose another --own-port',
    );
  });

  test('parts have none', () => {
    for (const include of [true, 'http'])
      expect(() => proxyConfigOf('nginx', SHIPPED_POLICIES, { port: 80, include })).toThrow(
        'the parts name no port for clients: leave out --listen',
      );
  });
});

describe('the headers of preflights, CORS and pages, of which no client is made', () => {
  const byAddress = 'version: 1\nidentity: { sources: [ip] }\ndefault: { limits: [1/1h] }';
  const byOrigin = byAddress.replace('1/1h', '{ rate: 1/1h, per: "header:origin" }');
  const countOf = (text: string, part: string) => text.split(part).length - 1;

  test.each([
    ['nginx', 'proxy_set_header Origin $http_origin;'],
    [
      'nginx',
      'proxy_set_header Access-Control-Request-Method $http_access_control_request_method;',
    ],
    ['nginx', 'proxy_set_header Accept $http_accept;'],
    ['envoy', '{ exact: "origin", ignore_case: true }'],
    ['envoy', '{ exact: access-control-request-method, ignore_case: true }'],
    ['envoy', '{ exact: "accept", ignore_case: true }'],
    ['envoy-grpc', '{ exact: "origin", ignore_case: true }'],
    ['envoy-grpc', '{ exact: access-control-request-method, ignore_case: true }'],
    ['envoy-grpc', '{ exact: "accept", ignore_case: true }'],
    ['haproxy', 'traceparent,origin,access-control-request-method,accept\n'],
    ['traefik', '- Origin\n'],
    ['traefik', '- Access-Control-Request-Method\n'],
    ['traefik', '- Accept\n'],
  ])('%s sends them: %s', (proxy, line) => {
    expect(countOf(proxyConfigOf(proxy, byAddress), line)).toBe(1);
  });

  test.each(['envoy', 'envoy-grpc'])(
    '%s refuses bad ones only if a limit counts by them',
    (proxy) => {
      expect(proxyConfigOf(proxy, byAddress)).not.toContain('name: "origin"');
      expect(countOf(proxyConfigOf(proxy, byOrigin), 'name: "origin"')).toBe(1);
      expect(countOf(proxyConfigOf(proxy, byOrigin), 'exact: "origin"')).toBe(1);
    },
  );
});
