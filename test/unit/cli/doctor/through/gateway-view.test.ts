import type { IncomingMessage } from 'node:http';
import { expect, test } from 'vitest';
import {
  MAX_REQUESTS,
  throughGateway,
} from '../../../../../src/cli/doctor/through/gateway-view.ts';
import {
  type Answer,
  answering,
  type Metrics,
  metricsText,
  metricsWith,
} from '../local-answers.ts';

interface Setting {
  readonly metrics?: Metrics;
  /** What the gateway counts for a request. */
  readonly counts?: (metrics: Metrics, request: IncomingMessage) => void;
  /** Undefined: what the limit says. */
  readonly answers?: (request: IncomingMessage, limit: Answer) => Answer | undefined;
  readonly headers?: readonly string[];
  readonly costs?: readonly number[];
  readonly paths?: readonly string[];
  readonly settling?: readonly string[];
  readonly digest?: string;
  readonly host?: string;
  readonly socket?: string;
  readonly onPause?: (metrics: Metrics) => void;
  readonly hasNoPolicies?: true;
  readonly hasNoGateway?: true;
  /** The gateway that tells is not the one that the proxy asks. */
  readonly isElsewhere?: true;
}

async function view(setting: Setting) {
  const {
    metrics = metricsWith(),
    counts = (to) => to.allowed++,
    answers = (_, limit) => limit,
  } = setting;
  await using ops = await answering(() =>
    setting.hasNoGateway ? { status: 404 } : { body: metricsText(metrics) },
  );
  let remaining = 100;
  await using proxy = await answering((request) => {
    const isRefused = request.url?.endsWith('%0A') === true;
    if (isRefused && !setting.isElsewhere) metrics.denied++;
    else if (!setting.isElsewhere) counts(metrics, request);
    remaining--;
    const ofLimit = { 'x-ratelimit-limit': '100', 'x-ratelimit-remaining': String(remaining) };
    const headers = { ...ofLimit, ...(isRefused && { 'x-ratelimit-decision-id': 'abc' }) };
    return answers(request, { status: isRefused ? 400 : 200, headers });
  });
  const policies = {
    digest: setting.digest ?? 'served',
    headers: setting.headers ?? [],
    paths: {
      tried: (setting.paths ?? []).map((target) => ({ target, policy: 'login' })),
      untried: [],
    },
    costs: new Set(setting.costs ?? [1]),
    settling: setting.settling ?? [],
  };
  const findings = throughGateway({
    target: { url: new URL(`${proxy.url}/shop`) },
    now: Date.now,
    settings: {
      ...{ host: setting.host ?? '127.0.0.1', socket: setting.socket as never },
      ...{ opsHost: '127.0.0.1', opsPort: ops.port },
    },
    policies: setting.hasNoPolicies ? undefined : policies,
    pause: async () => setting.onPause?.(metrics),
  });
  const found: string[] = [];
  for await (const { rule, message } of findings)
    found.push(`${rule}: ${message.replaceAll(ops.url, 'OPS')}`);
  return { found, asked: proxy.asked };
}

const SEEN =
  'through: status 200; 100 requests by X-RateLimit-Limit, 99 remained, then 98; invented addresses change nothing';
const BOTH = 'whether it trusts the proxy, and whether headers of clients reach it';

test('a gateway that trusts the proxy: four requests, and one that it refuses', async () => {
  const { found, asked } = await view({});
  expect(found).toEqual([SEEN, 'through: the gateway at OPS trusts the proxy']);
  expect(asked).toEqual([...Array(4).fill('GET /shop'), 'GET /shop%0A']);
});

test('paths of policies are asked before the denial', async () => {
  const { found, asked } = await view({ paths: ['/login'] });
  expect(found).toEqual([
    SEEN,
    'through: headgate checks /login, too',
    'through: the gateway at OPS trusts the proxy',
  ]);
  expect(asked.slice(4)).toEqual(['HEAD /login', 'GET /shop%0A']);
});

test('paths and costs of a file that the gateway does not serve say nothing', async () => {
  const { found, asked } = await view({ digest: 'other', paths: ['/login'], costs: [0.5] });
  expect(found).toEqual([
    SEEN,
    'not-examined: the gateway at OPS serves another policy file, so this was not examined: whether headers of clients reach it',
  ]);
  expect(asked).not.toContain('HEAD /login');
});

test('costs of the file that the gateway serves are compared', async () => {
  const costly = (asked: IncomingMessage, { headers = {} }: Answer): Answer => ({
    headers: {
      ...headers,
      'x-ratelimit-remaining': String(2 * Number(headers['x-ratelimit-remaining'])),
      ...(asked.url?.endsWith('%0A') && { 'x-ratelimit-decision-id': 'abc' }),
    },
  });
  const twice =
    'counted-twice: each of 5 requests lowered X-RateLimit-Remaining by 2 or more, and no policy has the cost 2';
  const served = await view({ answers: costly });
  expect(served.found[0]).toBe(twice);
  expect((await view({ answers: costly, digest: 'other' })).found).not.toContain(twice);
  expect((await view({ answers: costly, hasNoPolicies: true })).found).not.toContain(twice);
});

test('costs say nothing if a policy charges afterwards', async () => {
  let remaining = 100;
  const answers = (_: IncomingMessage, { headers }: Answer): Answer => {
    remaining -= 7;
    return { headers: { ...headers, 'x-ratelimit-remaining': String(remaining) } };
  };
  const { found } = await view({ answers, settling: ['chat'] });
  expect(found).not.toContainEqual(expect.stringContaining('counted-twice'));
});

test('outcomes are awaited last', async () => {
  const metrics = metricsWith();
  const { found } = await view({
    ...{ metrics, settling: ['chat'] },
    counts(to) {
      to.allowed++;
      to.more = [`headgate_reservations_total{policy="chat"} ${to.allowed}`];
    },
    onPause(to) {
      to.more.push('headgate_settlements_total{policy="chat",channel="settle",result="settled"} 1');
    },
  });
  expect(found.slice(-2)).toEqual([
    'through: the gateway at OPS trusts the proxy',
    'through: outcomes of chat reach the gateway',
  ]);
});

test('what of outcomes was not examined is said', async () => {
  const { found } = await view({ hasNoGateway: true, settling: ['chat'] });
  expect(found.at(-1)).toBe(
    `not-examined: no gateway answers at OPS, so this was not examined: ${BOTH}, and whether outcomes of requests are reported`,
  );
});

test('a lost denial is told before the trust', async () => {
  const { found } = await view({
    answers: ({ url }, limit) => (url?.endsWith('%0A') ? { status: 404 } : limit),
  });
  expect(found).toEqual([
    SEEN,
    'denial-lost: status 404: headgate denied this request, and its answer did not reach the client',
    'through: the gateway at OPS trusts the proxy',
  ]);
});

test.each([
  [
    '127.0.0.1',
    undefined,
    'the proxy connects from this machine, so identity.trusted_proxies must have loopback',
  ],
  [
    '0.0.0.0',
    '/run/headgate.sock',
    'the proxy connects from this machine, so identity.trusted_proxies must have loopback',
  ],
  [
    '0.0.0.0',
    undefined,
    'identity.trusted_proxies must have the address from which the proxy connects',
  ],
])('the gateway on %s, %s, does not trust the proxy', async (host, socket, remedy) => {
  const { found } = await view({
    host,
    ...(socket !== undefined && { socket }),
    headers: ['x-api-key'],
    metrics: metricsWith({ untrusted: 3 }),
    counts(metrics) {
      metrics.allowed++;
      metrics.untrusted++;
    },
  });
  expect(found).toEqual([
    SEEN,
    `proxy-not-trusted: the gateway does not trust the proxy that sent 4 checks: ${remedy}`,
  ]);
});

test('one untrusted check is one', async () => {
  let isFirst = true;
  const { found } = await view({
    counts(metrics) {
      metrics.allowed++;
      if (isFirst) metrics.untrusted++;
      isFirst = false;
    },
  });
  expect(found[1]).toContain('the proxy that sent 1 check: ');
});

test('a gateway that did not get the requests is another one', async () => {
  const metrics = metricsWith({ allowed: 7, denied: 7, untrusted: 7 });
  expect((await view({ isElsewhere: true, metrics, headers: ['x-api-key'] })).found).toEqual([
    SEEN,
    `not-examined: the gateway at OPS got none of these requests, so this was not examined: ${BOTH}`,
  ]);
});

test('no gateway answers', async () => {
  const { found, asked } = await view({ hasNoGateway: true, paths: ['/login'] });
  expect(found).toEqual([
    SEEN,
    'through: headgate checks /login, too',
    `not-examined: no gateway answers at OPS, so this was not examined: ${BOTH}`,
  ]);
  expect(asked).not.toContain('GET /shop%0A');
});

test('headers that the gateway has seen already are not sent again', async () => {
  const { found, asked } = await view({
    headers: ['x-api-key', 'x-user'],
    metrics: metricsWith({ headers: ['x-api-key', 'x-user'] }),
  });
  expect(found[1]).toBe(
    'through: the gateway at OPS trusts the proxy; x-api-key, x-user reached it',
  );
  expect(asked).toHaveLength(5);
});

test('one request has the headers that no request had before', async () => {
  const sent: unknown[] = [];
  const { found, asked } = await view({
    headers: ['x-api-key', 'x-user'],
    metrics: metricsWith({ headers: ['x-user'] }),
    counts(metrics, { headers }) {
      metrics.allowed++;
      sent.push([headers['x-api-key'], headers['x-user']]);
      if (headers['x-api-key'] !== undefined) metrics.headers.push('x-api-key');
    },
  });
  expect(found[1]).toBe(
    'through: the gateway at OPS trusts the proxy; x-api-key, x-user reached it',
  );
  expect(asked).toHaveLength(6);
  expect(sent.slice(-1)).toEqual([['headgate-doctor', undefined]]);
});

test('each header that the proxy keeps back is named, and trust is not praised', async () => {
  const { found } = await view({
    headers: ['x-api-key', 'x-user', 'x-tenant'],
    counts(metrics, { headers }) {
      metrics.allowed++;
      if (headers['x-user'] !== undefined) metrics.headers.push('x-user');
    },
  });
  expect(found).toEqual([
    SEEN,
    'header-lost: x-api-key was sent, and did not reach the gateway',
    'header-lost: x-tenant was sent, and did not reach the gateway',
  ]);
});

test('a header of MCP calls that does not reach the gateway is named', async () => {
  const { found } = await view({ headers: ['mcp-method'] });
  expect(found).toEqual([
    SEEN,
    'mcp-header-lost: mcp-method was sent, and did not reach the gateway',
  ]);
});

test.each<[string, Answer | undefined]>([
  ['breaks off', undefined],
  ['passes unchecked', { headers: { 'x-ratelimit-bypass': 'timeout' } }],
])('the request with headers %s: nothing is known of them', async (_, answer) => {
  const { found } = await view({
    headers: ['x-api-key'],
    answers: ({ headers }, limit) => (headers['x-api-key'] === undefined ? limit : answer),
  });
  expect(found).toEqual([
    SEEN,
    'not-examined: the gateway did not get the request with headers, so this was not examined: whether headers of clients reach it',
  ]);
});

test('without a valid policy file, headers are not spoken of', async () => {
  expect((await view({ hasNoPolicies: true, headers: ['x-api-key'] })).found).toEqual([SEEN]);
});

test('a client that is denied now: no request is wasted on the denial', async () => {
  const { found, asked } = await view({
    answers: (_, { headers = {} }) => ({ status: 429, headers }),
  });
  expect(found).toEqual([
    'denied-now: status 429; try again in some seconds',
    'through: the gateway at OPS trusts the proxy',
  ]);
  expect(asked).toEqual(['GET /shop']);
});

test('without headers of limits: the gateway says that it checks, and no path is asked', async () => {
  const { found, asked } = await view({
    paths: ['/login'],
    answers: ({ url }) =>
      url?.endsWith('%0A')
        ? { status: 400, headers: { 'x-ratelimit-decision-id': 'abc' } }
        : { status: 200 },
  });
  expect(found).toEqual([
    'headers-not-shown: status 200 without X-RateLimit-Limit',
    'through: the gateway at OPS trusts the proxy',
  ]);
  expect(asked).toEqual(['GET /shop', 'GET /shop%0A']);
});

test.each<[Answer, string]>([
  [{ status: 200 }, 'not-limited: status 200 without X-RateLimit-Limit'],
  [
    { status: 403 },
    'answered-403: status 403 without X-RateLimit-Limit: the gateway got no check, so the proxy or the application has answered',
  ],
  [{ status: 500 }, 'answered-500: status 500 without X-RateLimit-Limit'],
])('%j without a check ends the examination', async (answer, finding) => {
  const { found, asked } = await view({
    answers: () => answer,
    counts: () => {},
    paths: ['/login'],
  });
  expect(found).toEqual([finding]);
  expect(asked).toEqual(['GET /shop']);
});

test('without a gateway that tells, an unclear answer stays as it is', async () => {
  const { found } = await view({ answers: () => ({ status: 403 }), hasNoGateway: true });
  expect(found).toEqual(['answered-403: status 403 without X-RateLimit-Limit']);
});

test('a proxy with every fault is asked as often as is said before', async () => {
  const counters = new Map<unknown, number>();
  const { found, asked } = await view({
    headers: ['x-api-key'],
    answers({ url, headers }, limit) {
      if (url?.endsWith('%0A')) return limit;
      const client = headers['x-forwarded-for'];
      const remaining = (counters.get(client) ?? 100) - 2;
      counters.set(client, remaining);
      return { headers: { ...limit.headers, 'x-ratelimit-remaining': String(remaining) } };
    },
  });
  expect(found.map((each) => each.split(':')[0])).toEqual([
    'counted-twice',
    'spoofed-address',
    'header-lost',
  ]);
  expect(asked).toHaveLength(22);
  expect(MAX_REQUESTS).toBe(22);
});
