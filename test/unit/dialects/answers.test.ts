import { describe, expect, test } from 'vitest';
import { type Decision, MALFORMED_PATH, unmeasured } from '../../../src/core/decision.ts';
import type { AnswerStyle } from '../../../src/core/policy-set.ts';
import { envoy } from '../../../src/dialects/envoy.ts';
import { nginx } from '../../../src/dialects/nginx.ts';
import { loginPolicy } from '../../support/policies.ts';
import { NOON_MS } from '../../support/requests.ts';

const STYLE: AnswerStyle = { reset: 'epoch', retryAfterJitterSeconds: 0, body: 'json' };
const POLICY = loginPolicy('[5/5min, { rate: 50/5min, per: ip }]');
const [LIMIT, PER_IP] = POLICY.limits as [(typeof POLICY.limits)[0], (typeof POLICY.limits)[0]];

function decision(verdict: 'allow' | 'deny', mode: Decision['mode'] = 'enforced'): Decision {
  const denied = verdict === 'deny';
  return {
    verdict,
    mode,
    reason: denied ? 'over_limit' : 'within_limits',
    policy: 'login',
    binding: {
      limit: LIMIT,
      state: {
        limit: 5,
        remaining: denied ? 0 : 4,
        resetAfterMs: 300_000,
        retryAfterMs: denied ? 111_001 : 0,
      },
      nowMs: NOON_MS,
      key: 'hg:v1:{i.x}:login:client.300000',
    },
    limits: [LIMIT, LIMIT, PER_IP],
  };
}

/** Header fields by their names as written. */
function fields({ headers }: { headers: readonly string[] }): Record<string, string> {
  const pairs = headers.flatMap((name, i) => (i % 2 === 0 ? [[name, headers[i + 1] ?? '']] : []));
  expect(new Set(pairs.map(([name]) => name)).size).toBe(pairs.length);
  return Object.fromEntries(pairs);
}

describe.each([envoy, nginx])('$name', (dialect) => {
  test('allows with exactly 200, no body, and how the client stands', () => {
    const answer = dialect.render(decision('allow'), STYLE);
    expect(answer).toMatchObject({ status: 200, body: '' });
    expect(fields(answer)).toEqual({
      'Cache-Control': 'no-store',
      'X-RateLimit-Limit': '5',
      'X-RateLimit-Remaining': '4',
      'X-RateLimit-Reset': String(NOON_MS / 1000 + 300),
      RateLimit: '"login";r=4;t=300',
      'RateLimit-Policy': '"login";q=5;w=300, "login:ip:5min";q=50;w=300',
    });
  });

  test('denies with 429, when to come back, and the policy that said so', () => {
    const answer = dialect.render(decision('deny'), STYLE);
    expect(answer.status).toBe(429);
    expect(fields(answer)).toMatchObject({
      'Cache-Control': 'no-store',
      'X-RateLimit-Limit': '5',
      'X-RateLimit-Remaining': '0',
      'X-RateLimit-Reset': String(NOON_MS / 1000 + 300),
      RateLimit: '"login";r=0;t=112',
      'RateLimit-Policy': '"login";q=5;w=300, "login:ip:5min";q=50;w=300',
      'Retry-After': '112',
      'X-RateLimit-Policy': 'login',
      'Content-Type': 'application/json',
    });
    expect(JSON.parse(answer.body)).toEqual({
      error: 'rate_limit_exceeded',
      message: 'Policy login allows 5 requests per 5 minutes. Try again in 112 seconds.',
      policy: 'login',
      retry_after: 112,
    });
  });

  test('invents no numbers for a request that nobody measured', () => {
    const answer = dialect.render(unmeasured('open', POLICY), STYLE);
    expect(answer).toMatchObject({ status: 200, body: '' });
    expect(fields(answer)).toEqual({ 'Cache-Control': 'no-store', 'X-RateLimit-Mode': 'open' });
  });

  test('closed is a 429 and never a 5xx, which some proxies take for an allow', () => {
    const answer = dialect.render(unmeasured('closed', POLICY), STYLE);
    expect(answer.status).toBe(429);
    expect(fields(answer)).toMatchObject({ 'X-RateLimit-Mode': 'closed', 'Retry-After': '1' });
    expect(JSON.parse(answer.body)).toMatchObject({
      error: 'rate_limit_unavailable',
      policy: 'login',
    });
  });

  test('says when only this process counted', () => {
    const answer = dialect.render(decision('allow', 'local'), STYLE);
    expect(fields(answer)).toMatchObject({
      'X-RateLimit-Mode': 'local',
      'X-RateLimit-Remaining': '4',
    });
  });

  test('gives the reset from now, by option', () => {
    const answer = dialect.render(decision('allow'), { ...STYLE, reset: 'delta' });
    expect(fields(answer)['X-RateLimit-Reset']).toBe('300');
  });

  test('adds jitter to Retry-After, by option: never less than the truth, the same when asked again', () => {
    const style = { ...STYLE, retryAfterJitterSeconds: 10 };
    const seconds = Number(fields(dialect.render(decision('deny'), style))['Retry-After']);
    expect(seconds).toBeGreaterThanOrEqual(112);
    expect(seconds).toBeLessThanOrEqual(122);
    expect(fields(dialect.render(decision('deny'), style))['Retry-After']).toBe(String(seconds));
  });

  test('writes problem details, by option', () => {
    const answer = dialect.render(decision('deny'), { ...STYLE, body: 'problem+json' });
    expect(fields(answer)['Content-Type']).toBe('application/problem+json');
    expect(JSON.parse(answer.body)).toMatchObject({
      type: 'https://iana.org/assignments/http-problem-types#quota-exceeded',
      status: 429,
      'violated-policies': ['login'],
      retry_after: 112,
    });
  });
});

test('Envoy passes a 400 on, NGINX would make a 500 of it', () => {
  expect(envoy.render(MALFORMED_PATH, STYLE).status).toBe(400);
  expect(nginx.render(MALFORMED_PATH, STYLE).status).toBe(403);
});

test('NGINX drops the body of an answer, so it also gets it in a header', () => {
  const answer = nginx.render(decision('deny'), STYLE);
  expect(fields(answer)['X-Headgate-Body']).toBe(answer.body.trimEnd());
});
