/** The forms of answers, as policy files choose them. */
import { describe, expect, test } from 'vitest';
import { createCheck, UNOBSERVED } from '../../../../../src/gateway/core/check.ts';
import type { Decision } from '../../../../../src/gateway/core/counting/decision.ts';
import type { QuotaState } from '../../../../../src/gateway/core/counting/store.ts';
import { StoreError } from '../../../../../src/gateway/core/counting/store.ts';
import type { Answer } from '../../../../../src/gateway/core/dialect.ts';
import { NO_OVERRIDES } from '../../../../../src/gateway/core/overrides.ts';
import { answer } from '../../../../../src/gateway/dialects/shared/answer.ts';
import { toCheckRequest } from '../../../../../src/gateway/operations/explain.ts';
import { SaltBooks } from '../../../../../src/gateway/stores/salts/salt-sources.ts';
import { policySetFrom } from '../../../../support/policies.ts';

const NOW = Date.UTC(2026, 10, 26);
const WAITS_7_S: Partial<QuotaState> = { remaining: 0, retryAfterMs: 6_500, resetAfterMs: 360_000 };

interface Setting {
  readonly states?: readonly Partial<QuotaState>[];
  readonly headers?: readonly (readonly [string, string])[];
  readonly url?: string;
  readonly isDown?: boolean;
}

/** A state for each limit in the order of the file; the last one for all others. Denied if one has to wait. */
async function answerTo(policies: string, setting: Setting = {}): Promise<Answer> {
  const { states = [WAITS_7_S], headers = [], url = '/x', isDown = false } = setting;
  const set = policySetFrom(`version: 1\nidentity: { sources: [ip] }\n${policies}`);
  const take = (descriptors: readonly { readonly quota: { readonly limit: number } }[]) => {
    if (isDown) throw new StoreError('connection', 'down');
    const found = descriptors.map(({ quota: { limit } }, i) => ({
      ...{ limit, remaining: limit, retryAfterMs: 0, resetAfterMs: 0 },
      ...(states[i] ?? states.at(-1)),
    }));
    const admitted = found.every(({ retryAfterMs }) => retryAfterMs === 0);
    return { admitted, states: found as QuotaState[], nowMs: NOW };
  };
  const check = createCheck({
    store: { take: async (descriptors) => take(descriptors) },
    local: { take, record: () => {} } as never,
    salts: new SaltBooks(),
    overrides: { current: NO_OVERRIDES },
    newId: () => 'abc-1',
    observer: UNOBSERVED,
  });
  const sent = toCheckRequest({
    method: 'GET',
    url,
    headers,
    proxy: '203.0.113.1',
    peer: '203.0.113.2',
  });
  const decision: Decision = await check(sent, set, NOW);
  const style = decision.answers ?? set.answers;
  return answer(decision, { style, sent: sent.headers, badRequest: 400 });
}

const named = ({ headers }: Answer) =>
  Object.fromEntries(headers.flatMap((each, i) => (i % 2 === 0 ? [[each, headers[i + 1]]] : [])));
const jsonOf = ({ body }: Answer) => JSON.parse(body);

describe('json-rpc', () => {
  const POLICIES = 'answers: { body: json-rpc }\ndefault: { limits: [5/1min] }';

  test('says how long to wait, in words and in milliseconds', async () => {
    const denied = await answerTo(POLICIES);
    expect(denied.status).toBe(429);
    expect(named(denied)).toMatchObject({ 'Retry-After': '7', 'Content-Type': 'application/json' });
    expect(jsonOf(denied)).toEqual({
      jsonrpc: '2.0',
      id: null,
      error: {
        code: -32_023,
        message: 'Policy default allows 5 requests per minute. Try again in 7 seconds.',
        data: { retryAfterMs: 6_500, policy: 'default', decision_id: 'abc-1' },
      },
    });
  });

  test('has another code if the file says so', async () => {
    const file = 'answers: { body: json-rpc, json_rpc_code: 7 }\ndefault: { limits: [5/1min] }';
    expect(jsonOf(await answerTo(file)).error.code).toBe(7);
  });

  test.each([
    ['/%00', -32_600],
    ['//', -32_023],
  ])('the code for %s is %i', async (url, code) => {
    expect(jsonOf(await answerTo(POLICIES, { url })).error.code).toBe(code);
  });
});

describe('openai', () => {
  const POLICIES = `
answers: { body: openai, headers: openai }
default:
  limits:
    - 5/1min
    - { rate: 900/1h, unit: tokens, reserve: 100, algorithm: sliding-window-counter }
    - { rate: 50/1h, unit: images, reserve: 1, algorithm: sliding-window-counter }`;
  const FREE: Partial<QuotaState> = { remaining: 3, resetAfterMs: 12 };

  test('has the headers of each unit that LLM clients know, and no others', async () => {
    const allowed = await answerTo(POLICIES, {
      states: [FREE, { ...FREE, resetAfterMs: 360_000 }],
    });
    expect(named(allowed)).toEqual({
      'Cache-Control': 'no-store',
      'X-RateLimit-Limit-Requests': '5',
      'X-RateLimit-Remaining-Requests': '3',
      'X-RateLimit-Reset-Requests': '12ms',
      'X-RateLimit-Limit-Tokens': '900',
      'X-RateLimit-Remaining-Tokens': '3',
      'X-RateLimit-Reset-Tokens': '6m0s',
    });
  });

  test.each([
    [0, 'requests', 'Policy default allows 5 requests per minute. Try again in 7 seconds.'],
    [1, 'tokens', 'Policy default allows 900 tokens per hour. Try again in 7 seconds.'],
    [2, 'images', 'Policy default allows 50 images per hour. Try again in 7 seconds.'],
  ])('limit %i denies with the type %s', async (index, type, message) => {
    const states = [FREE, FREE, FREE].map((each, i) => (i === index ? WAITS_7_S : each));
    const denied = await answerTo(POLICIES, { states });
    expect(jsonOf(denied)).toEqual({
      error: { message, type, param: null, code: 'rate_limit_exceeded', decision_id: 'abc-1' },
    });
    const headers = named(denied);
    expect(headers).toMatchObject({ 'Retry-After': '7', 'Retry-After-Ms': '6500' });
    expect(headers).not.toHaveProperty('X-Should-Retry');
    expect(headers['X-RateLimit-Remaining-Requests']).toBe(index === 0 ? '0' : '3');
    expect(headers['X-RateLimit-Remaining-Tokens']).toBe(index === 1 ? '0' : '3');
  });

  test.each([
    ['a wait of more than a minute', { retryAfterMs: 60_001 }, '60001'],
    ['a request that is never allowed', { limit: 0, retryAfterMs: 1 }, undefined],
  ])('%s is not worth a retry', async (_name, state, ms) => {
    const headers = named(await answerTo(POLICIES, { states: [{ ...WAITS_7_S, ...state }] }));
    expect(headers['X-Should-Retry']).toBe('false');
    expect(headers['Retry-After-Ms']).toBe(ms);
  });

  test('a store that fails is an error of the server', async () => {
    const denied = await answerTo(`on_store_failure: deny${POLICIES}`, { isDown: true });
    expect(jsonOf(denied).error).toMatchObject({
      type: 'server_error',
      code: 'rate_limit_unavailable',
    });
    expect(named(denied)).toMatchObject({ 'Retry-After': '1', 'Retry-After-Ms': '1000' });
  });

  test('a refusal has the type of a bad request', async () => {
    const denied = await answerTo(POLICIES, { url: '/%00' });
    expect([denied.status, jsonOf(denied).error.type]).toEqual([400, 'invalid_request_error']);
  });
});

describe('headers: off', () => {
  const HIDDEN = `
default: { limits: [5/1min], answers: { headers: off } }
policies: [{ name: all, always: true, limits: [9/1min] }]`;
  const numbers = (of: Answer) => Object.keys(named(of)).filter((each) => /RateLimit/.test(each));

  test('an allowed request tells nothing', async () => {
    expect(numbers(await answerTo(HIDDEN, { states: [{}] }))).toEqual([]);
  });

  test('a denied one has Retry-After and the id, and no number in its body', async () => {
    const denied = await answerTo(HIDDEN);
    expect(numbers(denied)).toEqual(['X-RateLimit-Decision-Id']);
    expect(named(denied)['Retry-After']).toBe('7');
    expect(jsonOf(denied)).toEqual({
      error: 'rate_limit_exceeded',
      message: 'Too many requests. Try again in 7 seconds.',
      retry_after: 7,
      decision_id: 'abc-1',
    });
  });

  test('a policy beside it neither shows its limits nor is hidden by it', async () => {
    const beside = `
default: { limits: [5/1min] }
policies: [{ name: all, always: true, limits: [9/1min], answers: { headers: off } }]`;
    const shown = await answerTo(beside, { states: [{ remaining: 1 }, { remaining: 9 }] });
    expect(named(shown)).toMatchObject({
      'X-RateLimit-Limit': '5',
      'RateLimit-Policy': '"default";q=5;w=60',
    });
    // As if the hidden limit were not there, also when it has less left.
    const full = named(await answerTo(beside, { states: [{}, { remaining: 9 }] }));
    const { 'X-RateLimit-Remaining': left } = full;
    expect(left).toBe('5');
    expect(named(await answerTo(beside, { states: [{}, { remaining: 1 }] }))).toEqual(full);
    expect(numbers(await answerTo(beside, { states: [{}, WAITS_7_S] }))).toEqual([
      'X-RateLimit-Decision-Id',
    ]);
  });

  test.each([
    ['a text', 'text: "by {policy}"', 'Too many requests. Try again in 7 seconds.'],
    ['a page', 'page: "<p>{policy}</p>"', 'Too many requests. Try again in 7 seconds.'],
    ['a text without the name', 'text: "in {seconds} s"', 'in 7 s'],
  ])('%s of the most specific policy does not name it', async (_, own, message) => {
    const beside = `
default: { limits: [5/1min], answers: { ${own} } }
policies: [{ name: all, always: true, limits: [9/1min], answers: { headers: off } }]`;
    const headers = [['accept', 'text/html']] as const;
    const denied = await answerTo(beside, { states: [{}, WAITS_7_S], headers });
    expect(jsonOf(denied)).toMatchObject({ message });
    expect(JSON.stringify(denied)).not.toMatch(/\ball\b/);
  });

  test('a store that fails does not name it', async () => {
    const beside = `
default: { limits: [5/1min], on_store_failure: allow }
policies: [{ name: all, always: true, limits: [9/1min], on_store_failure: deny, answers: { headers: off } }]`;
    const denied = await answerTo(beside, { isDown: true });
    expect(denied.status).toBe(429);
    expect(JSON.stringify(denied)).not.toMatch(/\ball\b/);
  });
});

describe('a most specific policy in shadow mode', () => {
  const beside = (headers: string) => `
default: { limits: [5/1min], mode: shadow, answers: { headers: ${headers} } }
policies: [{ name: all, always: true, limits: [9/1min] }]`;
  const numbers = (of: Answer) =>
    Object.entries(named(of)).filter(([name]) => /^(X-RateLimit-(L|Rem|Res)|RateLimit)/.test(name));

  test.each([
    ['openai', 'X-RateLimit-Limit-Requests'],
    ['standard', 'X-RateLimit-Limit'],
  ])('gives the numbers of the others its form, %s', async (form, name) => {
    for (const states of [[{}], [WAITS_7_S]]) {
      const told = Object.fromEntries(numbers(await answerTo(beside(form), { states })));
      expect(told[name]).toBe('9');
    }
  });

  test('hides them with off', async () => {
    for (const states of [[{}], [WAITS_7_S]]) {
      expect(numbers(await answerTo(beside('off'), { states }))).toEqual([]);
    }
  });
});

describe('cors', () => {
  const ORIGIN = 'https://app.example.com';
  test.each([
    ['standard', 'json'],
    ['standard', 'openai'],
    ['openai', 'openai'],
    ['off', 'json'],
  ])('pages read every header of a denial with headers: %s and body: %s', async (form, body) => {
    const denied = await answerTo(
      `answers: { cors: { origins: ["${ORIGIN}"] }, headers: ${form}, body: ${body}, page: "<p>no" }
default: { limits: [5/1min] }`,
      { headers: [['origin', ORIGIN]] },
    );
    const sent = Object.keys(named(denied));
    const { 'Access-Control-Expose-Headers': exposed, Vary: vary } = named(denied);
    expect(vary).toBe('Accept, Origin');
    expect(exposed?.split(', ')).toEqual(sent.filter((name) => !/^Access-Control-/.test(name)));
  });
});

describe('text and page', () => {
  const OWN = `
answers: { text: 'Zu "früh", {seconds} s, {policy}, {id} 🛑', page: "<p>{seconds} – {policy}\\n {id}</p>" }
default: { limits: [5/1min] }`;
  const BROWSER = [['accept', 'text/html']] as const;

  test.each(['json', 'problem+json', 'json-rpc', 'openai'])('the text is in %s', async (body) => {
    const denied = await answerTo(OWN.replace('{ text', `{ body: ${body}, text`));
    expect(denied.body).toMatch(/^[ -~]+\n$/);
    expect(JSON.stringify(jsonOf(denied))).toContain('"Zu \\"früh\\", 7 s, default, abc-1 🛑"');
    expect(named(denied).Vary).toBe('Accept');
  });

  test('a browser gets the page', async () => {
    const denied = await answerTo(OWN, { headers: BROWSER });
    expect(denied.body).toBe('<p>7 &#8211; default abc-1</p>\n');
    expect(named(denied)).toMatchObject({
      'Content-Type': 'text/html; charset=utf-8',
      Vary: 'Accept',
    });
  });

  test('nothing to wait for: the usual body', async () => {
    const states = [{ ...WAITS_7_S, limit: 0 }];
    const denied = await answerTo(OWN, { states, headers: BROWSER });
    expect(jsonOf(denied).message).toBe(
      'Policy default allows 5 requests per minute. It never allows this request.',
    );
  });

  test('a refusal is no denial by a limit', async () => {
    const refused = await answerTo(OWN, { url: '/%00', headers: BROWSER });
    expect(jsonOf(refused).error).toBe('malformed_path');
    expect(named(refused).Vary).toBe('Accept');
  });
});
