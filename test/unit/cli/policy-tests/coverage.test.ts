import { expect, test } from 'vitest';
import { coveredPercent, isCovered } from '../../../../src/cli/policy-tests/coverage.ts';
import { POLICIES, runFiles, testFile } from '../../../support/policy-tests.ts';

async function coverageOf(files: Readonly<Record<string, string>>) {
  const { coverage } = await runFiles({ 'policies.yaml': POLICIES, ...files });
  const rows = coverage.flatMap(({ limits }) =>
    limits.map((row) => {
      const { label, plan, matched, admitted, denied, inShadow } = row;
      const name = plan === undefined ? label : `${label} ${plan}`;
      return [name, [matched, admitted, denied, inShadow], isCovered(row)] as const;
    }),
  );
  return { rows, percent: coveredPercent(coverage) };
}

const LOGIN = '{ client: alice, send: POST /login, times: 3, expect: { policy: login } }';
const ONE_LOGIN = LOGIN.replace('times: 3', 'times: 2');
const TRIAL = '{ client: alice, send: GET /trial, times: 3, expect: allow }';

test('a limit is covered if it admitted a request and denied one', async () => {
  const { rows, percent } = await coverageOf({
    'a_test.yaml': testFile([LOGIN, '{ client: alice, send: GET /pay, expect: allow }']),
  });
  expect(rows).toEqual([
    ['login', [3, 2, 1, 0], true],
    ['pay', [1, 1, 0, 0], false],
    ['admin', [0, 0, 0, 0], false],
    ['trial', [0, 0, 0, 0], false],
    ['default', [0, 0, 0, 0], false],
    ['default pro', [0, 0, 0, 0], false],
  ]);
  expect(percent).toBeCloseTo(100 / 6);
});

test('denials in shadow mode count, and so do denials of the local share', async () => {
  const { rows } = await coverageOf({
    'a_test.yaml': testFile([
      TRIAL,
      '{ store: down }',
      '{ client: bob, send: GET /pay, times: 4, expect: allow }',
      '{ client: bob, send: GET /pay, expect: deny }',
      '{ store: up }',
      '{ override: { mode: { policy: login, mode: shadow }, for: 1h } }',
      '{ client: bob, send: POST /login, times: 3, expect: allow }',
    ]),
  });
  expect(rows.slice(0, 4)).toEqual([
    ['login', [3, 2, 1, 1], true],
    ['pay', [5, 4, 1, 0], true],
    ['admin', [0, 0, 0, 0], false],
    ['trial', [3, 1, 2, 2], true],
  ]);
});

test('test files of one policy file count together, and so do reloads of it', async () => {
  const { rows } = await coverageOf({
    'other.yaml': POLICIES,
    'a_test.yaml': testFile([ONE_LOGIN]),
    'b_test.yaml': testFile([LOGIN]),
    'c_test.yaml': testFile([LOGIN]).replace('policies: policies.yaml', 'policies: other.yaml'),
    'd_test.yaml': testFile(['{ reload: policies.yaml }', LOGIN]),
    'e_test.yaml': testFile(['{ reload: third.yaml }', LOGIN]),
    'third.yaml': POLICIES,
  });
  expect(rows.filter(([name]) => name === 'login')).toEqual([
    ['login', [8, 6, 2, 0], true],
    ['login', [3, 2, 1, 0], true],
  ]);
});

test('a failed test counts once, although it is run again for its trace', async () => {
  const { rows } = await coverageOf({
    'a_test.yaml': testFile([LOGIN.replace('policy: login', 'verdict: allow')]),
  });
  expect(rows[0]).toEqual(['login', [3, 2, 1, 0], true]);
});

test('of several limits, the one that denies with the longest wait is covered', async () => {
  const policies =
    'version: 1\nidentity: { sources: [ip] }\ndefault: { limits: [2/1min, { rate: 2/1h, per: ip }, { rate: 3/1h, per: global }] }\n';
  const get = (client: string, times: number) =>
    `{ client: ${client}, send: GET /, times: ${times}, expect: { policy: default } }`;
  const { rows } = await coverageOf({
    'policies.yaml': policies,
    'a_test.yaml': testFile([get('alice', 3), get('bob', 1), get('bob', 1)]),
  });
  expect(rows).toEqual([
    ['default', [5, 3, 0, 0], false],
    ['default:ip:1h', [5, 3, 1, 0], true],
    ['default:global:1h', [5, 3, 1, 0], true],
  ]);
});

test('limits for unlisted keys are not those of the file', async () => {
  const head =
    'clients: { a: { address: 203.0.113.9, headers: { x-api-key: one } }, b: { address: 203.0.113.9, headers: { x-api-key: two } }, c: { address: 203.0.113.9, headers: { x-api-key: three } } }\n';
  const post = (client: string, times: number, verdict: string) =>
    `{ client: ${client}, send: POST /login, times: ${times}, expect: ${verdict} }`;
  const { rows } = await coverageOf({
    'a_test.yaml': testFile(
      [post('a', 2, 'allow'), post('b', 2, 'allow'), post('c', 1, 'deny')],
      head,
    ),
  });
  expect(rows[0]).toEqual(['login', [5, 4, 0, 0], false]);
});
