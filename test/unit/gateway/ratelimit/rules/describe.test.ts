/** What `headgate explain --domain` says. */
import { expect, test } from 'vitest';
import { explainMatch } from '../../../../../src/gateway/ratelimit/rules/describe.ts';
import { entriesFrom, rulesFrom } from '../../../../support/rate-limit-rules.ts';

const RULES = rulesFrom(`
domain: web
descriptors:
  - key: path
    value: /login
    shadow_mode: true
    quota_mode: true
    rate_limit: { unit: minute, requests_per_unit: 1, name: login, replaces: [{ name: all }] }
    headgate: { mode: off }
  - key: path
    value: /a*
    share_threshold: true
    rate_limit: { unit: hour, requests_per_unit: 5, name: all }
  - key: path
    value: "*.png"
    descriptors:
      - { key: ip, rate_limit: { unlimited: true } }
  - key: tenant
    rate_limit: { unit: day, requests_per_unit: 5 }
  - key: none
`);

const explained = (entries: string, domain = 'web') =>
  explainMatch(RULES, domain, entriesFrom(entries)).map(({ about, what }) => `${about}: ${what}`);

test('a domain that no file has', () => {
  expect(explained('path=/', 'shop')).toEqual([
    'domain: "shop" is in no file, so no limit applies',
  ]);
});

test('a literal value, and all that its limit says', () => {
  expect(explained('path=/login')).toEqual([
    'domain: "web" is in the files',
    'entry: 1 of 1, "path"="/login": this key and value are in the file',
    'limit: web.path_/login: 1 request per minute',
    'limit: in shadow mode: it counts and denies nothing',
    'limit: off: it neither counts nor denies',
    'limit: a quota: a request is over such limits only if it is over all of them',
    'limit: named "login": another limit of the request may replace it',
    'limit: replaces in the same request: "all"',
    'counted: by "web", "path"="/login"',
    'metric: web.path_/login',
  ]);
});

test('a wildcard, and its place among others', () => {
  expect(explained('path=/abc').slice(1)).toEqual([
    'entry: 1 of 1, "path"="/abc": this key and value are not in the file',
    'entry: 1 of 1, "path"="/abc": the wildcard "path_/a*" matches (number 1 of 2 in the order of the file, the first that matches)',
    'limit: web.path_/a*: 5 requests per hour',
    'limit: named "all": another limit of the request may replace it',
    'counted: by "web", "path"="/a*"',
    'metric: web.path_/a*',
  ]);
});

test('a key alone, at the second level', () => {
  expect(explained('path=x.png ip=1').slice(3)).toEqual([
    'entry: 2 of 2, "ip"="1": this key and value are not in the file',
    'entry: 2 of 2, "ip"="1": the key without a value is in the file, it matches any value',
    'limit: web.path_*.png.ip: unlimited',
    'metric: web.path_*.png.ip',
  ]);
});

test.each([
  [
    'other=1',
    'none: this entry matches nothing, and the search does not go back to another descriptor',
  ],
  [
    'path=x.png',
    'none: the descriptor of the last entry has no rate_limit, only the descriptors below it have',
  ],
  ['none=1', 'none: the descriptor of the last entry has no rate_limit'],
  [
    'tenant=1 ip=1',
    'none: the file has no descriptors below entry 1, and a shorter match does not count',
  ],
])('why no limit applies to %s', (entries, why) => {
  expect(explained(entries).at(-1)).toBe(`limit: ${why}`);
});

test('no entries', () => {
  expect(explainMatch(RULES, 'web', []).at(-1)?.what).toBe('none: the descriptor has no entries');
});

test('long values are cut, and quoted', () => {
  const [, first] = explainMatch(RULES, 'web', [{ key: 'path', value: `/a\n${'x'.repeat(200)}` }]);
  expect(first?.what).toBe(
    `1 of 1, "path"="/a\\n${'x'.repeat(97)}"... (203 characters): this key and value are not in the file`,
  );
});
