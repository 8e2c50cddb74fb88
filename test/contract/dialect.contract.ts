/** What every dialect must do. test/unit/gateway/dialects/contract.test.ts runs it for each row of the table. */
import { describe, expect, test } from 'vitest';
import type { AnswerStyle } from '../../src/gateway/core/answer-style.ts';
import type { CheckRequest } from '../../src/gateway/core/check-request.ts';
import {
  AMBIGUOUS_IDENTITY,
  BLOCKED,
  type Decision,
  EXEMPT,
  MALFORMED_HOST,
  MALFORMED_PATH,
  unmeasured,
} from '../../src/gateway/core/counting/decision.ts';
import { loginPolicy } from '../support/policies.ts';
import { type HeaderChange, PROXY_ADDRESS, type ProxyFixture } from '../support/proxy-fixture.ts';
import { NOON_MS } from '../support/requests.ts';

/** As the proxy sees it. */
interface SeenAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface DialectUnderTest {
  readonly name: string;
  readonly fixture: Omit<ProxyFixture, 'sends'>;
  /** Names of headers that other proxies send and this one passes on from clients. */
  readonly foreignHeaders: readonly string[];
  parse(change?: HeaderChange): CheckRequest;
  render(decision: Decision, style: AnswerStyle): SeenAnswer;
}

const STYLE: AnswerStyle = { reset: 'epoch', retryAfterJitterSeconds: 0, body: 'json' };
const POLICY = loginPolicy('[5/5min, { rate: 50/5min, per: ip }]');
const [LIMIT, PER_IP] = POLICY.limits as [(typeof POLICY.limits)[0], (typeof POLICY.limits)[0]];

/** Both times end a millisecond after a full second, so rounding down would be too early. */
function counted(verdict: 'allow' | 'deny', mode: Decision['mode'] = 'enforced'): Decision {
  const denied = verdict === 'deny';
  const state = { limit: 5, remaining: denied ? 0 : 4, resetAfterMs: 299_001 };
  return {
    verdict,
    mode,
    reason: denied ? 'over_limit' : 'within_limits',
    policy: 'login',
    binding: {
      limit: LIMIT,
      state: { ...state, retryAfterMs: denied ? 111_001 : 0 },
      nowMs: NOON_MS,
      key: 'hg:v1:{i.x}:login:client.300000',
    },
    // Around midnight a limit is counted under two salts.
    limits: [LIMIT, LIMIT, PER_IP],
  };
}

function withId(decision: Decision): Decision {
  const id = '0123456789abcdef';
  const denial = { id, client: 'i.x', isMadeUp: false, address: {}, identity: 'ip' };
  return { ...decision, denial: denial as NonNullable<Decision['denial']> };
}

const QUOTA = {
  'X-RateLimit-Limit': '5',
  'X-RateLimit-Reset': String(NOON_MS / 1_000 + 300),
  'RateLimit-Policy': '"login";q=5;w=300, "login:ip:5min";q=50;w=300',
};
const ALLOWED = {
  ...QUOTA,
  'Cache-Control': 'no-store',
  'X-RateLimit-Remaining': '4',
  RateLimit: '"login";r=4;t=300',
};
const DENIED = {
  ...QUOTA,
  'Cache-Control': 'no-store',
  'X-RateLimit-Remaining': '0',
  RateLimit: '"login";r=0;t=112',
  'Retry-After': '112',
  'X-RateLimit-Policy': 'login',
  'Content-Type': 'application/json',
};
const REFUSED = { 'Cache-Control': 'no-store', 'Content-Type': 'application/json' };

export function describeDialect(dialect: DialectUnderTest): void {
  describe(dialect.name, () => {
    describe('understands', () => testChecks(dialect));
    describe('answers', () => testAnswers(dialect));
    describe('answers, by option,', () => testStyles(dialect));
  });
}

function testChecks({ fixture, foreignHeaders, parse }: DialectUnderTest): void {
  const { means, required, optional, lists = [] } = fixture;
  const addresses = {
    proxy: PROXY_ADDRESS,
    peer: means.peer,
    client: means.client,
    forwardedFor: means.forwardedFor,
    forwarded: undefined,
    headers: means.addressHeaders,
  };
  const understood = {
    method: means.method,
    host: means.host,
    target: means.target,
    addresses,
    policy: undefined,
    requestId: means.requestId,
    missing: [],
  };
  /** What is left of the check without one of the required headers. */
  const withoutAny = (header: string) => {
    const missing = [header.toLowerCase()];
    const check = parse({ remove: header });
    return { ...check, missing };
  };

  test('what the proxy sends', () => {
    const { headers, ...check } = parse();
    expect(check).toEqual(understood);
    expect(headers['x-api-key']).toBe(means.apiKey);
  });

  test('none of the headers that other proxies send, which clients can set', () => {
    const { headers: _, ...check } = parse({
      add: foreignHeaders.map((name) => [name, '/spoofed']),
    });
    expect(check).toEqual(understood);
  });

  test('a Forwarded list that the proxy passes on', () => {
    const forwarded = 'for=192.0.2.1';
    const { addresses: reported } = parse({ add: [['forwarded', forwarded]] });
    expect(reported).toEqual({ ...addresses, forwarded });
  });

  test.runIf(required.length > 0).each(required)('that %s is missing', (header) => {
    expect(parse({ remove: header }).missing).toEqual([header.toLowerCase()]);
    expect(parse({ empty: header }).missing).toEqual([header.toLowerCase()]);
  });

  const single = required.filter((header) => !lists.includes(header));
  test.runIf(single.length > 0).each(single)('no value of %s if there are two', (header) => {
    const { headers: _, ...check } = parse({ repeat: header });
    const { headers: __, ...expected } = withoutAny(header);
    expect(check).toEqual(expected);
  });

  const spare = Object.entries(optional);
  test.runIf(spare.length > 0).each(spare)('a request without %s, or with two', (header, part) => {
    for (const change of [{ remove: header }, { repeat: header }, { empty: header }]) {
      const { headers: _, ...check } = parse(change);
      const expected =
        part === 'requestId'
          ? { ...understood, requestId: undefined }
          : { ...understood, addresses: { ...addresses, [part]: undefined } };
      expect(check).toEqual(expected);
    }
  });
}

function testAnswers({ fixture: { needs }, render }: DialectUnderTest): void {
  const { denied, badRequest, onDenial = () => ({}), notOnAllow = [] } = needs;
  const onAllow = (headers: Readonly<Record<string, string>>) =>
    Object.fromEntries(Object.entries(headers).filter(([name]) => !notOnAllow.includes(name)));
  /** With 403 for a denial, the proxy gets the status for the client in a header. */
  const statusFor = (status: number) => (denied === 403 ? 403 : status);
  const expectDenial = (
    answer: SeenAnswer,
    status: number,
    headers: Readonly<Record<string, string>>,
  ) => {
    expect(answer.status).toBe(statusFor(status));
    expect(answer.body.endsWith('\n')).toBe(true);
    expect(answer.headers).toEqual({ ...headers, ...onDenial(status, answer.body.trimEnd()) });
  };

  test('an allow: exactly 200, no body, the quota', () => {
    expect(render(counted('allow'), STYLE)).toEqual({
      status: 200,
      headers: onAllow(ALLOWED),
      body: '',
    });
  });

  test('an allow that nothing was counted for', () => {
    expect(render(EXEMPT, STYLE)).toEqual({
      status: 200,
      headers: onAllow({ 'Cache-Control': 'no-store' }),
      body: '',
    });
  });

  test('a denial: 429, the quota, when to retry, and why', () => {
    const answer = render(withId(counted('deny')), STYLE);
    expectDenial(answer, 429, { ...DENIED, 'X-RateLimit-Decision-Id': '0123456789abcdef' });
    expect(JSON.parse(answer.body)).toEqual({
      error: 'rate_limit_exceeded',
      message: 'Policy login allows 5 requests per 5 minutes. Try again in 112 seconds.',
      policy: 'login',
      retry_after: 112,
      decision_id: '0123456789abcdef',
    });
  });

  test('a denial that this process alone counted', () => {
    expectDenial(render(counted('deny', 'local'), STYLE), 429, {
      ...DENIED,
      'X-RateLimit-Mode': 'local',
    });
  });

  test('a failed store: open allows, without invented numbers', () => {
    expect(render(unmeasured('open', POLICY), STYLE)).toEqual({
      status: 200,
      headers: onAllow({ 'Cache-Control': 'no-store', 'X-RateLimit-Mode': 'open' }),
      body: '',
    });
  });

  test('a failed store: closed is a 429, never a 5xx', () => {
    const answer = render(unmeasured('closed', POLICY), STYLE);
    expectDenial(answer, 429, {
      ...REFUSED,
      'X-RateLimit-Mode': 'closed',
      'Retry-After': '1',
      'X-RateLimit-Policy': 'login',
    });
    expect(JSON.parse(answer.body)).toEqual({
      error: 'rate_limit_unavailable',
      message: 'Rate limiting is temporarily unavailable. Try again in 1 second.',
      policy: 'login',
      retry_after: 1,
    });
  });

  test.each([
    ['a blocked client', BLOCKED, 403, 'blocked'],
    ['a malformed path', MALFORMED_PATH, badRequest, 'malformed_path'],
    ['a malformed host', MALFORMED_HOST, badRequest, 'malformed_host'],
    ['an ambiguous identity', AMBIGUOUS_IDENTITY, badRequest, 'ambiguous_identity'],
  ] as const)('%s, without Retry-After', (_, decision, status, error) => {
    const answer = render(decision, STYLE);
    expectDenial(answer, status, REFUSED);
    const message = expect.stringMatching(/^[A-Z].*\.$/);
    expect(JSON.parse(answer.body)).toEqual({ error, message });
  });
}

function testStyles({ fixture: { needs }, render }: DialectUnderTest): void {
  const { onDenial = () => ({}) } = needs;

  test('with the reset as seconds from now', () => {
    const { headers } = render(counted('allow'), { ...STYLE, reset: 'delta' });
    expect(headers['X-RateLimit-Reset']).toBe('300');
  });

  test('with jitter on Retry-After: never too early, the same for every retry', () => {
    const style = { ...STYLE, retryAfterJitterSeconds: 10 };
    const seconds = () => Number(render(counted('deny'), style).headers['Retry-After']);
    expect(seconds()).toBeGreaterThan(112);
    expect(seconds()).toBeLessThanOrEqual(122);
    expect(seconds()).toBe(seconds());
  });

  test('with problem details', () => {
    const { headers, body } = render(withId(counted('deny')), { ...STYLE, body: 'problem+json' });
    expect(headers).toEqual({
      ...DENIED,
      'X-RateLimit-Decision-Id': '0123456789abcdef',
      'Content-Type': 'application/problem+json',
      ...onDenial(429, body.trimEnd()),
    });
    expect(JSON.parse(body)).toEqual({
      type: 'https://iana.org/assignments/http-problem-types#quota-exceeded',
      title: 'Too Many Requests',
      status: 429,
      detail: 'Policy login allows 5 requests per 5 minutes. Try again in 112 seconds.',
      'violated-policies': ['login'],
      retry_after: 112,
      decision_id: '0123456789abcdef',
    });
  });

  test('with problem details for a blocked client', () => {
    const { body } = render(BLOCKED, { ...STYLE, body: 'problem+json' });
    expect(JSON.parse(body)).toEqual({
      type: 'about:blank',
      title: 'Forbidden',
      status: 403,
      detail: 'This client is blocked.',
    });
  });
}
