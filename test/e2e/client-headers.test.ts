/**
 * Which headers of a client reach an application: no name that the application could take for another one, and nothing
 * that changes the host or the path that headgate checked.
 */
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { parse } from 'yaml';
import { type Gateway, startGateway } from '../support/gateway.ts';
import { freePort } from '../support/ports.ts';
import type { RunningProxy } from '../support/proxies.ts';
import { isHere, PROXY_ROWS, type ProxyRow } from '../support/proxy-starts.ts';
import { answerTo, statusOf } from '../support/raw-http.ts';
import { temporaryFile } from '../support/temporary.ts';
import { realTraefik } from '../support/traefik.ts';
import {
  type PythonApplication,
  type PythonServer,
  type ServedRequest,
  startPythonApplication,
} from './support/python-applications.ts';

/** Every character that RFC 9110 allows in a name, besides letters, digits and the hyphen. */
const ODD_CHARACTERS = [..."_.~!#$%&'*+^`|"];
const ODD_NAMES = [
  ...ODD_CHARACTERS.flatMap((c) => [`X${c}Api${c}Key`, `X-Api${c}Key`, `x${c}api-key`]),
  ...['SCRIPT_NAME', 'script_name', 'Script_Name', 'PATH_INFO', 'REMOTE_ADDR', 'HTTP_HOST'],
  ...['X_Forwarded_Host', 'X.Original.URL', '_', '.', '_X-Api-Key', 'X-Api-Key_', 'X-Api-Key.'],
  ...['CF_Connecting_IP', 'X_Real_IP', 'X_Forwarded_For', 'Content_Length', 'Transfer_Encoding'],
];

/**
 * Headers from which applications and frameworks take another host, port or path than that of the request. Every file
 * of deploy/ sets or removes them, or says why it cannot.
 */
const HOST_AND_PATH_HEADERS = [
  'Forwarded',
  'X-Forwarded-Host',
  'X-Forwarded-Port',
  'X-Forwarded-Prefix',
  'X-Forwarded-Scheme',
  'X-Forwarded-Server',
  'X-Forwarded-Uri',
  'X-Host',
  'X-HTTP-Host-Override',
  'X-Original-Host',
  'X-Original-URI',
  'X-Original-URL',
  'X-Rewrite-URL',
  'X-Script-Name',
] as const;

/** Each header twice: as it is usually written, and in lower case. */
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

/** In front of each application. */
type Proxies = Readonly<Record<PythonServer, RunningProxy>>;

const SERVERS: readonly PythonServer[] = ['hypercorn', 'gunicorn', 'wsgiref'];
const stack = new AsyncDisposableStack();
const applications = {} as Record<PythonServer, PythonApplication>;
const proxiesOf = new Map<ProxyRow, Proxies>();
let ports: { readonly headgate: number; readonly grpc: number };
let gateway: Gateway;

beforeAll(async () => {
  const policies = temporaryFile(stack, '{ version: 1, default: { limits: [100000/1h] } }');
  ports = { headgate: await freePort(), grpc: await freePort() };
  gateway = stack.use(
    await startGateway({
      HEADGATE_POLICIES: policies,
      HEADGATE_PORT: String(ports.headgate),
      HEADGATE_GRPC_PORT: String(ports.grpc),
    }),
  );
  for (const server of SERVERS) {
    applications[server] = stack.use(await startPythonApplication(server));
  }
  for (const row of rows.filter((each) => isHere(each, programs))) await startProxies(row);
});
afterAll(() => stack.disposeAsync());

async function startProxies(row: ProxyRow): Promise<void> {
  const [hypercorn, gunicorn, wsgiref] = await Promise.all(
    SERVERS.map(async (server) =>
      stack.use(await row.start({ application: applications[server].port, ...ports })),
    ),
  );
  if (hypercorn && gunicorn && wsgiref) proxiesOf.set(row, { hypercorn, gunicorn, wsgiref });
}

function testProxies(title: string, check: (proxies: Proxies, row: ProxyRow) => Promise<void>) {
  for (const row of rows) {
    const name = [row.proxy, row.program].filter((part) => part !== undefined).join(', ');
    test.skipIf(!isHere(row, programs))(`${name}: ${title}`, { concurrent: true }, async () => {
      const proxies = proxiesOf.get(row);
      if (proxies === undefined) throw new Error(`${name} has not started`);
      await check(proxies, row);
    });
  }
}

/** A GET with these lines, on a new connection. */
function get({ url }: Pick<RunningProxy, 'url'>, path: string, lines: readonly string[]) {
  const head = [`GET ${path} HTTP/1.1`, 'Host: shop.example', ...lines, 'Connection: close'];
  return answerTo(url, `${head.join('\r\n')}\r\n\r\n`);
}

let requestsSent = 0;

/** Sends each list of lines in a request, all at once. Resolves to the requests that the application served for each. */
async function servedFor(
  application: PythonApplication,
  proxy: Pick<RunningProxy, 'url'>,
  requests: readonly (readonly string[])[],
): Promise<ServedRequest[][]> {
  const ids = requests.map(() => requestsSent++);
  await Promise.all(requests.map((lines, i) => get(proxy, `/x/login/${ids[i]}`, lines)));
  const served = application.served();
  return ids.map((id) => served.filter(({ path }) => path.endsWith(`/${id}`)));
}

const hasPlainNames = ({ headers }: ServedRequest) =>
  headers.every(([name]) => /^[a-z0-9-]+$/.test(name));
const valuesOf = ({ headers }: ServedRequest) => headers.map(([, value]) => value);
const keysOf = ({ headers }: ServedRequest) =>
  headers.filter(([name]) => name === 'HTTP_X_API_KEY').map(([, value]) => value);

test('the applications believe such headers if they get them', async () => {
  const { gunicorn, wsgiref } = applications;
  const url = (port: number) => ({ url: `http://127.0.0.1:${port}` });
  const [moved] = await servedFor(gunicorn, url(gunicorn.port), [['SCRIPT_NAME: /x']]);
  expect(moved).toMatchObject([{ path: expect.stringMatching(/^\/login\/\d+$/) }]);
  const [keyed] = await servedFor(wsgiref, url(wsgiref.port), [['X_Api_Key: key']]);
  expect(keyed?.map(keysOf)).toEqual([['key']]);
});

async function expectPlainNames({ hypercorn: proxy }: Proxies): Promise<void> {
  const requests = ODD_NAMES.map((name) => [`${name}: of-the-client`, 'X-Plain: plain']);
  const served = await servedFor(applications.hypercorn, proxy, requests);
  ODD_NAMES.forEach((name, i) => {
    const own = served[i] ?? [];
    expect(own.length, name).toBeLessThanOrEqual(1);
    expect(own.every(hasPlainNames), name).toBe(true);
    expect(own.flatMap(valuesOf), name).not.toContain('of-the-client');
    if (own.length === 1) expect(own.flatMap(valuesOf), name).toContain('plain');
  });
}

async function expectNoSpoofs({ hypercorn: proxy }: Proxies): Promise<void> {
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
}

const PLAIN_NAMES = 'passes only header names of letters, digits and hyphens';
const NO_SPOOFS = 'passes only the host, port and path of the request';

describe('while the gateway answers', () => {
  testProxies(PLAIN_NAMES, expectPlainNames);
  testProxies(NO_SPOOFS, expectNoSpoofs);

  testProxies('drops a header with another name, or refuses the request', async (proxies, row) => {
    const answers = await Promise.all(
      ['X.Api.Key', 'X_Api_Key'].map((name) => get(proxies.hypercorn, '/', [`${name}: a`])),
    );
    const withUnderscores = row.proxy.startsWith('Envoy') ? 400 : 200;
    expect(answers.map(statusOf)).toEqual([200, withUnderscores]);
  });

  testProxies('lets no client change the path that gunicorn serves', async ({ gunicorn }) => {
    const names = ['SCRIPT_NAME', 'script_name', 'PATH_INFO', 'Script-Name'];
    const requests = names.map((name) => [`${name}: /x`]);
    const served = (await servedFor(applications.gunicorn, gunicorn, requests)).flat();
    expect(served.length).toBeGreaterThan(0);
    for (const { path } of served) expect(path).toMatch(/^\/x\/login\/\d+$/);
  });

  testProxies(
    'passes one API key to a CGI-style application: the one that headgate reads',
    async ({ wsgiref }) => {
      const requests = ['X_Api_Key', 'X-Api_Key', 'X_Api-Key', 'x_api_key'].flatMap((name) => [
        [`${name}: other`],
        ['X-Api-Key: seen', `${name}: other`],
        [`${name}: other`, 'X-Api-Key: seen'],
      ]);
      const all = [['X-Api-Key: seen'], ...requests];
      const [plain, ...others] = await servedFor(applications.wsgiref, wsgiref, all);
      expect(plain?.map(keysOf)).toEqual([['seen']]);
      requests.forEach((lines, i) => {
        const seen = lines.includes('X-Api-Key: seen') ? ['seen'] : [];
        for (const request of others[i] ?? []) expect(keysOf(request), lines.join()).toEqual(seen);
      });
    },
  );
});

describe('while the gateway is down', () => {
  beforeAll(async () => void (await gateway.stop()));

  testProxies(PLAIN_NAMES, expectPlainNames);
  testProxies(NO_SPOOFS, expectNoSpoofs);
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
