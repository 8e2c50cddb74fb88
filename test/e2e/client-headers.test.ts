/**
 * What of a client's headers reaches an application: no name that the application takes for another one, and nothing
 * that moves the host or the path away from what headgate checked.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { parse } from 'yaml';
import { type Gateway, startGateway } from '../support/gateway.ts';
import { HOST_AND_PATH_HEADERS } from '../support/host-and-path-headers.ts';
import { freePort } from '../support/ports.ts';
import type { RunningProxy } from '../support/proxies.ts';
import { PROXY_ROWS, type ProxyRow } from '../support/proxy-rows.ts';
import {
  type PythonApplication,
  type PythonServer,
  type ServedRequest,
  startPythonApplication,
} from '../support/python-applications.ts';
import { exchange, statusOf } from '../support/raw-http.ts';
import { realTraefik } from '../support/traefik.ts';

/** Every character that RFC 9110 allows in a name, besides letters, digits and the hyphen. */
const ODD_CHARACTERS = [..."_.~!#$%&'*+^`|"];
const ODD_NAMES = [
  ...ODD_CHARACTERS.flatMap((c) => [`X${c}Api${c}Key`, `X-Api${c}Key`, `x${c}api-key`]),
  ...['SCRIPT_NAME', 'script_name', 'Script_Name', 'PATH_INFO', 'REMOTE_ADDR', 'HTTP_HOST'],
  ...['X_Forwarded_Host', 'X.Original.URL', '_', '.', '_X-Api-Key', 'X-Api-Key_', 'X-Api-Key.'],
  ...['CF_Connecting_IP', 'X_Real_IP', 'X_Forwarded_For', 'Content_Length', 'Transfer_Encoding'],
];

/** Each header once, and once more in other letters. */
const SPOOFS = HOST_AND_PATH_HEADERS.map((name) => [
  `${name}: evil.example`,
  `${name.toLowerCase()}: /evil`,
]);

const programs = inject('programs');
const traefik = await realTraefik();
const rows: ProxyRow[] = PROXY_ROWS.filter(({ proxy }) => proxy !== 'NGINX behind Cloudflare');
if (traefik !== undefined) {
  rows.push({ proxy: 'Traefik itself', program: undefined, tested: 'its files', start: traefik });
}
const isHere = ({ program }: ProxyRow) => program === undefined || programs[program] !== undefined;

const folder = mkdtempSync(join(tmpdir(), 'headgate-client-headers-'));
const policies = join(folder, 'policies.yaml');
writeFileSync(policies, '{ version: 1, default: { limits: [100000/1h] } }');
afterAll(() => rmSync(folder, { recursive: true }));

let gateway: Gateway;
let applications: Readonly<Record<PythonServer, PythonApplication>>;

beforeAll(async () => {
  const [started, hypercorn, gunicorn, wsgiref] = await Promise.all([
    startGateway({ HEADGATE_POLICIES: policies, HEADGATE_GRPC_PORT: '0' }),
    startPythonApplication('hypercorn'),
    startPythonApplication('gunicorn'),
    startPythonApplication('wsgiref'),
  ]);
  gateway = started;
  applications = { hypercorn, gunicorn, wsgiref };
});
afterAll(async () => {
  for (const application of Object.values(applications)) await application[Symbol.asyncDispose]();
  await gateway[Symbol.asyncDispose]();
});

/** A GET with these lines, on a connection of its own. */
function get({ url }: Pick<RunningProxy, 'url'>, path: string, lines: readonly string[]) {
  const head = [`GET ${path} HTTP/1.1`, 'Host: shop.example', ...lines, 'Connection: close'];
  return exchange(url, `${head.join('\r\n')}\r\n\r\n`, 2_000);
}

/** Sends each list of lines on a connection of its own, all at once, and resolves to what each made the application serve. */
async function servedFor(
  application: PythonApplication,
  proxy: Pick<RunningProxy, 'url'>,
  requests: readonly (readonly string[])[],
  path = '/x/login',
): Promise<ServedRequest[][]> {
  const before = application.served().length;
  await Promise.all(requests.map((lines, i) => get(proxy, `${path}/${i}`, lines)));
  const served = application.served().slice(before);
  return requests.map((_, i) => served.filter((request) => request.path.endsWith(`/${i}`)));
}

const hasPlainNames = ({ headers }: ServedRequest) =>
  headers.every(([name]) => /^[a-z0-9-]+$/.test(name));
const valuesOf = ({ headers }: ServedRequest) => headers.map(([, value]) => value);
const keysOf = ({ headers }: ServedRequest) =>
  headers.filter(([name]) => name === 'HTTP_X_API_KEY').map(([, value]) => value);

test('the applications are of the kind that is in danger', async () => {
  const { gunicorn, wsgiref } = applications;
  const url = (port: number) => ({ url: `http://127.0.0.1:${port}` });
  const moved = await servedFor(gunicorn, url(gunicorn.port), [['SCRIPT_NAME: /x']]);
  expect(moved).toMatchObject([[{ path: '/login/0' }]]);
  const [keyed] = await servedFor(wsgiref, url(wsgiref.port), [['X_Api_Key: key']]);
  expect(keyed?.map(keysOf)).toEqual([['key']]);
});

describe.each(rows)('$proxy $program', (row) => {
  const here = test.skipIf(!isHere(row));
  const start = (server: PythonServer) => {
    const { port: headgate, grpcPort: grpc } = gateway;
    return row.start({ application: applications[server].port, headgate, grpc });
  };
  const startWithoutGateway = async () => {
    const nobody = await freePort();
    const { port } = applications.hypercorn;
    return row.start({ application: port, headgate: nobody, grpc: nobody });
  };

  here.each([
    ['', start],
    [' while the gateway is gone', startWithoutGateway],
  ])('passes only names of letters, digits and hyphens%s', async (_, starting) => {
    await using proxy = await starting('hypercorn');
    const requests = ODD_NAMES.map((name) => [`${name}: of-the-client`, 'X-Plain: plain']);
    const served = await servedFor(applications.hypercorn, proxy, requests);
    ODD_NAMES.forEach((name, i) => {
      const own = served[i] ?? [];
      expect(own.length, name).toBeLessThanOrEqual(1);
      expect(own.every(hasPlainNames), name).toBe(true);
      expect(own.flatMap(valuesOf), name).not.toContain('of-the-client');
      if (own.length === 1) expect(own.flatMap(valuesOf), name).toContain('plain');
    });
  });

  here('goes on without such a name, or refuses the request', async () => {
    await using proxy = await start('hypercorn');
    const answers = await Promise.all(
      ['X.Api.Key', 'X_Api_Key'].map((name) => get(proxy, '/', [`${name}: a`])),
    );
    const withUnderscores = row.proxy.startsWith('Envoy') ? 400 : 200;
    expect(answers.map(statusOf)).toEqual([200, withUnderscores]);
  });

  here('lets no client move the path of gunicorn', async () => {
    await using proxy = await start('gunicorn');
    const names = ['SCRIPT_NAME', 'script_name', 'PATH_INFO', 'Script-Name'];
    const requests = names.map((name) => [`${name}: /x`]);
    const served = (await servedFor(applications.gunicorn, proxy, requests)).flat();
    expect(served.length).toBeGreaterThan(0);
    for (const { path } of served) expect(path).toMatch(/^\/x\/login\/\d$/);
  });

  here('shows a CGI-style application the key that headgate sees, and no other', async () => {
    await using proxy = await start('wsgiref');
    const requests = ['X_Api_Key', 'X-Api_Key', 'X_Api-Key', 'x_api_key'].flatMap((name) => [
      [`${name}: other`],
      ['X-Api-Key: seen', `${name}: other`],
      [`${name}: other`, 'X-Api-Key: seen'],
    ]);
    const served = await servedFor(applications.wsgiref, proxy, [['X-Api-Key: seen'], ...requests]);
    expect(served[0]?.map(keysOf)).toEqual([['seen']]);
    requests.forEach((lines, i) => {
      const seen = lines.includes('X-Api-Key: seen') ? ['seen'] : [];
      for (const request of served[i + 1] ?? [])
        expect(keysOf(request), lines.join()).toEqual(seen);
    });
  });

  here.each([
    ['', start],
    [' while the gateway is gone', startWithoutGateway],
  ])(
    "passes no client's host, port or path besides those of the request%s",
    async (_, starting) => {
      await using proxy = await starting('hypercorn');
      const requests = [...SPOOFS.flat().map((line) => [line]), ...SPOOFS, SPOOFS.flat()];
      const served = await servedFor(applications.hypercorn, proxy, requests);
      requests.forEach((lines, i) => {
        expect(served[i], lines.join()).toHaveLength(1);
        const headers = served[i]?.[0]?.headers ?? [];
        expect(headers.filter(([, value]) => value.includes('evil'))).toEqual([]);
        expect(headers).toContainEqual(['host', 'shop.example']);
        const hosts = headers.filter(([name]) => name === 'x-forwarded-host');
        for (const [, host] of hosts) expect(host).toBe('shop.example');
      });
    },
  );
});

const FILES = [
  ...['nginx/nginx.conf', 'caddy/Caddyfile', 'haproxy/haproxy.cfg', 'ingress-nginx/ingress.yaml'],
  ...['envoy/envoy.yaml', 'envoy/envoy-grpc.yaml', 'kubernetes/overlays/sidecar/envoy.yaml'],
  ...['traefik/dynamic.yaml', 'traefik/kubernetes.yaml'],
  ...['contour/headgate.yaml', 'gateway-api/headgate.yaml'],
  'kubernetes/overlays/envoy-gateway/http-route.yaml',
  'kubernetes/overlays/istio/virtual-service.yaml',
];

test("Istio's gateway has the filter of header names that Envoy's file has", () => {
  const shipped = (name: string) =>
    readFileSync(new URL(`../../deploy/${name}`, import.meta.url), 'utf8');
  const { spec } = parse(shipped('kubernetes/overlays/istio/envoy-filter.yaml'));
  const { static_resources } = parse(shipped('envoy/envoy.yaml'));
  const [
    {
      filter_chains: [chain],
    },
  ] = static_resources.listeners;
  expect(chain.filters[0].typed_config.http_filters[0]).toEqual(spec.configPatches[0].patch.value);
});

test.each(FILES)('deploy/%s names every header of host and path', (file) => {
  const text = readFileSync(new URL(`../../deploy/${file}`, import.meta.url), 'utf8').toLowerCase();
  const words = new Set(text.match(/[a-z0-9][a-z0-9-]*/g));
  expect(HOST_AND_PATH_HEADERS.filter((name) => !words.has(name.toLowerCase()))).toEqual([]);
});
