import type { IncomingMessage } from 'node:http';
import { expect, test } from 'vitest';
import { CLAIMS, throughFindings } from '../../../../../src/cli/doctor/through/client-view.ts';
import { type Answer, answering } from '../local-answers.ts';

const NOW_MS = Date.parse('2026-11-26T12:00:00Z');
const LIMIT = { 'x-ratelimit-limit': '100' };
const left = (remaining: number): Answer => ({
  headers: { ...LIMIT, 'x-ratelimit-remaining': String(remaining) },
});

async function findings(
  answer: (request: IncomingMessage, asked: number) => Answer | undefined,
  costs?: ReadonlySet<number>,
) {
  let asked = 0;
  await using proxy = await answering((request) => answer(request, ++asked));
  const url = new URL(`${proxy.url}/shop`);
  const found: string[] = [];
  for await (const each of throughFindings({ target: { url }, costs, now: () => NOW_MS })) {
    expect(each.file).toBe(url.href);
    found.push(`${each.rule}: ${each.message}`);
  }
  expect(new Set(proxy.asked)).toEqual(new Set(['GET /shop']));
  return { found, asked };
}

/** A limit that takes `cost` for each request, from one counter for each value of `keyOf`. */
function limiter(cost = 1, keyOf: (request: IncomingMessage) => string = () => '', full = 100) {
  const counters = new Map<string, number>();
  return (request: IncomingMessage): Answer => {
    const remaining = (counters.get(keyOf(request)) ?? full) - cost;
    counters.set(keyOf(request), remaining);
    return left(remaining);
  };
}

const THROUGH = (before: number, after: number) =>
  `through: status 200; 100 requests by X-RateLimit-Limit, ${before} remained, then ${after}; invented addresses change nothing`;

test('a limit that invented addresses do not change takes four requests', async () => {
  expect(await findings(limiter())).toEqual({ found: [THROUGH(99, 98)], asked: 4 });
});

test('the client must not get the token of its request', async () => {
  const count = limiter();
  const { found } = await findings((request) => {
    const { headers } = count(request);
    return { headers: { ...headers, 'x-headgate-settle': 'AWc9NN' } };
  });
  expect(found).toEqual(['settle-token-shown: the answer has X-Headgate-Settle', THROUGH(99, 98)]);
});

test('all six claims come at once, in the third request only', async () => {
  const claims: string[][] = [];
  const count = limiter();
  await findings((request) => {
    claims.push(
      CLAIMS.flatMap(([name, value]) =>
        request.headers[name.toLowerCase()] === value ? [name] : [],
      ),
    );
    return count(request);
  });
  const all = CLAIMS.map(([name]) => name);
  expect(claims).toEqual([[], [], all, []]);
  expect(new Set(CLAIMS.map(([, value]) => value)).size).toBe(6);
});

test.each(CLAIMS.map(([name]) => name))('%s alone gives a fresh limit', async (name) => {
  const keyOf = ({ headers }: IncomingMessage) => String(headers[name.toLowerCase()]);
  expect(await findings(limiter(1, keyOf))).toEqual({
    found: [`spoofed-address: with an invented ${name}, a client has a fresh limit`],
    asked: 16,
  });
});

test('each of several claims that give a fresh limit is named, in order', async () => {
  const keyOf = ({ headers }: IncomingMessage) =>
    `${headers['x-forwarded-for']} ${headers['x-real-ip']}`;
  const { found } = await findings(limiter(1, keyOf));
  expect(found).toEqual([
    'spoofed-address: with an invented X-Forwarded-For, a client has a fresh limit',
    'spoofed-address: with an invented X-Real-IP, a client has a fresh limit',
  ]);
});

test('claims that only together give a fresh limit are named together', async () => {
  const keyOf = ({ headers }: IncomingMessage) =>
    String(headers.forwarded !== undefined && headers['x-real-ip'] !== undefined);
  expect((await findings(limiter(1, keyOf))).found).toEqual([
    'spoofed-address: with an invented combination of address headers, a client has a fresh limit',
  ]);
});

test('a limit that refills between requests is not a fresh one', async () => {
  // With the claims more remains than before, and as much remains without them afterwards.
  const remaining = [99, 98, 99, 99];
  const { found } = await findings((_, asked) => left(remaining[asked - 1] ?? 0));
  expect(found).toEqual([THROUGH(99, 98)]);
});

test('with the claims as much remains as without: no fresh limit', async () => {
  const remaining = [99, 98, 98, 97];
  const { found, asked } = await findings((_, n) => left(remaining[n - 1] ?? 0));
  expect({ found, asked }).toEqual({ found: [THROUGH(99, 98)], asked: 4 });
});

test('no conclusion from claims that are not answered, or answered without a limit', async () => {
  expect((await findings((_, n) => (n === 3 ? undefined : left(100 - n)))).found).toEqual([
    THROUGH(99, 98),
  ]);
  expect(
    (await findings((_, n) => (n === 4 ? undefined : left(n === 3 ? 99 : 100 - n)))).found,
  ).toEqual([THROUGH(99, 98)]);
  expect((await findings((_, n) => (n === 3 ? {} : left(100 - n)))).found).toEqual([
    THROUGH(99, 98),
  ]);
});

test.each([
  [99, 99],
  [98, 99],
])('%d remained, then %d: not counted', async (before, after) => {
  expect(await findings((_, n) => left(n === 1 ? before : after))).toEqual({
    found: [`not-counted: X-RateLimit-Remaining was ${before}, and ${after} afterwards`],
    asked: 2,
  });
});

test('nothing answers', async () => {
  const { found, asked } = await findings(() => undefined);
  expect(found).toEqual(['no-answer: ECONNRESET']);
  expect(asked).toBe(1);
});

test('nothing is said if the second request gets no answer', async () => {
  expect(await findings((_, n) => (n === 1 ? left(99) : undefined))).toEqual({
    found: [],
    asked: 2,
  });
});

const NONE_LEFT = { ...LIMIT, 'x-ratelimit-remaining': '0' };

test.each<[Answer, string]>([
  [
    { status: 200, headers: { ...LIMIT, 'x-ratelimit-bypass': 'timeout' } },
    'gateway-unreachable: X-RateLimit-Bypass: timeout',
  ],
  [
    { status: 503, body: '{"error":"gateway_unavailable"}' },
    'gateway-unreachable: status 503 of the part of headgate',
  ],
  [{ headers: { ...LIMIT, 'x-ratelimit-mode': 'open' } }, 'store-down: X-RateLimit-Mode: open'],
  [{ headers: { ...LIMIT, 'x-ratelimit-mode': 'local' } }, 'store-down: X-RateLimit-Mode: local'],
  [{ status: 500, headers: NONE_LEFT }, 'answered-500: status 500 as soon as no request remains'],
  [{ status: 500 }, 'answered-500: status 500 without X-RateLimit-Limit'],
  [
    { status: 500, headers: { 'x-ratelimit-remaining': '0' } },
    'answered-500: status 500 without X-RateLimit-Limit',
  ],
  [
    { status: 429, headers: { ...NONE_LEFT, 'retry-after': '7' } },
    'denied-now: status 429; try again in 7 seconds',
  ],
  [{ status: 429, headers: NONE_LEFT }, 'denied-now: status 429; try again in some seconds'],
  [{ status: 429 }, 'not-limited: status 429 without X-RateLimit-Limit'],
  [
    { status: 403, headers: { 'x-ratelimit-decision-id': 'abc' } },
    'client-refused: status 403 with X-RateLimit-Decision-Id',
  ],
  [{ status: 403 }, 'answered-403: status 403 without X-RateLimit-Limit'],
  [{ status: 401 }, 'answered-by-site: status 401 without X-RateLimit-Limit'],
  [{ status: 503, body: 'busy' }, 'answered-by-site: status 503 without X-RateLimit-Limit'],
  [
    { status: 200, body: 'gateway_unavailable' },
    'not-limited: status 200 without X-RateLimit-Limit',
  ],
  [
    { status: 404, headers: { 'x-ratelimit-decision-id': 'abc' } },
    'not-limited: status 404 without X-RateLimit-Limit',
  ],
  [
    { headers: { 'x-ratelimit-limit': '10, 20' } },
    'not-limited: status 200 without X-RateLimit-Limit',
  ],
  [
    { headers: { 'x-ratelimit-limit': '1'.repeat(16) } },
    'not-limited: status 200 without X-RateLimit-Limit',
  ],
])('%j ends the examination, in the first answer or the second', async (answer, finding) => {
  expect(await findings(() => answer)).toEqual({ found: [finding], asked: 1 });
  expect(await findings((_, n) => (n === 1 ? left(99) : answer))).toEqual({
    found: [finding],
    asked: 2,
  });
});

test.each([
  ['status 500 of an application, while requests remain', { status: 500 }],
  ['status 503 of an application that is limited', { status: 503 }],
  ['status 403 of an application that is limited', { status: 403 }],
  ['the mode enforce', { headers: { 'x-ratelimit-mode': 'enforce' } }],
])('%s is no obstacle', async (_, { status = 200, headers = {} }: Answer) => {
  const count = limiter();
  const { found } = await findings((request) => ({
    status,
    headers: { ...count(request).headers, ...headers },
  }));
  expect(found).toEqual([THROUGH(99, 98).replace('200', String(status))]);
});

test.each([
  ['2026-11-26T11:59:55Z', []],
  ['2026-11-26T12:00:05Z', []],
  ['2026-11-26T11:59:54Z', ['clock-differs: the Date header is 6 s away from this clock']],
  ['2026-11-26T12:01:30Z', ['clock-differs: the Date header is 90 s away from this clock']],
])('the clock of the proxy is at %s', async (at, said) => {
  const date = new Date(at).toUTCString();
  const count = limiter();
  const { found } = await findings((request) => ({
    headers: { ...count(request).headers, date },
  }));
  expect(found).toEqual([...said, THROUGH(99, 98)]);
  // It is said also if nothing else can be learned.
  expect((await findings(() => ({ headers: { date } }))).found).toEqual([
    ...said,
    'not-limited: status 200 without X-RateLimit-Limit',
  ]);
});

test('a Date header that is no time says nothing', async () => {
  expect((await findings(() => ({ headers: { date: 'soon' } }))).found).toEqual([
    'not-limited: status 200 without X-RateLimit-Limit',
  ]);
});

const twice = (measures: number, least: number) =>
  `counted-twice: each of ${measures} requests lowered X-RateLimit-Remaining by ${least} or more, and no policy has the cost ${least}`;

test('a request that costs two, where all policies cost one, is measured five times', async () => {
  expect(await findings(limiter(2), new Set([1]))).toEqual({
    found: [twice(5, 2), THROUGH(98, 96)],
    asked: 8,
  });
});

test.each([
  ['the cost of a policy', 2, new Set([1, 2])],
  ['less than the cost of every policy', 1, new Set([2, 5])],
  ['the cost of every policy', 1, new Set([1])],
])('%s is not measured again', async (_, cost, costs) => {
  expect(await findings(limiter(cost), costs)).toEqual({
    found: [THROUGH(100 - cost, 100 - 2 * cost)],
    asked: 4,
  });
});

test('without the costs of the policies, nothing is said of them', async () => {
  expect(await findings(limiter(2))).toEqual({ found: [THROUGH(98, 96)], asked: 4 });
});

test('between the costs of two policies is a wrong cost', async () => {
  expect((await findings(limiter(2), new Set([1, 5]))).found[0]).toBe(twice(5, 2));
});

test('one request of another client with the address is no proof', async () => {
  const remaining = [99, 97, 96, 95, 94];
  const { found, asked } = await findings((_, n) => left(remaining[n - 1] ?? 0), new Set([1]));
  expect({ found, asked }).toEqual({ found: [THROUGH(99, 97)], asked: 5 });
});

test.each([
  [2, []],
  [3, [twice(3, 2)]],
])('after %d measures the limit is used up', async (measures, said) => {
  const count = limiter(2);
  const { found } = await findings(
    (request, n) => (n === measures + 2 ? { status: 429, headers: NONE_LEFT } : count(request)),
    new Set([1]),
  );
  expect(found).toEqual([...said, THROUGH(98, 96)]);
});

test.each<[string, Answer | undefined]>([
  ['breaks off', undefined],
  ['has no limit', {}],
])('a measure that %s ends them', async (_, answer) => {
  const count = limiter(2);
  const { found } = await findings(
    (request, n) => (n === 3 ? answer : count(request)),
    new Set([1]),
  );
  expect(found).toEqual([THROUGH(98, 96)]);
});
