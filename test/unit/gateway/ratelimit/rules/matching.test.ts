/**
 * Which limit applies to a descriptor. What envoyproxy/ratelimit does was read in its src/config/config_impl.go and its
 * test/config/config_test.go at commit f2fb157, and compared with its program for random files and requests.
 */
import { describe, expect, test } from 'vitest';
import { entriesFrom, rulesFrom } from '../../../../support/rate-limit-rules.ts';

const RULES = rulesFrom(`
domain: shop
descriptors:
  - key: tenant
    rate_limit: { unit: minute, requests_per_unit: 10 }
  - key: tenant
    value: acme
    rate_limit: { unit: minute, requests_per_unit: 20 }
    descriptors:
      - key: path
        rate_limit: { unit: minute, requests_per_unit: 21 }
      - key: path
        value: /login
        descriptors:
          - { key: ip, rate_limit: { unit: minute, requests_per_unit: 22 } }
  - key: tenant
    value: none
  - key: path
    value: "/a*"
    rate_limit: { unit: minute, requests_per_unit: 30 }
  - key: path
    value: "/a/b*"
    rate_limit: { unit: minute, requests_per_unit: 31 }
  - key: path
    value: "*.png"
    rate_limit: { unit: minute, requests_per_unit: 32 }
  - key: path
    value: "/x*/y*/z"
    rate_limit: { unit: minute, requests_per_unit: 33 }
  - key: path
    value: /a/exact
    descriptors:
      - { key: ip, rate_limit: { unit: minute, requests_per_unit: 34 } }
  - key: path
    rate_limit: { unit: minute, requests_per_unit: 39 }
  - key: "head*"
    rate_limit: { unit: minute, requests_per_unit: 40 }
  - key: route
    value: "httproute/ns/*"
    rate_limit: { unit: minute, requests_per_unit: 50 }
  - key: a_b
    value: c
    rate_limit: { unit: minute, requests_per_unit: 60 }
  - key: plan
    rate_limit: { unlimited: true }
`);

const limitOf = (text: string, domain = 'shop') => {
  const found = RULES.find(domain, entriesFrom(text));
  return found === undefined ? 'none' : (found.rule.rate?.requestsPerUnit ?? 'unlimited');
};

test.each([
  // The literal value, else the key alone.
  ['tenant=acme', 20],
  ['tenant=other', 10],
  ['tenant=', 10],
  ['tenant=ACME', 10],
  ['other=acme', 'none'],
  // A descriptor without a limit ends the search: the key alone is not tried.
  ['tenant=none', 'none'],
  // Only the last entry has a say, and a shorter match does not count.
  ['tenant=acme path=/a', 21],
  ['tenant=acme path=/login', 'none'],
  ['tenant=acme path=/login ip=1', 22],
  ['tenant=acme path=/a ip=1', 'none'],
  ['tenant=other path=/a', 'none'],
  ['tenant=acme ip=1', 'none'],
  ['path=/a tenant=acme', 'none'],
  // Wildcards: the first of the file, even if another one is longer.
  ['path=/a', 30],
  ['path=/a/b/c', 30],
  ['path=/b/c.png', 32],
  ['path=/a.png', 30],
  ['path=/x1/y2/z', 33],
  ['path=/x/y/z', 33],
  ['path=/x/z', 39],
  ['path=/x/y/z/', 39],
  ['path=/b', 39],
  // The literal comes before wildcards, and there is no way back to them.
  ['path=/a/exact', 'none'],
  ['path=/a/exact ip=1', 34],
  // Keys may have wildcards too. They match key and value together.
  ['header=x', 40],
  ['head=', 40],
  ['hea=d', 'none'],
  // A value with a star of its own.
  ['route=httproute/ns/*', 50],
  ['route=httproute/ns/a', 50],
  // An underscore joins key and value, so these are the same.
  ['a_b=c', 60],
  ['a=b_c', 60],
  ['plan=any', 'unlimited'],
])('%s: %s', (entries, limit) => {
  expect(limitOf(entries)).toBe(limit);
});

test('a domain that no file has, and a descriptor without entries, have no limit', () => {
  expect(limitOf('tenant=acme', 'other')).toBe('none');
  expect(RULES.hasDomain('shop')).toBe(true);
  expect(RULES.hasDomain('other')).toBe(false);
  expect(RULES.find('shop', [])).toBeUndefined();
});

test('names that every object has are names like others', () => {
  const rules = rulesFrom(`
domain: __proto__
descriptors:
  - key: constructor
    value: __proto__
    rate_limit: { unit: day, requests_per_unit: 1 }
`);
  expect(rules.hasDomain('constructor')).toBe(false);
  expect(rules.find('__proto__', entriesFrom('constructor=__proto__'))?.rule.name).toBe(
    '__proto__.constructor___proto__',
  );
  expect(rules.find('__proto__', entriesFrom('toString=x'))).toBeUndefined();
});

describe('what is counted', () => {
  const rules = rulesFrom(`
domain: d
descriptors:
  - key: path
    value: "/files/*"
    share_threshold: true
    rate_limit: { unit: minute, requests_per_unit: 1 }
    descriptors:
      - key: ip
        rate_limit: { unit: minute, requests_per_unit: 1 }
      - key: path
        value: "*x"
        rate_limit: { unit: minute, requests_per_unit: 1 }
  - key: path
    value: "/own/*"
    rate_limit: { unit: minute, requests_per_unit: 1 }
  - key: "head*"
    share_threshold: true
    rate_limit: { unit: minute, requests_per_unit: 1 }
`);
  const countedFor = (text: string) =>
    rules
      .find('d', entriesFrom(text))
      ?.counted.map(({ key, value }) => `${key}=${value}`)
      .join(' ');
  test.each([
    ['path=/files/a', 'path=/files/*'],
    ['path=/files/a ip=1', 'path=/files/* ip=1'],
    ['path=/files/a path=yx', 'path=/files/* path=yx'],
    ['path=/own/a', 'path=/own/a'],
    ['header=x', 'header=head*'],
    // The literal is not a match of the wildcard, and its value is the pattern.
    ['path=/files/*', 'path=/files/*'],
  ])('of %s: %s', (entries, counted) => {
    expect(countedFor(entries)).toBe(counted);
  });
  test('the entries of the request themselves, if no threshold is shared', () => {
    const entries = entriesFrom('path=/own/a');
    expect(rules.find('d', entries)?.counted).toBe(entries);
  });
});

describe('names in metrics', () => {
  const limit = 'rate_limit: { unit: minute, requests_per_unit: 1 }';
  const rules = rulesFrom(`
domain: d
descriptors:
  - { key: plain, ${limit} }
  - { key: plain, value: v, ${limit} }
  - { key: plain, value: "w*", ${limit} }
  - { key: shown, value_to_metric: true, ${limit} }
  - { key: shown, value: "w*", value_to_metric: true, ${limit} }
  - { key: shown, value: "s*", value_to_metric: true, share_threshold: true, ${limit} }
  - { key: "k*", value_to_metric: true, ${limit} }
  - key: upper
    value_to_metric: true
    descriptors: [{ key: lower, ${limit} }, { key: open, value_to_metric: true, ${limit} }]
  - key: group
    descriptors: [{ key: all, detailed_metric: true, value_to_metric: true, ${limit} }]
  - key: shared
    value: "s*"
    share_threshold: true
    descriptors: [{ key: all, detailed_metric: true, ${limit} }]
`);
  test.each([
    ['plain=x', 'd.plain'],
    ['plain=v', 'd.plain_v'],
    ['plain=w1', 'd.plain_w*'],
    ['shown=x', 'd.shown_x'],
    ['shown=', 'd.shown'],
    ['shown=w1', 'd.shown_w1'],
    ['shown=s1', 'd.shown_s*'],
    ['kind=x', 'd.kind_x'],
    ['upper=a lower=b', 'd.upper_a.lower'],
    ['upper=a open=b', 'd.upper_a.open_b'],
    ['upper= open=b', 'd.upper.open_b'],
    // The last descriptor names all entries of the request.
    ['group=a all=b', 'd.group_a.all_b'],
    ['group= all=b', 'd.group_.all_b'],
    ['shared=s1 all=b', 'd.shared_s*.all_b'],
    ['shared=s1 all=', 'd.shared_s*.all'],
  ])('of %s: %s', (entries, metric) => {
    expect(rules.find('d', entriesFrom(entries))?.metric).toBe(metric);
  });
  test('the name of a limit never has what clients send', () => {
    expect(rules.find('d', entriesFrom('shown=mine'))?.rule.name).toBe('d.shown');
    expect(rules.find('d', entriesFrom('group=mine all=mine'))?.rule.name).toBe('d.group.all');
  });
});
