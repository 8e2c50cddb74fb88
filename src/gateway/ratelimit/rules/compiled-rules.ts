import type { Entry, MatchedRule, Rule } from './rule.ts';
import type { Level } from './tree.ts';

export class CompiledRules {
  readonly all: readonly Rule[];
  /** The first level of each domain. */
  readonly #domains: ReadonlyMap<string, Level>;

  constructor(all: readonly Rule[], domains: ReadonlyMap<string, Level>) {
    this.all = all;
    this.#domains = domains;
  }

  hasDomain(domain: string): boolean {
    return this.#domains.has(domain);
  }

  find(domain: string, entries: readonly Entry[]): MatchedRule | undefined {
    const level = this.#domains.get(domain);
    return level === undefined ? undefined : findRule(level, domain, entries);
  }

  levelOf(domain: string): Level | undefined {
    return this.#domains.get(domain);
  }

  get domains(): readonly string[] {
    return [...this.#domains.keys()];
  }
}

/**
 * For each entry: the descriptor with the same key and value, else the first wildcard, else the key alone. The search does
 * not go back, and only the descriptor of the last entry has a say.
 */
function findRule(
  domain: Level,
  domainName: string,
  entries: readonly Entry[],
): MatchedRule | undefined {
  let level = domain;
  /** Undefined as long as it is the name of the level. */
  let metric: string | undefined;
  let counted: Entry[] | undefined;
  for (let i = 0; i < entries.length; i++) {
    const entry = entries[i] as Entry;
    const { key, value } = entry;
    let next = level.literal(key, value);
    let segment: string | undefined;
    if (next !== undefined) {
      if (value === '') segment = key;
    } else {
      const wildcard = level.wildcard(key, value);
      if (wildcard !== undefined) {
        next = wildcard.target;
        const pattern = valuePattern(wildcard.pattern, key);
        const isShared = next.isShared && pattern !== '';
        if (isShared) {
          counted ??= [...entries];
          counted[i] = { key, value: pattern };
        }
        segment = joined(key, next.hasValueInMetric && !isShared ? value : pattern);
      } else {
        next = level.anyValue(key);
        if (next === undefined) return undefined;
        if (next.hasValueInMetric && value !== '') segment = `${key}_${value}`;
      }
    }
    if (metric !== undefined) metric += `.${segment ?? ownSegment(level, next)}`;
    else if (segment !== undefined) metric = `${level.name}.${segment}`;
    level = next;
  }
  const { rule } = level;
  if (rule === undefined || entries.length === 0) return undefined;
  const name = level.hasDetailedMetric
    ? detailedMetric(domainName, entries, counted)
    : (metric ?? level.name);
  return { rule, counted: counted ?? entries, metric: name };
}

/** The part of a pattern that stands for the value: all of it if the key has a wildcard too. */
function valuePattern(pattern: string, key: string): string {
  const isPrefix = pattern.startsWith(key) && pattern.charCodeAt(key.length) === 95;
  return isPrefix ? pattern.slice(key.length + 1) : pattern;
}

function joined(key: string, value: string): string {
  return value === '' ? key : `${key}_${value}`;
}

function ownSegment(parent: Level, { name }: Level): string {
  return name.slice(parent.name.length + 1);
}

/** An empty value leaves an underscore, unless a threshold is shared: so envoyproxy/ratelimit names them. */
function detailedMetric(
  domain: string,
  entries: readonly Entry[],
  counted: readonly Entry[] | undefined,
): string {
  let name = domain;
  for (const { key, value } of counted ?? entries) {
    name += counted === undefined ? `.${key}_${value}` : `.${joined(key, value)}`;
  }
  return name;
}

/** Leaves out matches whose name another match replaces. Limits that replace each other both go. An unlimited match stays. */
export function withoutReplaced(
  matched: readonly (MatchedRule | undefined)[],
): (MatchedRule | undefined)[] {
  let replaced: Set<string> | undefined;
  for (const match of matched) {
    for (const name of match?.rule.replaces ?? []) {
      replaced ??= new Set();
      replaced.add(name);
    }
  }
  if (replaced === undefined) return [...matched];
  return matched.map((match) => {
    const isKept = match === undefined || match.rule.rate === undefined;
    const name = match?.rule.limitName;
    return isKept || name === undefined || !replaced.has(name) ? match : undefined;
  });
}
