import type { Findings } from './findings.ts';
import type { DescriptorShape, DomainShape } from './shape.ts';
import { Wildcard } from './tree.ts';

export interface ReadFile {
  readonly findings: Findings;
  readonly shape: DomainShape | undefined;
}

interface Sibling {
  readonly findings: Findings;
  readonly shape: DescriptorShape;
}

/** Comparisons of patterns. More would take seconds. */
const MAX_COMPARISONS = 1_000_000;

export function warnOfRules(files: readonly ReadFile[]): void {
  const search = { left: MAX_COMPARISONS };
  for (const siblings of byDomain(files).values()) {
    warnOfNames(siblings);
    warnOfUnreached(siblings, search);
  }
}

/** The first descriptors of each domain: several files may share one. */
function byDomain(files: readonly ReadFile[]): ReadonlyMap<string, readonly Sibling[]> {
  const domains = new Map<string, Sibling[]>();
  for (const { findings, shape } of files) {
    if (shape === undefined) continue;
    const siblings = domains.get(shape.domain) ?? [];
    domains.set(shape.domain, siblings);
    for (const each of shape.descriptors) siblings.push({ findings, shape: each });
  }
  return domains;
}

/** A key alone is looked up after all wildcards, a wildcard after those before it. */
function warnOfUnreached(siblings: readonly Sibling[], search: { left: number }): void {
  const wildcards = siblings
    .filter(({ shape }) => shape.fullKey.includes('*'))
    .map(({ shape }) => new Wildcard(shape.key, shape.fullKey, shape));
  let before = 0;
  for (const { findings, shape } of siblings) {
    const isWildcard = wildcards[before]?.target === shape;
    const isKeyAlone = shape.fullKey === shape.key && !isWildcard;
    if (isWildcard || isKeyAlone) {
      const rivals = isWildcard ? wildcards.slice(0, before) : wildcards;
      search.left -= rivals.length;
      if (search.left < 0) return;
      const wanted = isKeyAlone ? `${shape.key}_*` : shape.fullKey;
      const cover = rivals.find((each) => each.pattern !== wanted && each.covers(wanted));
      const same = isKeyAlone ? rivals.find(({ pattern }) => pattern === wanted) : undefined;
      const winner = (cover ?? same)?.pattern;
      if (winner !== undefined) {
        const message = `never matches, because the wildcard "${winner}" matches all of it first`;
        findings.add('ratelimit-never-matches', shape.path, message);
      }
    }
    if (isWildcard) before++;
  }
  for (const { findings, shape } of siblings) {
    if (shape.descriptors.length === 0) continue;
    const children = shape.descriptors.map((each) => ({ findings, shape: each }));
    warnOfUnreached(children, search);
  }
}

function warnOfNames(siblings: readonly Sibling[]): void {
  const names = new Set<string>();
  for (const { limit } of shapesBelow(siblings)) {
    if (limit?.limitName !== undefined) names.add(limit.limitName);
  }
  for (const { findings, shape } of siblings) {
    for (const { limit, path } of shapesBelow([{ shape }])) {
      for (const [i, name] of limit?.replaces.entries() ?? []) {
        if (names.has(name)) continue;
        const at = [...path, 'rate_limit', 'replaces', i, 'name'];
        findings.add('ratelimit-replaces-unknown', at, 'is the name of no limit in this domain');
      }
    }
  }
}

function* shapesBelow(siblings: readonly Pick<Sibling, 'shape'>[]): Generator<DescriptorShape> {
  for (const { shape } of siblings) {
    yield shape;
    yield* shapesBelow(shape.descriptors.map((each) => ({ shape: each })));
  }
}
