/** Bodies of `POST /settle`, and what answers them. */
import { describe, expect, test } from 'vitest';
import type { Outcome } from '../../../../src/gateway/core/counting/outcome.ts';
import type { SettleVerdict } from '../../../../src/gateway/settlement/channel.ts';
import { settleOverHttp } from '../../../../src/gateway/settlement/http-channel.ts';
import { MAX_BATCH } from '../../../../src/gateway/settlement/reports.ts';

const VERDICTS: readonly SettleVerdict[] = [
  ...(['settled', 'repeated', 'waiting', 'malformed', 'forged', 'ended'] as const),
  ...(['unknown_limit', 'gone', 'reset', 'elsewhere', 'lost'] as const),
];

/** Tokens that are verdicts get this verdict. */
async function sent(body: unknown) {
  const settled: { token: string; outcome: Outcome; channel: string }[] = [];
  const answer = await settleOverHttp(async (token, outcome, channel) => {
    settled.push({ token, outcome, channel });
    return VERDICTS.find((verdict) => verdict === token) ?? 'settled';
  })(typeof body === 'string' ? body : JSON.stringify(body));
  return { settled, status: answer.status, body: JSON.parse(answer.body) };
}

describe('one report', () => {
  test('is settled with its units, status and headers, whose names are in lower case', async () => {
    const report = {
      token: 'a',
      status: 204,
      headers: { 'X-Login': 'OK', Location: '/home' },
      units: { tokens: 812, images: 0 },
    };
    expect(await sent(report)).toEqual({
      settled: [
        {
          token: 'a',
          outcome: {
            status: 204,
            headers: new Map([
              ['x-login', 'OK'],
              ['location', '/home'],
            ]),
            units: new Map([
              ['tokens', 812],
              ['images', 0],
            ]),
          },
          channel: 'settle',
        },
      ],
      status: 200,
      body: { result: 'settled' },
    });
  });

  test('needs a token only', async () => {
    const { settled, status } = await sent({ token: 'a' });
    expect([status, settled[0]?.outcome]).toEqual([
      200,
      { status: undefined, headers: undefined, units: undefined },
    ]);
  });

  test.each(VERDICTS.filter((verdict) => verdict !== 'settled'))(
    'says why it is not settled: %s',
    async (verdict) => {
      const { status, body } = await sent({ token: verdict });
      expect(status).toBe(200);
      expect(body).toEqual({ result: verdict, reason: expect.stringMatching(/^[A-Z].*\.$/) });
    },
  );

  test('is answered with the units that it lacks', async () => {
    const lacking = settleOverHttp(async () => ({ result: 'settled', missingUnits: ['tokens'] }));
    const { body } = await lacking('{"token":"a","units":{"token":5}}');
    expect(JSON.parse(body)).toEqual({ result: 'settled', missing_units: ['tokens'] });
  });

  test.each([100, 599])('may have the status %d', async (code) => {
    expect((await sent({ token: 'a', status: code })).status).toBe(200);
  });

  test('may have units up to 2^53 - 1, in any spelling of JSON', async () => {
    const { settled } = await sent('{"token":"a","units":{"a":9007199254740991,"b":8.12e2}}');
    expect([...(settled[0]?.outcome.units ?? [])]).toEqual([
      ['a', 2 ** 53 - 1],
      ['b', 812],
    ]);
  });

  test('may have units of any name', async () => {
    const { settled } = await sent('{"token":"a","units":{"__proto__":1,"constructor":2}}');
    expect([...(settled[0]?.outcome.units ?? [])]).toEqual([['constructor', 2]]);
  });
});

describe('a batch', () => {
  test('has a result for each report, in their order', async () => {
    const settlements = ['a', 'ended', 'b'].map((token) => ({ token }));
    const { settled, status, body } = await sent({ settlements });
    expect(settled.map(({ token }) => token)).toEqual(['a', 'ended', 'b']);
    expect([status, body]).toEqual([
      200,
      {
        settlements: [
          { result: 'settled' },
          { result: 'ended', reason: 'The token has expired. The reservation stays.' },
          { result: 'settled' },
        ],
      },
    ]);
  });

  test('has 100 reports at most', async () => {
    const reports = (count: number) => Array.from({ length: count }, () => ({ token: 'a' }));
    expect((await sent({ settlements: reports(MAX_BATCH) })).settled).toHaveLength(100);
    expect((await sent({ settlements: reports(MAX_BATCH + 1) })).status).toBe(400);
  });

  test('with one mistake settles nothing', async () => {
    const { settled, status, body } = await sent({
      settlements: [{ token: 'a' }, { token: 'b', status: 99 }],
    });
    expect([settled, status, body.message]).toEqual([
      [],
      400,
      'settlements[1].status: must be a whole number from 100 to 599',
    ]);
  });
});

describe('a malformed body names the place', () => {
  const unit = (value: string) => `{"token":"a","units":{"tokens":${value}}}`;
  const notWhole = 'units.tokens: must be a whole number from 0 to 9007199254740991';
  const names = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, i) => [`n${i}`, i]));
  const texts = (count: number) =>
    Object.fromEntries(Object.entries(names(count)).map(([name, i]) => [name, `${i}`]));

  test.each<[string, unknown]>([
    ['the body is not JSON', ''],
    ['the body is not JSON', '{"token":"a"'],
    ['the body is not JSON', '\ufeff{"token":"a"}'],
    ['the body is not JSON', "{'token':'a'}"],
    ['the body must be a JSON object', '[]'],
    ['the body must be a JSON object', 'null'],
    ['the body must be a JSON object', '7'],
    ['token: must be the text of X-Headgate-Settle', {}],
    ['token: must be the text of X-Headgate-Settle', { token: '' }],
    ['token: must be the text of X-Headgate-Settle', { token: 7 }],
    ['token: must be the text of X-Headgate-Settle', { token: ['a'] }],
    [
      'tokens: is unknown, the names are token, status, headers and units',
      { token: 'a', tokens: 5 },
    ],
    [
      '__proto__: is unknown, the names are token, status, headers and units',
      '{"token":"a","__proto__":{"status":200}}',
    ],
    ['status: must be a whole number from 100 to 599', { token: 'a', status: '200' }],
    ['status: must be a whole number from 100 to 599', { token: 'a', status: 200.5 }],
    ['status: must be a whole number from 100 to 599', { token: 'a', status: 600 }],
    ['status: must be a whole number from 100 to 599', { token: 'a', status: null }],
    ['headers: must be an object with at most 64 names', { token: 'a', headers: [['a', 'b']] }],
    ['headers: must be an object with at most 64 names', { token: 'a', headers: texts(65) }],
    ['headers.a: must be a text', { token: 'a', headers: { a: 1 } }],
    ['headers.a: must be a text', { token: 'a', headers: { a: ['b'] } }],
    ['units: must be an object with at most 16 names', { token: 'a', units: 812 }],
    ['units: must be an object with at most 16 names', { token: 'a', units: names(17) }],
    [notWhole, unit('-1')],
    [notWhole, unit('0.5')],
    [notWhole, unit('9007199254740992')],
    [notWhole, unit('1e400')],
    [notWhole, unit('"812"')],
    [notWhole, unit('null')],
    [notWhole, unit('{"tokens":1}')],
    ['settlements: must be a list of 1 to 100 objects', { settlements: [] }],
    ['settlements: must be a list of 1 to 100 objects', { settlements: { token: 'a' } }],
    ['settlements[0]: must be an object', { settlements: ['a'] }],
    ['token: nothing can stand beside settlements', { settlements: [{ token: 'a' }], token: 'a' }],
    [
      `${'n'.repeat(40)}: is unknown, the names are token, status, headers and units`,
      { token: 'a', ['n'.repeat(9_000)]: 1 },
    ],
  ])('%s', async (message, given) => {
    const { settled, status, body } = await sent(given);
    expect({ settled, status, ...body }).toEqual({
      settled: [],
      status: 400,
      error: 'bad_request',
      message,
    });
  });
});

test('a body of nothing but brackets is refused', async () => {
  const depth = 32_000;
  const deep = `{"settlements":${'['.repeat(depth)}${']'.repeat(depth)}}`;
  expect((await sent(deep)).status).toBe(400);
  const objects = `${'{"a":'.repeat(10_000)}1${'}'.repeat(10_000)}`;
  expect((await sent(objects)).status).toBe(400);
});

test('a fault of the gateway is not answered as a mistake of the caller', async () => {
  const failing = settleOverHttp(() => Promise.reject(new Error('a fault')));
  await expect(failing('{"token":"a"}')).rejects.toThrow('a fault');
});
