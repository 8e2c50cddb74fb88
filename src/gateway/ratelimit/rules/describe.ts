import type { CompiledRules } from './compiled-rules.ts';
import type { Entry, MatchedRule, Rule } from './rule.ts';
import type { Level, Wildcard } from './tree.ts';

/** In the order of the search. Not printable: it holds what clients send. */
export interface MatchStep {
  readonly about: 'domain' | 'entry' | 'limit' | 'counted' | 'metric';
  readonly what: string;
}

export function explainMatch(
  rules: CompiledRules,
  domain: string,
  entries: readonly Entry[],
): MatchStep[] {
  const first = rules.levelOf(domain);
  if (first === undefined) {
    const what = `${shown(domain)} is in no file, so no limit applies`;
    return [{ about: 'domain', what }];
  }
  const steps: MatchStep[] = [{ about: 'domain', what: `${shown(domain)} is in the files` }];
  let level = first;
  for (const [i, entry] of entries.entries()) {
    const number = `${i + 1} of ${entries.length}, ${shown(entry.key)}=${shown(entry.value)}`;
    const { next, lines } = searchLevel(level, entry);
    for (const line of lines) steps.push({ about: 'entry', what: `${number}: ${line}` });
    if (next === undefined) return [...steps, noLimit(level, i)];
    level = next;
  }
  const match = rules.find(domain, entries);
  return [...steps, ...(match === undefined ? [withoutRule(level, entries)] : ends(match, domain))];
}

interface LevelSearch {
  readonly next: Level | undefined;
  readonly lines: readonly string[];
}

function searchLevel(level: Level, { key, value }: Entry): LevelSearch {
  const literal = level.literal(key, value);
  if (literal !== undefined) {
    return { next: literal, lines: ['this key and value are in the file'] };
  }
  const lines = level.hasChildren ? ['this key and value are not in the file'] : [];
  const wildcard = level.wildcard(key, value);
  if (wildcard !== undefined) {
    return { next: wildcard.target, lines: [...lines, wildcardLine(level, wildcard)] };
  }
  if (level.wildcards.length > 0) {
    lines.push(`none of ${counted(level.wildcards.length, 'wildcard')} matches`);
  }
  const next = level.anyValue(key);
  if (next !== undefined)
    lines.push('the key without a value is in the file, it matches any value');
  else if (level.hasChildren) lines.push('the key without a value is not in the file either');
  return { next, lines };
}

function wildcardLine({ wildcards }: Level, found: Wildcard<Level>): string {
  const position = wildcards.indexOf(found) + 1;
  const order =
    wildcards.length === 1
      ? 'the only one here'
      : `number ${position} of ${wildcards.length} in the order of the file, the first that matches`;
  return `the wildcard ${shown(found.pattern)} matches (${order})`;
}

function noLimit({ hasChildren }: Level, matched: number): MatchStep {
  const what = hasChildren
    ? 'none: this entry matches nothing, and the search does not go back to another descriptor'
    : `none: the file has no descriptors below entry ${matched}, and a shorter match does not count`;
  return { about: 'limit', what };
}

function withoutRule({ hasChildren }: Level, entries: readonly Entry[]): MatchStep {
  if (entries.length === 0) return { about: 'limit', what: 'none: the descriptor has no entries' };
  const what = hasChildren
    ? 'none: the descriptor of the last entry has no rate_limit, only the descriptors below it have'
    : 'none: the descriptor of the last entry has no rate_limit';
  return { about: 'limit', what };
}

function ends({ rule, counted: keys, metric }: MatchedRule, domain: string): MatchStep[] {
  const counter = keys.map(({ key, value }) => `${shown(key)}=${shown(value)}`).join(', ');
  const what = `${rule.name}: ${limitText(rule)}`;
  const steps: MatchStep[] = [{ about: 'limit', what }];
  for (const each of conditions(rule)) steps.push({ about: 'limit', what: each });
  if (rule.rate !== undefined) {
    steps.push({ about: 'counted', what: `by ${shown(domain)}, ${counter}` });
  }
  return [...steps, { about: 'metric', what: metric }];
}

function limitText({ rate }: Rule): string {
  if (rate === undefined) return 'unlimited';
  const { requestsPerUnit, unit } = rate;
  return `${counted(requestsPerUnit, 'request')} per ${unit}`;
}

function conditions({ isShadow, isQuota, limitName, replaces, own }: Rule): string[] {
  const lines: string[] = [];
  const mode = own.mode ?? 'enforce';
  if (isShadow || mode === 'shadow') lines.push('in shadow mode: it counts and denies nothing');
  if (mode === 'off') lines.push('off: it neither counts nor denies');
  if (isQuota) lines.push('a quota: a request is over such limits only if it is over all of them');
  if (limitName !== undefined) {
    lines.push(`named ${shown(limitName)}: another limit of the request may replace it`);
  }
  if (replaces.length > 0) {
    lines.push(`replaces in the same request: ${replaces.map(shown).join(', ')}`);
  }
  return lines;
}

function counted(count: number, one: string): string {
  return `${count} ${one}${count === 1 ? '' : 's'}`;
}

const MAX_SHOWN = 100;

function shown(text: string): string {
  const isLong = text.length > MAX_SHOWN;
  return isLong
    ? `${JSON.stringify(text.slice(0, MAX_SHOWN))}... (${text.length} characters)`
    : JSON.stringify(text);
}
