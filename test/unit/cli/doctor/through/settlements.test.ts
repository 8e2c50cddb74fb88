/** Whether somebody reports what requests of doctor turned out to cost. */
import { expect, test } from 'vitest';
import { gatewayState } from '../../../../../src/cli/doctor/gateway-state.ts';
import { settlementFindings } from '../../../../../src/cli/doctor/through/settlements.ts';
import { answering, metricsText, metricsWith } from '../local-answers.ts';

const reserved = (policy: string, count: number) =>
  `headgate_reservations_total{policy="${policy}"} ${count}`;
const settled = (policy: string, count: number, channel = 'settle', result = 'settled') =>
  `headgate_settlements_total{policy="${policy}",channel="${channel}",result="${result}"} ${count}`;

interface Setting {
  readonly settling?: readonly string[];
  readonly before?: readonly string[];
  readonly after?: readonly string[];
  /** What comes while doctor waits. */
  readonly later?: readonly string[] | 'gone';
}

/** `pauses`: how often it waited. */
async function found({ settling = ['chat'], before = [], after = [], later = after }: Setting) {
  let lines: readonly string[] | 'gone' = before;
  await using ops = await answering(() =>
    lines === 'gone' ? { status: 404 } : { body: metricsText(metricsWith({ more: [...lines] })) },
  );
  const state = await gatewayState(ops.url);
  if (state === undefined) throw new Error('there is a gateway');
  lines = after;
  let pauses = 0;
  const findings = settlementFindings({
    ...{ url: new URL('http://shop/'), opsUrl: ops.url, settling, before: state },
    async pause() {
      pauses++;
      if (pauses === 3) lines = later;
    },
  });
  const texts: string[] = [];
  for await (const { rule, message } of findings) texts.push(`${rule}: ${message}`);
  return { texts, pauses, asked: ops.asked.length };
}

test('a file that charges nothing afterwards asks nothing', async () => {
  expect(await found({ settling: [] })).toEqual({ texts: [], pauses: 0, asked: 1 });
});

test('outcomes that have come already', async () => {
  const after = [reserved('chat', 4), settled('chat', 1)];
  expect(await found({ after })).toMatchObject({
    texts: ['through: outcomes of chat reach the gateway'],
    pauses: 0,
  });
});

test('outcomes that come later, of each policy', async () => {
  const before = [reserved('chat', 4), settled('chat', 4), reserved('login', 1)];
  const after = [reserved('chat', 5), settled('chat', 4), reserved('login', 2)];
  const later = [...after, settled('chat', 1, 'envoy', 'repeated'), settled('login', 1)];
  expect(await found({ settling: ['chat', 'login'], before, after, later })).toMatchObject({
    texts: ['through: outcomes of chat and login reach the gateway'],
    pauses: 3,
  });
});

const NOT_SETTLED =
  'not-settled: chat reserved for 4 of these requests, and no outcome was reported within 5 s';

test.each([
  [
    [],
    'nothing reports to this gateway: neither an application to POST /settle, nor Envoy by its access log',
  ],
  [
    [settled('login', 7)],
    'an application reports others to POST /settle, so the token of this policy did not reach it, or it does not report it',
  ],
  [
    [settled('login', 7, 'envoy')],
    'access logs of Envoy reach the gateway, and their entries have no token of this policy',
  ],
  [
    [settled('none', 6, 'settle', 'refused')],
    '6 reports to POST /settle had no HEADGATE_SETTLE_SECRET or a wrong one',
  ],
])('no outcome comes, with %s', async (others, why) => {
  const setting = { before: others, after: [...others, reserved('chat', 4)] };
  expect(await found(setting)).toMatchObject({ texts: [`${NOT_SETTLED}; ${why}`], pauses: 20 });
});

test('tokens that the gateway does not know', async () => {
  const before = [settled('none', 3, 'settle', 'forged')];
  const after = [reserved('chat', 4), settled('none', 4, 'settle', 'forged')];
  expect((await found({ before, after })).texts).toEqual([
    `${NOT_SETTLED}; 1 report had a token that this gateway did not sign, or a part of one`,
  ]);
});

test('policies that the requests did not reach: what happened before', async () => {
  const lines = [reserved('a', 9), settled('a', 1), reserved('b', 1), reserved('c', 2)];
  expect(
    await found({ settling: ['a', 'b', 'c', 'd'], before: lines, after: lines }),
  ).toMatchObject({
    texts: [
      expect.stringContaining(
        'not-settled: b reserved for 1 earlier request, and no outcome was reported; ',
      ),
      expect.stringContaining(
        'not-settled: c reserved for 2 earlier requests, and no outcome was reported; ',
      ),
      'through: outcomes of a reach the gateway',
      'not-reserved: no request of d has come, so it is unknown whether outcomes are reported',
    ],
    pauses: 0,
  });
});

test('a gateway that ends meanwhile says nothing', async () => {
  const after = [reserved('chat', 4)];
  expect(await found({ after, later: 'gone' })).toMatchObject({ texts: [], pauses: 3 });
});
