/** Envoy's rate limit service: what calls get over gRPC and as JSON, and what operators see and change. */
import { writeFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { call } from '../support/http.ts';
import { metric } from '../support/metrics.ts';
import { operate } from '../support/operations.ts';
import { freePort } from '../support/ports.ts';
import {
  connectRateLimit,
  descriptor,
  type RateLimitGateway,
  type RateLimitResponse,
  startRateLimitGateway,
} from '../support/rate-limits.ts';
import { startRedis, testWithRedis } from '../support/redis.ts';

const RULES = `
domain: edge
descriptors:
  - key: path
    value: /login
    rate_limit: { unit: minute, requests_per_unit: 5, name: login }
  - key: user
    rate_limit: { unit: hour, requests_per_unit: 100 }
    descriptors:
      - key: plan
        value: free
        rate_limit: { unit: minute, requests_per_unit: 2, replaces: [{ name: login }] }
  - key: tokens
    rate_limit: { unit: minute, requests_per_unit: 1000 }
  - key: tried
    rate_limit: { unit: minute, requests_per_unit: 2 }
  - key: watched
    rate_limit: { unit: minute, requests_per_unit: 1 }
    shadow_mode: true
  - key: first_quota
    quota_mode: true
    rate_limit: { unit: minute, requests_per_unit: 1 }
  - key: second_quota
    quota_mode: true
    rate_limit: { unit: minute, requests_per_unit: 2 }
  - key: free
    rate_limit: { unlimited: true }
  - key: closed
    rate_limit: { unit: day, requests_per_unit: 0 }
  - key: month
    rate_limit: { unit: month, requests_per_unit: 4294967295 }
  - key: denied_without_store
    rate_limit: { unit: minute, requests_per_unit: 1 }
    headgate: { on_store_failure: deny }
  - key: allowed_without_store
    rate_limit: { unit: minute, requests_per_unit: 1 }
    headgate: { on_store_failure: allow }
  - key: local_without_store
    rate_limit: { unit: minute, requests_per_unit: 1 }
    headgate: { on_store_failure: local }
`;

const codes = ({ statuses }: RateLimitResponse) => statuses.map(({ code }) => code);
let values = 0;
/** A value that no other test uses. */
const newValue = () => `value-${++values}`;

describe('the rate limit service', () => {
  const started = new AsyncDisposableStack();
  let gateway: RateLimitGateway;
  beforeAll(async () => {
    gateway = started.use(await startRateLimitGateway(RULES));
  });
  afterAll(() => started.disposeAsync());

  const ask = async (descriptors: readonly object[], rest: object = {}) => {
    const { message, code, details } = await gateway.client.ask({
      domain: 'edge',
      descriptors,
      ...rest,
    });
    if (message === undefined) throw new Error(`${code} ${details}`);
    return message;
  };
  const asked = async (times: number, descriptors: readonly object[], rest: object = {}) => {
    const found: string[] = [];
    for (let i = 0; i < times; i++) found.push((await ask(descriptors, rest)).overall_code);
    return found.map((code) => (code === 'OK' ? 'o' : '-')).join('');
  };

  test('counts exactly, and says what is left', async () => {
    const entries = [descriptor({ user: newValue() })];
    const { overall_code: code, statuses } = await ask(entries, { hits_addend: 40 });
    expect([code, statuses]).toMatchObject([
      'OK',
      [
        {
          code: 'OK',
          current_limit: { requests_per_unit: 100, unit: 'HOUR', name: '' },
          limit_remaining: 60,
          duration_until_reset: { seconds: 3_600 },
        },
      ],
    ]);
    expect(await asked(3, entries, { hits_addend: 30 })).toBe('oo-');
    // Denied hits do not count.
    expect((await ask(entries, { hits_addend: 0 })).overall_code).toBe('OVER_LIMIT');
  });

  test('counts a call against all of its limits or none', async () => {
    const user = newValue();
    const both = [descriptor({ path: '/login' }), descriptor({ user })];
    expect(await asked(7, both)).toBe('ooooo--');
    const denied = await ask(both);
    expect(codes(denied)).toEqual(['OVER_LIMIT', 'OK']);
    expect(JSON.parse(denied.raw_body.toString())).toMatchObject({
      error: 'rate_limit_exceeded',
      policy: 'edge.path_/login',
      decision_id: expect.any(String),
    });
    const [status] = (await ask([descriptor({ user }, { hits_addend: { value: 0 } })])).statuses;
    expect(status?.limit_remaining).toBe(95);
  });

  test('hits of a descriptor are a charge, which counts even if it is too much', async () => {
    const tokens = newValue();
    const charge = (value: number) => [descriptor({ tokens }, { hits_addend: { value } })];
    expect((await ask(charge(0))).overall_code).toBe('OK');
    expect((await ask(charge(900))).statuses[0]?.limit_remaining).toBe(100);
    expect((await ask(charge(0))).overall_code).toBe('OK');
    expect((await ask(charge(4_294_967_295))).overall_code).toBe('OVER_LIMIT');
    expect((await ask(charge(0))).overall_code).toBe('OVER_LIMIT');
  });

  test('negative hits are given back, and never more than were counted', async () => {
    const tokens = newValue();
    const hits = (value: number, isNegative = false) =>
      ask([descriptor({ tokens }, { hits_addend: { value }, is_negative_hits: isNegative })]).then(
        ({ statuses: [status] }) => status?.limit_remaining,
      );
    expect(await hits(600)).toBe(400);
    expect(await hits(100, true)).toBe(500);
    expect(await hits(5_000, true)).toBe(1_000);
    expect(await hits(1)).toBe(999);
  });

  test('shadow, quota, replaced, unlimited and closed limits', async () => {
    const watched = [descriptor({ watched: newValue() })];
    expect(await asked(3, watched)).toBe('ooo');
    expect((await ask(watched)).statuses[0]).toMatchObject({ code: 'OK', limit_remaining: 0 });
    const quotas = [
      descriptor({ first_quota: newValue() }),
      descriptor({ second_quota: newValue() }),
    ];
    expect(await asked(4, quotas)).toBe('oo--');
    const replacing = [
      descriptor({ path: '/login' }),
      descriptor({ user: newValue(), plan: 'free' }),
    ];
    expect(await asked(3, replacing)).toBe('oo-');
    expect((await ask([descriptor({ free: 'x' })])).statuses).toMatchObject([
      { code: 'OK', limit_remaining: 4_294_967_295, current_limit: null },
    ]);
    expect(await asked(1, [descriptor({ closed: 'x' })])).toBe('-');
  });

  test('limits of the call itself', async () => {
    const limit = { requests_per_unit: 2, unit: 2 };
    const own = [descriptor({ anything: newValue() }, { limit })];
    expect(await asked(3, own)).toBe('oo-');
    const message = await ask(own);
    expect(message.statuses[0]?.current_limit).toMatchObject({
      requests_per_unit: 2,
      unit: 'MINUTE',
    });
    const several = { requests_per_unit: 2, unit: 'HOUR', unit_multiplier: 5 };
    const written = JSON.stringify({
      domain: 'edge',
      descriptors: [descriptor({ unknown: 'y' }, { limit: several })],
    });
    const json = await call(gateway.jsonUrl, '/json', { method: 'POST', body: written });
    expect(JSON.parse(json.body).statuses[0]).toMatchObject({
      currentLimit: { requestsPerUnit: 2, unit: 'HOUR', unitMultiplier: 5 },
      durationUntilReset: '18000s',
    });
    const sent = [
      descriptor(
        { unknown: 'y' },
        { limit: { ...several, unit: 3, unit_multiplier: { value: 5 } } },
      ),
    ];
    const { message: read } = await gateway.client.ask({ domain: 'edge', descriptors: sent });
    expect(read?.statuses[0]).toMatchObject({
      current_limit: { requests_per_unit: 2, unit: 'HOUR', unit_multiplier: { value: 5 } },
      duration_until_reset: { seconds: 18_000 },
    });
    const none = [
      descriptor({ unknown: 'y' }, { limit: { ...several, unit: 3, unit_multiplier: {} } }),
    ];
    expect((await gateway.client.ask({ domain: 'edge', descriptors: none })).code).toBe(3);
    const strange = [descriptor({ anything: 'x' }, { limit: { requests_per_unit: 2, unit: 9 } })];
    expect(await gateway.client.ask({ domain: 'edge', descriptors: strange })).toMatchObject({
      code: 3,
      details: 'A limit of the call has an unknown unit.',
    });
    const elsewhere = await gateway.client.ask({ domain: 'unknown', descriptors: own });
    expect(elsewhere.message).toMatchObject({ overall_code: 'OK', statuses: [{ code: 'OK' }] });
  });

  test('the largest numbers', async () => {
    const month = [descriptor({ month: newValue() })];
    const most = await ask(month, { hits_addend: 4_294_967_295 });
    expect(most.statuses[0]).toMatchObject({ code: 'OK', limit_remaining: 0 });
    expect(await asked(1, month)).toBe('-');
  });

  test.each([
    {
      what: 'an empty domain',
      request: { domain: '', descriptors: [descriptor({ a: 'b' })] },
      code: 3,
    },
    { what: 'no descriptors', request: { domain: 'edge', descriptors: [] }, code: 3 },
    {
      what: 'too many descriptors',
      request: { domain: 'edge', descriptors: Array(129).fill(descriptor({ a: 'b' })) },
      code: 3,
    },
    {
      what: 'too many entries',
      request: {
        domain: 'edge',
        descriptors: [{ entries: Array(129).fill({ key: 'a', value: 'b' }) }],
      },
      code: 3,
    },
    {
      what: 'a million entries',
      request: { domain: 'edge', descriptors: [{ entries: Array(1e6).fill({ key: 'a' }) }] },
      code: 8,
    },
  ])('refuses $what', async ({ request, code }) => {
    expect((await gateway.client.ask(request)).code).toBe(code);
  });

  test('answers strange but complete calls', async () => {
    expect(await asked(1, [{ entries: [] }])).toBe('o');
    const long = 'x'.repeat(64 * 1024);
    expect(await asked(101, [descriptor({ user: long })])).toBe(`${'o'.repeat(100)}-`);
    expect(await asked(1, [descriptor({ ['y'.repeat(64 * 1024)]: 'x' })])).toBe('o');
    expect((await gateway.client.send(Buffer.from([0x0a, 0x7f, 0x01]))).code).toBe(13);
  });

  test('the same as JSON', async () => {
    const body = (user: string) =>
      JSON.stringify({
        domain: 'edge',
        descriptors: [{ entries: [{ key: 'user', value: user }], hits_addend: '60' }],
      });
    const user = newValue();
    const post = (text: string) => call(gateway.jsonUrl, '/json', { method: 'POST', body: text });
    const first = await post(body(user));
    expect([first.status, JSON.parse(first.body)]).toEqual([
      200,
      {
        overallCode: 'OK',
        statuses: [
          {
            code: 'OK',
            currentLimit: { requestsPerUnit: 100, unit: 'HOUR' },
            limitRemaining: 40,
            durationUntilReset: '3600s',
          },
        ],
      },
    ]);
    expect((await post(body(user))).status).toBe(429);
    for (const wrong of ['', '{', '[]', '{"domian":"edge"}', '{"domain":"edge"}']) {
      expect([wrong, (await post(wrong)).status]).toEqual([wrong, 400]);
    }
    expect(await call(gateway.jsonUrl, '/healthcheck')).toMatchObject({ status: 200, body: 'OK' });
  });

  test('web pages may not send calls as JSON, other programs may with any content type', async () => {
    const user = newValue();
    const body = JSON.stringify({
      domain: 'edge',
      descriptors: [{ entries: [{ key: 'user', value: user }] }],
    });
    const send = (headers: Record<string, string>) =>
      call(gateway.jsonUrl, '/json', { method: 'POST', body, headers });
    const pages = [
      { origin: 'https://example.com', 'content-type': 'text/plain' },
      { origin: 'null' },
      { origin: gateway.jsonUrl },
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site', 'content-type': 'text/plain' },
    ];
    for (const headers of pages) {
      expect([headers, (await send(headers)).status]).toEqual([headers, 403]);
    }
    const first = await send({ 'content-type': 'application/x-www-form-urlencoded' });
    expect([first.status, JSON.parse(first.body).statuses[0].limitRemaining]).toEqual([200, 99]);
    expect((await send({ 'sec-fetch-site': 'none', 'content-type': 'text/plain' })).status).toBe(
      200,
    );
  });

  test('a body of more than 64 KiB is no call', async () => {
    const body = JSON.stringify({ domain: 'x'.repeat(65_536) });
    expect((await call(gateway.jsonUrl, '/json', { method: 'POST', body })).status).toBe(413);
  });

  test('operators see limits as policies, explain a denial, and change what applies', async () => {
    const tried = newValue();
    const once = [descriptor({ tried })];
    expect(await asked(3, once)).toBe('oo-');
    const denied = await ask(once);
    const id = denied.response_headers_to_add.find(({ key }) => /decision-id/i.test(key))?.value;
    const { answer } = await operate<{ policy: string; client: string }>(
      gateway,
      `GET /v1/decisions/${id}`,
    );
    expect(answer.policy).toBe('edge.tried');
    expect(gateway.output()).not.toContain(tried);
    const name = 'edge.tried';
    expect(
      await metric(gateway, `headgate_ratelimit_hits_total{limit="${name}",outcome="over"}`),
    ).toBe(2);
    expect(
      await metric(gateway, `headgate_ratelimit_hits_total{limit="${name}",outcome="near"}`),
    ).toBe(1);

    const terms = { for: '10min', reason: 'a test', by: 'test' };
    await operate(gateway, 'POST /v1/clients/exempt', { client: id, ...terms });
    expect(await asked(4, once)).toBe('oooo');
    await operate(gateway, 'POST /v1/clients/unexempt', { client: id, by: 'test' });
    await operate(gateway, 'POST /v1/clients/reset', { client: id, by: 'test' });
    expect(await asked(3, once)).toBe('oo-');
    await operate(gateway, 'POST /v1/clients/block', { client: id, ...terms });
    await operate(gateway, 'POST /v1/clients/reset', { client: id, by: 'test' });
    expect(await asked(1, once)).toBe('-');
    await operate(gateway, 'POST /v1/clients/unblock', { client: id, by: 'test' });
    expect(await asked(3, once)).toBe('oo-');
    await operate(gateway, `PUT /v1/policies/${name}/mode`, { mode: 'off', ...terms });
    expect(await asked(4, once)).toBe('oooo');
    await operate(gateway, `DELETE /v1/policies/${name}/mode?by=test`);
    expect(await asked(1, once)).toBe('-');
  });
});

test('rules are read again when their file changes, and stay if it has mistakes', async () => {
  const rules = (limit: string) =>
    `domain: edge\ndescriptors: [{ key: a, rate_limit: { unit: hour, requests_per_unit: ${limit} } }]\n`;
  await using gateway = await startRateLimitGateway(rules('7'));
  const limit = async () => {
    const { message } = await gateway.client.ask({
      domain: 'edge',
      descriptors: [descriptor({ a: 'x' })],
    });
    return message?.statuses[0]?.current_limit?.requests_per_unit;
  };
  expect(await limit()).toBe(7);
  writeFileSync(gateway.file, rules('9'));
  await eventually(limit, (found) => found === 9, 15_000);
  writeFileSync(gateway.file, rules('many'));
  await gateway.printed(/rate_limits_refused.*rules\.yaml:2:\d+/);
  expect(await limit()).toBe(9);
  expect(await metric(gateway, 'headgate_ratelimit_last_reload_successful')).toBe(0);
});

test('without Redis a call fails, unless its limit says what to do', async () => {
  const redis = `redis://127.0.0.1:${await freePort()}`;
  await using gateway = await startRateLimitGateway(RULES, { HEADGATE_REDIS_URL: redis });
  const outcome = async (key: string) => {
    const { code, message } = await gateway.client.ask({
      domain: 'edge',
      descriptors: [descriptor({ [key]: 'x' })],
    });
    return message?.overall_code ?? code;
  };
  expect(await outcome('user')).toBe(14);
  expect(await outcome('watched')).toBe('OK');
  expect(await outcome('denied_without_store')).toBe('OVER_LIMIT');
  expect(await outcome('allowed_without_store')).toBe('OK');
  expect(await outcome('local_without_store')).toBe('OK');
  expect(await outcome('local_without_store')).toBe('OVER_LIMIT');
});

testWithRedis('gateways count together in Redis, also in aligned windows', async () => {
  await using redis = await startRedis();
  const env = { HEADGATE_REDIS_URL: redis.url, HEADGATE_STORE_TIMEOUT_MS: '10000' };
  for (const windows of ['sliding', 'aligned']) {
    const both = { ...env, HEADGATE_RATELIMIT_WINDOWS: windows };
    await using one = await startRateLimitGateway(RULES, both);
    await using two = await startRateLimitGateway(RULES, both);
    const request = {
      domain: 'edge',
      descriptors: [descriptor({ user: windows })],
      hits_addend: 34,
    };
    const found: unknown[] = [];
    for (const { client } of [one, two, one, two]) {
      found.push((await client.ask(request)).message?.overall_code);
    }
    expect(found).toEqual(['OK', 'OK', 'OVER_LIMIT', 'OVER_LIMIT']);
  }
});

testWithRedis('a call without a limit passes, and leaves Redis in use', async () => {
  await using redis = await startRedis();
  await using gateway = await startRateLimitGateway(RULES, {
    HEADGATE_REDIS_URL: redis.url,
    HEADGATE_STORE_TIMEOUT_MS: '10000',
  });
  const answerTo = async (...entries: Parameters<typeof descriptor>[0][]) => {
    const descriptors = entries.map((each) => descriptor(each));
    return (await gateway.client.ask({ domain: 'edge', descriptors })).message;
  };
  for (let i = 0; i < 3; i++) {
    const unlimited = await answerTo({ unknown: 'x' }, { free: 'x' });
    expect(unlimited).toMatchObject({ overall_code: 'OK' });
    const limited = await answerTo({ unknown: 'x' }, { tried: 'x' });
    expect(limited).toMatchObject({ overall_code: i < 2 ? 'OK' : 'OVER_LIMIT' });
  }
  expect(gateway.output()).not.toContain('store_failed');
});

testWithRedis('several workers answer on the same port', async () => {
  await using redis = await startRedis();
  await using gateway = await startRateLimitGateway(RULES, {
    HEADGATE_REDIS_URL: redis.url,
    HEADGATE_STORE_TIMEOUT_MS: '10000',
    HEADGATE_WORKERS: '2',
  });
  const found: unknown[] = [];
  for (let i = 0; i < 6; i++) {
    // A new connection may go to the other worker.
    using client = connectRateLimit(gateway.grpcPort);
    const request = { domain: 'edge', descriptors: [descriptor({ path: '/login' })] };
    found.push((await client.ask(request)).message?.overall_code);
  }
  expect(found).toEqual(['OK', 'OK', 'OK', 'OK', 'OK', 'OVER_LIMIT']);
  expect((await call(gateway.jsonUrl, '/healthcheck')).status).toBe(200);
});
