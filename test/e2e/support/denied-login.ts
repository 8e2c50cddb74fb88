/** The answer to the sixth login in five minutes, which is the same behind every proxy. */
import { expect } from 'vitest';
import type { HttpAnswer } from '../../support/http.ts';

/** Of the denial, its id. */
export function expectDeniedLogin({ status, headers, body }: HttpAnswer): string {
  const retryAfter = Number(headers['retry-after']);
  const id = String(headers['x-ratelimit-decision-id']);
  expect(status).toBe(429);
  expect(retryAfter).toBeGreaterThan(290);
  expect(retryAfter).toBeLessThanOrEqual(300);
  expect(id).toMatch(/^[0-9a-f]{12}-\d+$/);
  expect(headers).toMatchObject({
    'content-type': 'application/json',
    'cache-control': 'no-store',
    'x-ratelimit-limit': '5',
    'x-ratelimit-remaining': '0',
    'x-ratelimit-policy': 'login',
    ratelimit: `"login";r=0;t=${retryAfter}`,
    'ratelimit-policy': '"login";q=5;w=300, "login:ip:5min";q=50;w=300',
  });
  expect(Number(headers['x-ratelimit-reset'])).toBeGreaterThan(Date.now() / 1000 + 290);
  expect(JSON.parse(body)).toEqual({
    error: 'rate_limit_exceeded',
    message: `Policy login allows 5 requests per 5 minutes. Try again in ${retryAfter} seconds.`,
    policy: 'login',
    retry_after: retryAfter,
    decision_id: id,
  });
  return id;
}
