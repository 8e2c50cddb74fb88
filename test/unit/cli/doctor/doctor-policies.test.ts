import { utimesSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test, vi } from 'vitest';
import {
  choiceFindings,
  planFindings,
  policyFindings,
  validPolicies,
} from '../../../../src/cli/doctor/doctor-policies.ts';
import { readEnvironment } from '../../../../src/gateway/config/settings/environment.ts';
import { NOON_MS } from '../../../support/requests.ts';
import { temporaryFile, temporaryFolder } from '../../../support/temporary.ts';
import { NO_OUTCOMES } from './local-answers.ts';

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

const { cloudflareRanges } = readEnvironment({});
const GOOD = `version: 1
identity: { sources: [ip], trusted_proxies: [loopback] }
default: { limits: [100/1min] }
policies: [{ name: login, match: { path: /login }, limits: [5/1min] }]
`;

function examined(text: string) {
  using stack = new DisposableStack();
  const files = { policies: temporaryFile(stack, text), cloudflareRanges };
  return { findings: policyFindings(files), valid: validPolicies(files) };
}

test('a valid file is said to be valid, at the end, with its policies', () => {
  const { findings, valid } = examined(GOOD);
  expect(findings.at(-1)).toMatchObject({
    rule: 'policy-file',
    severity: 'fine',
    message: 'valid: 1 policy and the default',
  });
  expect(findings.filter(({ severity }) => severity === 'error')).toEqual([]);
  expect(valid?.file.entries.map(({ name }) => name)).toEqual(['login']);
});

test('a file with a mistake has its place, and is not called valid', () => {
  const { findings, valid } = examined(GOOD.replace('5/1min', '5/1parsec'));
  expect(findings).toHaveLength(1);
  expect(findings[0]).toMatchObject({ severity: 'error', place: { line: 4 } });
  expect(valid).toBeUndefined();
});

type Gateway = NonNullable<Parameters<typeof choiceFindings>[1]>;

const GATEWAY: Gateway = {
  ...{ digests: ['served'], loadedMs: undefined, hasRefused: false, checks: 0, denied: 0 },
  ...{ untrusted: 0, unknownPlans: 0, refused: 0, seenHeaders: new Set<string>() },
  outcomes: NO_OUTCOMES,
};

type Choice = Partial<Parameters<typeof choiceFindings>[0]>;

const chosen = (choice: Choice, gateway?: Partial<Gateway>) =>
  choiceFindings(
    { path: '/none/policies.yaml', digest: 'mine', isNamed: true, ...choice },
    gateway === undefined ? undefined : { ...GATEWAY, ...gateway },
  ).map(({ rule, message }) => `${rule}: ${message}`);

test('nothing is said of the file that the gateway serves, named or not', () => {
  for (const isNamed of [true, false])
    expect(chosen({ isNamed, digest: 'served' }, { digests: ['old', 'served'] })).toEqual([]);
});

test('nothing is said of a named file without a gateway, or with mistakes', () => {
  expect(chosen({})).toEqual([]);
  expect(chosen({ digest: undefined }, {})).toEqual([]);
});

const NOT_NAMED =
  'policy-file-not-named: this file comes with headgate, and was examined because none was named';

test('a file that nobody named, and whether the gateway serves another one', () => {
  using stack = new DisposableStack();
  vi.spyOn(process, 'cwd').mockReturnValue(temporaryFolder(stack));
  const own = chosen({ isNamed: false });
  const near = '; policies.yaml in this folder was not examined';
  // The folder in which the tests run may have one.
  expect([NOT_NAMED, NOT_NAMED + near]).toContain(own[0]);
  const [served = ''] = chosen({ isNamed: false }, {});
  expect(served.replace(near, '')).toBe(`${NOT_NAMED}; the running gateway serves another one`);
  // Also if it has mistakes.
  expect(chosen({ isNamed: false, digest: undefined }, {})[0]).toBe(served);
});

test('another file than that of the gateway: both digests', () => {
  expect(chosen({}, {})).toEqual([
    'other-policy-file: the running gateway serves served, and this file is mine',
  ]);
  expect(chosen({}, { digests: ['a', 'b'] })).toEqual([
    'other-policy-file: the running gateway serves a and b, and this file is mine',
  ]);
});

test('when both were read and changed, and that the gateway has refused a newer version', () => {
  using stack = new DisposableStack();
  vi.useFakeTimers({ now: NOON_MS, toFake: ['Date'] });
  const path = join(temporaryFolder(stack), 'policies.yaml');
  const file = temporaryFile(stack, GOOD);
  utimesSync(file, NOON_MS / 1_000 - 30, NOON_MS / 1_000 - 30);
  expect(chosen({ path: file }, { loadedMs: NOON_MS - 600_000, hasRefused: true })).toEqual([
    'other-policy-file: the running gateway serves served, read 10 min ago, and this file is mine, changed 30 s ago; the gateway has refused a newer version of its file',
  ]);
  expect(chosen({ path }, { hasRefused: true })).toEqual([
    'other-policy-file: the running gateway serves served, and this file is mine; the gateway has refused a newer version of its file',
  ]);
});

test('plans that no policy has, as far as the running gateway has seen any', () => {
  const found = (gateway: Partial<Gateway> | undefined) =>
    planFindings(gateway && { ...GATEWAY, ...gateway }).map(({ rule, message }) => [rule, message]);
  expect(found(undefined)).toEqual([]);
  expect(found({})).toEqual([]);
  expect(found({ unknownPlans: 3 })).toEqual([
    [
      'unknown-plans',
      'of 3 requests since the start, no policy has the plan, so they got the limits without one',
    ],
  ]);
});
