/** The search against another one, which is as simple as can be: it follows the README of envoyproxy/ratelimit. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { compileRules } from '../../../../../src/gateway/ratelimit/rules/compile.ts';
import { explainMatch } from '../../../../../src/gateway/ratelimit/rules/describe.ts';
import type { Entry } from '../../../../../src/gateway/ratelimit/rules/rule.ts';
import { fits } from '../../../../../src/gateway/ratelimit/rules/tree.ts';

interface Descriptor {
  readonly key: string;
  readonly value: string;
  readonly limit: number | undefined;
  readonly descriptors: readonly Descriptor[];
}

const joined = ({ key, value }: { readonly key: string; readonly value: string }) =>
  value === '' ? key : `${key}_${value}`;

/** By trying every end of every star. */
function naiveFits(pattern: string, text: string): boolean {
  if (pattern === '') return text === '';
  if (pattern.startsWith('*')) {
    return Array.from({ length: text.length + 1 }, (_, i) => text.slice(i)).some((rest) =>
      naiveFits(pattern.slice(1), rest),
    );
  }
  return text.startsWith(pattern.charAt(0)) && naiveFits(pattern.slice(1), text.slice(1));
}

function naiveLimit(
  descriptors: readonly Descriptor[],
  [{ key, value }, ...rest]: readonly [Entry, ...Entry[]],
): number | undefined {
  const whole = `${key}_${value}`;
  const found =
    descriptors.find((each) => joined(each) === whole) ??
    descriptors.find((each) => joined(each).includes('*') && naiveFits(joined(each), whole)) ??
    descriptors.find((each) => joined(each) === key);
  if (found === undefined) return undefined;
  const [next, ...more] = rest;
  return next === undefined ? found.limit : naiveLimit(found.descriptors, [next, ...more]);
}

const word = (alphabet: string, maxLength: number) =>
  fc.array(fc.constantFrom(...alphabet), { maxLength }).map((letters) => letters.join(''));
const key = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom('a', 'b', 'a_b', 'a_') },
  { weight: 1, arbitrary: word('ab_*', 3).filter((text) => text !== '') },
);
const limit = fc.option(fc.integer({ min: 0, max: 1_000 }), { nil: undefined });

/** Siblings differ, or the file would be refused. */
const siblings = (descriptor: fc.Arbitrary<Descriptor>) =>
  fc.uniqueArray(descriptor, { selector: joined, maxLength: 6 });
const leaf = fc.record({
  key,
  value: word('ab*', 3),
  limit,
  descriptors: fc.constant<Descriptor[]>([]),
});
const descriptors = siblings(
  fc.record({ key, value: word('ab*', 3), limit, descriptors: siblings(leaf) }),
);
const entry = fc.record({
  key: fc.oneof(fc.constantFrom('a', 'b', 'a_b', 'a_'), word('ab_*', 3)),
  value: word('ab_*', 4),
});
const entries = fc
  .tuple(entry)
  .chain(([first]) =>
    fc.array(entry, { maxLength: 2 }).map((more): [Entry, ...Entry[]] => [first, ...more]),
  );

interface FileDescriptor {
  readonly key: string;
  readonly value: string;
  readonly rate_limit: object | null;
  readonly descriptors: readonly FileDescriptor[];
}

function fileOf(descriptor: Descriptor): FileDescriptor {
  const { limit: requests } = descriptor;
  return {
    key: descriptor.key,
    value: descriptor.value,
    rate_limit: requests === undefined ? null : { unit: 'hour', requests_per_unit: requests },
    descriptors: descriptor.descriptors.map(fileOf),
  };
}

const rulesOf = (list: readonly Descriptor[]) => {
  const value = { domain: 'd', descriptors: list.map(fileOf) };
  return compileRules([{ name: 'd.yaml', value }], { mergeDomains: false });
};

test('finds the same limit', () => {
  fc.assert(
    fc.property(descriptors, fc.array(entries, { maxLength: 20 }), (list, requests) => {
      const rules = rulesOf(list);
      for (const request of requests) {
        const found = rules.find('d', request)?.rule.rate?.requestsPerUnit;
        expect(found, JSON.stringify(request)).toBe(naiveLimit(list, request));
      }
    }),
    { numRuns: 2_000 },
  );
});

test('wildcards match the same texts', () => {
  const pattern = word('ab*', 6).filter((text) => text.includes('*'));
  fc.assert(
    fc.property(pattern, word('ab*', 8), (stars, text) => {
      expect(fits(stars.split('*'), text)).toBe(naiveFits(stars, text));
    }),
    { numRuns: 5_000 },
  );
});

test('every limit can be found by the entries that the file gives, unless a wildcard comes first', () => {
  fc.assert(
    fc.property(descriptors, (list) => {
      const rules = rulesOf(list);
      for (const each of list) {
        if (each.value === '' || each.limit === undefined) continue;
        const found = rules.find('d', [{ key: each.key, value: each.value }]);
        expect(found?.rule.rate?.requestsPerUnit).toBe(each.limit);
      }
    }),
  );
});

test('the explanation names the limit that is found, and says "none" if there is none', () => {
  fc.assert(
    fc.property(descriptors, entries, (list, request) => {
      const rules = rulesOf(list);
      const limits = explainMatch(rules, 'd', request).filter(({ about }) => about === 'limit');
      const name = rules.find('d', request)?.rule.name ?? 'none';
      expect(limits[0]?.what.startsWith(`${name}: `)).toBe(true);
    }),
    { numRuns: 1_000 },
  );
});
