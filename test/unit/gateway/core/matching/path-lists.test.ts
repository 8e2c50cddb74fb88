/** A policy with a list of paths matches what policies with one path each match together, and counts them as one. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { policySetFrom } from '../../../../support/policies.ts';
import { checkRequest } from '../../../../support/requests.ts';

interface Entry {
  readonly paths: readonly string[];
  readonly method: string | undefined;
  readonly always: boolean;
}

const path = fc.constantFrom(
  ...['/', '/*', '/a', '/A', '/a/*', '/a/:x', '/a/b', '/:x', '/:x/b', '/:x/*', '/b/c/:z', '/b/*'],
);
const target = fc.constantFrom(
  ...['/', '/a', '/A/', '/a/b', '//a/%62', '/a/c', '/b', '/b/c', '/b/c/d', '/x/b', '/a/../b/c/d'],
  ...['/a;x', '/%zz', '/b/%ff', '/a%2fb', '/x/y/z', '/a/b%2f..'],
);
const entry: fc.Arbitrary<Entry> = fc.record({
  paths: fc.uniqueArray(path, { minLength: 1, maxLength: 4, selector: comparedPath }),
  method: fc.constantFrom(undefined, 'GET', 'POST'),
  always: fc.boolean(),
});

function comparedPath(written: string): string {
  return written.toLowerCase().replaceAll(/:\w+/g, ':');
}

/** Each policy with its list, or one policy for each path, whose name begins with that of the list. */
function setOf(entries: readonly Entry[], isSplit: boolean) {
  const policies = entries.flatMap(({ paths, method, always }, i) =>
    (isSplit ? paths.map((each) => [each]) : [paths]).map((list, j) => ({
      name: `p${i}-${j}`,
      always,
      match: { path: list.length === 1 ? list[0] : list, ...(method && { method }) },
      limits: ['5/5min'],
    })),
  );
  return policySetFrom(JSON.stringify({ version: 1, default: { limits: ['9/1h'] }, policies }));
}

/** Without what another policy has already. */
function untied(entries: readonly Entry[]): Entry[] {
  const taken = new Set<string>();
  return entries.flatMap((each) => {
    if (each.always) return [each];
    const keyOf = (written: string) => `${each.method} ${comparedPath(written)}`;
    const paths = each.paths.filter((written) => !taken.has(keyOf(written)));
    for (const written of paths) taken.add(keyOf(written));
    return paths.length === 0 ? [] : [{ ...each, paths }];
  });
}

test('whatever the paths and the request', () => {
  fc.assert(
    fc.property(
      fc.array(entry, { minLength: 1, maxLength: 5 }),
      fc.array(fc.tuple(fc.constantFrom('GET', 'HEAD', 'POST', 'PUT'), target), { minLength: 1 }),
      (written, requests) => {
        const entries = untied(written);
        const [listed, split] = [setOf(entries, false), setOf(entries, true)];
        for (const [method, sent] of requests) {
          const request = checkRequest({ method, target: sent });
          const ownerOf = ({ name }: { name: string }) => name.replace(/-\d+$/, '');
          const together = listed.policiesFor(request).map(ownerOf);
          const apart = [...new Set(split.policiesFor(request).map(ownerOf))];
          expect(together.toSorted(), `${method} ${sent}`).toEqual(apart.toSorted());
          expect(together[0]).toBe(apart[0]);
        }
      },
    ),
  );
});

describe('a policy with a list', () => {
  const set = policySetFrom(`
version: 1
default: { limits: [1000/1h] }
policies:
  - { name: search, match: { path: [/v1/search, /v2/search, /find/*] }, limits: [5/5min] }
  - { name: audit, always: true, match: { path: [/v1/*, /v1/search] }, limits: [9/5min] }
`);
  const namesFor = (target: string) =>
    set.policiesFor(checkRequest({ target })).map(({ name }) => name);

  test('is one policy, and applies once to a request', () => {
    expect(set.policies.map(({ name }) => name)).toEqual(['search', 'audit', 'default']);
    expect(namesFor('/v1/search')).toEqual(['search', 'audit']);
    expect(namesFor('/V2/search/')).toEqual(['search']);
    expect(namesFor('/find')).toEqual(['search']);
    expect(namesFor('/v3/search')).toEqual(['default']);
  });
  test('applies once to a path that servers read as two of the list', () => {
    expect(namesFor('/find/..%2fv2/search')).toEqual(['search']);
    expect(namesFor('/v1/%zz')).toEqual(['default', 'audit', 'search']);
  });
});
