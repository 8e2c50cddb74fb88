/** Mistakes that only two places of a policy file together show, and the files next to them that are valid. */
import { hash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { FileError } from '../../../../../src/gateway/config/diagnostic.ts';
import { crossCheck } from '../../../../../src/gateway/config/policy-file/cross-check.ts';
import { validatePolicyFile } from '../../../../../src/gateway/config/policy-file/validate.ts';
import { diagnosticsIn } from '../../../cli/check/advice/diagnostics-in.ts';

/** `rule path` of each error. */
function errorsIn(sections: string): string[] {
  const found = diagnosticsIn(`{ version: 1, ${sections} }`);
  return found
    .filter(({ severity }) => severity === 'error')
    .map(({ rule, path }) => `${rule} ${path}`);
}

const limits = (text: string, rest = '') => `default: { limits: [${text}]${rest} }`;
const DEFAULT = limits('1000/1h');
const identity = (text: string) => `${DEFAULT}, identity: { ${text} }`;
const key = (id: string, secret: string) =>
  `{ id: ${id}, sha256: ${hash('sha256', secret, 'hex')} }`;

describe('limits that repeat each other', () => {
  test.each([
    ['the same rate', '5/1min, 5/1min'],
    ['the same window in other units', '5/1h, 9/60min'],
    [
      'token buckets with other bursts',
      '{ rate: 5/1min, algorithm: token-bucket }, { rate: 5/1min, algorithm: token-bucket, burst: 9 }',
    ],
    ['one that counts denied requests', '5/1min, { rate: 9/1min, count_rejected: true }'],
  ])('are a mistake: %s', (_, text) => {
    expect(errorsIn(limits(text))).toEqual(['limit-twice default.limits[1]']);
  });
  test.each([
    ['another algorithm', '5/1min, { rate: 5/1min, algorithm: sliding-window-counter }'],
    ['another window', '5/1min, 5/2min'],
    ['another per', '5/1min, { rate: 5/1min, per: ip }'],
  ])('are none with %s', (_, text) => {
    expect(errorsIn(limits(text))).toEqual([]);
  });
  test('are none in another list', () => {
    expect(errorsIn(limits('5/1min', ', plans: { pro: [5/1min] }'))).toEqual([]);
    const policy = '{ name: a, match: { path: /a }, limits: [1000/1h] }';
    expect(errorsIn(`${DEFAULT}, policies: [${policy}]`)).toEqual([]);
  });
  test('are found in plans and in policies', () => {
    expect(errorsIn(limits('5/1min', ', plans: { pro: [9/1min, 9/1min] }'))).toEqual([
      'limit-twice default.plans.pro[1]',
    ]);
    const policy = '{ name: a, always: true, limits: [9/1min, 9/1min] }';
    expect(errorsIn(`${DEFAULT}, policies: [${policy}]`)).toEqual([
      'limit-twice policies[0].limits[1]',
    ]);
  });
});

describe('the cost of a request', () => {
  test.each([
    ['5/1min', 5, []],
    ['5/1min', 6, ['cost-above-limit default.limits[0]']],
    ['{ rate: 5/1min, algorithm: token-bucket, burst: 2 }', 2, []],
    [
      '{ rate: 5/1min, algorithm: token-bucket, burst: 2 }',
      3,
      ['cost-above-limit default.limits[0].burst'],
    ],
    ['{ rate: 5/1min, algorithm: token-bucket, burst: 9 }', 6, []],
  ])('against %s: %i', (limit, cost, expected) => {
    expect(errorsIn(limits(limit, `, cost: ${cost}`))).toEqual(expected);
  });
});

test.each([
  ['1/1d', 31, []],
  ['1/1d', 32, ['bucket-too-slow default.limits[0].burst']],
  ['2/1d', 62, []],
])('a token bucket of %s with a burst of %i', (rate, burst, expected) => {
  const bucket = `{ rate: ${rate}, algorithm: token-bucket, burst: ${burst} }`;
  expect(errorsIn(limits(bucket))).toEqual(expected);
});

test.each(['user', 'api_key'])('a limit per %s needs this source', (per) => {
  const limited = (sources: string) =>
    errorsIn(`identity: { sources: [${sources}] }, ${limits(`{ rate: 1/1s, per: ${per} }`)}`);
  expect(limited('ip')).toEqual(['per-without-source default.limits[0]']);
  expect(limited(`${per}, ip`)).toEqual([]);
});

describe('policies', () => {
  const policy = (name: string, rest: string) => `{ name: ${name}, ${rest}, limits: [1/1h] }`;
  const policies = (...entries: string[]) => `${DEFAULT}, policies: [${entries.join(', ')}]`;
  test('with one name are reported at each but the first', () => {
    const same = ['/a', '/b', '/c'].map((path) => policy('a', `match: { path: ${path} }`));
    expect(errorsIn(policies(...same))).toEqual([
      'name-taken policies[1].name',
      'name-taken policies[2].name',
    ]);
  });
  test('that tie in several methods are reported once', () => {
    const match = 'match: { method: [GET, POST], path: /a }';
    expect(errorsIn(policies(policy('a', match), policy('b', match)))).toEqual([
      'policies-tie policies[1].match',
    ]);
  });
  test('that always apply do not tie', () => {
    const match = 'match: { path: /a }';
    expect(errorsIn(policies(policy('a', match), policy('b', `${match}, always: true`)))).toEqual(
      [],
    );
  });
  test('for paths in other letter case tie unless case matters', () => {
    const entries = policies(
      policy('a', 'match: { path: /a }'),
      policy('b', 'match: { path: /A }'),
    );
    expect(errorsIn(entries)).toEqual(['policies-tie policies[1].match']);
    expect(errorsIn(`matching: { case_sensitive: true }, ${entries}`)).toEqual([]);
  });
});

describe('identity', () => {
  test.each([
    ['sources: [api_key, api_key, ip]', ['source-twice identity.sources[1]']],
    ['sources: [ip, api_key]', ['source-never-reached identity.sources[1]']],
    ['sources: [ip, ip]', ['source-twice identity.sources[1]']],
    ['sources: [user, api_key, ip]', []],
    [
      `api_key: { keys: [${key('a', 'k')}, ${key('b', 'k')}] }`,
      ['key-twice identity.api_key.keys[1].sha256'],
    ],
    [`api_key: { keys: [${key('a', 'k')}, ${key('a', 'l')}] }`, []],
  ])('%s', (text, expected) => {
    expect(errorsIn(identity(text))).toEqual(expected);
  });

  test.each(['exempt', 'block'])('a key in %s must be listed, and be a source', (section) => {
    const listed = (sources: string, id: string) =>
      errorsIn(
        `${identity(`sources: [${sources}], api_key: { keys: [${key('a', 'k')}] }`)}, ${section}: [{ key: ${id} }]`,
      );
    expect(listed('api_key, ip', 'a')).toEqual([]);
    expect(listed('api_key, ip', 'b')).toEqual([`key-unknown ${section}[0].key`]);
    expect(listed('ip', 'a')).toEqual([`key-without-source ${section}[0].key`]);
  });

  test('a key in exempt is not looked up while a listed key has a mistake', () => {
    const text = identity('api_key: { keys: [{ id: a, sha256: short }] }');
    expect(errorsIn(`${text}, exempt: [{ key: b }]`)).toEqual([
      'invalid-value identity.api_key.keys[0].sha256',
    ]);
    const context = {
      readPage: () => '',
      readKeyFile: () => {
        throw new FileError([]);
      },
    };
    const named = `{ version: 1, ${identity('api_key: { keys: keys.yaml }')}, exempt: [{ key: b }] }`;
    expect(() => validatePolicyFile(named, 'policies.yaml', context)).toThrow(new FileError([]));
  });

  test('a verified header must be the per of a limit, in a plan at least', () => {
    const verified = (text: string) =>
      errorsIn(`identity: { verified_headers: [X-Tenant] }, ${text}`);
    expect(verified(DEFAULT)).toEqual(['verified-header-unused identity.verified_headers[0]']);
    const limit = '{ rate: 1/1s, per: "header:x-tenant" }';
    expect(verified(limits('1/1s', `, plans: { pro: [${limit}] }`))).toEqual([]);
  });

  test('a verified header is not reported while the limits of a policy are unknown', () => {
    const policy = '{ name: a, match: { path: /a }, limits: [1/x] }';
    const text = `identity: { verified_headers: [x-tenant] }, ${DEFAULT}, policies: [${policy}]`;
    expect(errorsIn(text)).toEqual(['invalid-value policies[0].limits[0]']);
  });
});

test('reports at most the given number of mistakes', () => {
  const sections = {
    identity: undefined,
    keys: undefined,
    exempt: [{ key: 'a', address: undefined, expires: undefined, comment: undefined }],
    block: undefined,
    fallback: undefined,
    entries: [],
    names: ['a', 'a', 'a', 'a'],
    caseSensitive: false,
  };
  const found = (max: number) => crossCheck(sections, () => 1, max).length;
  expect([found(0), found(2), found(10), found(-1)]).toEqual([0, 2, 3, 0]);
});
