/** Mistakes that no part of a policy file shows by itself: what two of them say together. */
import { routeKeys } from '../../core/matcher.ts';
import { type Algorithm, MAX_WINDOW_MS } from '../../core/store.ts';
import { hint } from '../closest-word.ts';
import type { Rule } from '../rules.ts';
import type { LocatedRemark } from '../unplaced-diagnostic.ts';
import type { Path, YamlText } from '../yaml-text.ts';
import type { AccessList } from './access-schema.ts';
import { sourceName } from './identity-config.ts';
import type { IdentitySection } from './identity-schema.ts';
import { DOUBLED, doubledKeys, type KeyEntry } from './key-list.ts';
import {
  allLimits,
  type DefaultEntry,
  type LimitEntry,
  limitLists,
  type PolicyEntry,
} from './policy-schema.ts';
import type { Rate } from './rate.ts';
import { routeMatchOf } from './route.ts';

/** Parts that are mistaken in themselves are undefined here. */
interface ValidParts {
  readonly identity: IdentitySection | undefined;
  /** Listed here or in a file of their own. */
  readonly keys: readonly KeyEntry[] | undefined;
  readonly exempt: AccessList | undefined;
  readonly block: AccessList | undefined;
  readonly fallback: DefaultEntry | undefined;
  readonly entries: readonly (PolicyEntry | undefined)[];
  /** Of the entries, also of the mistaken ones. */
  readonly names: readonly unknown[];
  readonly caseSensitive: boolean;
}

type Report = (rule: Rule, path: Path, message: string) => void;

/** At most so many, since finding the place of each takes some time. */
export function crossMistakes(parts: ValidParts, yaml: YamlText, most: number): LocatedRemark[] {
  const mistakes: LocatedRemark[] = [];
  const report: Report = (rule, path, message) => {
    if (mistakes.length >= most) return;
    mistakes.push({ rule, offset: yaml.offsetOf(path), path, message });
  };
  const placeOf = (path: Path) =>
    mistakes.length >= most ? '' : `line ${yaml.place(yaml.offsetOf(path)).line}`;

  checkNames(parts.names, report, placeOf);
  for (const [index, entry] of parts.entries.entries()) {
    if (entry) checkAllLimits(entry, parts.identity, ['policies', index], report);
  }
  if (parts.fallback) checkAllLimits(parts.fallback, parts.identity, ['default'], report);
  checkTies(parts, report, placeOf);
  checkKeys(parts.identity, report);
  checkListedClients('exempt', parts, report);
  checkListedClients('block', parts, report);
  checkSources(parts.identity, report);
  checkVerifiedHeaders(parts, report);
  return mistakes;
}

function checkNames(
  names: readonly unknown[],
  report: Report,
  placeOf: (path: Path) => string,
): void {
  const firsts = new Map<string, number>();
  for (const [index, name] of names.entries()) {
    if (typeof name !== 'string') continue;
    const first = firsts.get(name);
    if (first === undefined) {
      firsts.set(name, index);
      continue;
    }
    const place = placeOf(['policies', first]);
    report(
      'name-taken',
      ['policies', index, 'name'],
      `"${name}" is taken by the policy of ${place}`,
    );
  }
}

function checkAllLimits(
  entry: DefaultEntry,
  identity: IdentitySection | undefined,
  at: Path,
  report: Report,
): void {
  for (const { limits, path } of limitLists(entry, at)) {
    checkLimits(limits, entry.cost, identity, path, report);
  }
}

function checkLimits(
  limits: readonly LimitEntry[],
  cost: number,
  identity: IdentitySection | undefined,
  at: Path,
  report: Report,
): void {
  const seen = new Set<string>();
  for (const [index, { rate, per, algorithm, burst }] of limits.entries()) {
    const path = [...at, index];
    const key = `${per} ${rate.windowMs} ${algorithm}`;
    if (seen.has(key)) {
      report(
        'limit-twice',
        path,
        `is the second limit per ${per} for a window of ${rate.window}, keep the lower one`,
      );
    }
    seen.add(key);
    if (burst === undefined && cost > rate.limit) {
      report(
        'cost-above-limit',
        path,
        `a request costs ${cost}, more than the ${rate.limit} of its window: none would pass`,
      );
    }
    if (burst !== undefined)
      checkBurst({ rate, algorithm, burst, cost }, [...path, 'burst'], report);
    if ((per === 'user' || per === 'api_key') && identity?.sources.includes(per) === false) {
      report(
        'per-without-source',
        path,
        `nobody is known by ${per}, add ${per} to identity.sources`,
      );
    }
  }
}

function checkBurst(
  limit: { rate: Rate; algorithm: Algorithm; burst: number; cost: number },
  path: Path,
  report: Report,
): void {
  const { rate, algorithm, burst, cost } = limit;
  if (algorithm !== 'token-bucket') {
    report(
      'burst-without-bucket',
      path,
      `means nothing to ${algorithm}, add "algorithm: token-bucket" or remove it`,
    );
  }
  if (cost > burst) {
    report(
      'cost-above-limit',
      path,
      `a request costs ${cost}, more than the bucket of ${burst} holds: none would pass`,
    );
  }
  if ((burst * rate.windowMs) / rate.limit > MAX_WINDOW_MS) {
    report(
      'bucket-too-slow',
      path,
      `a bucket of ${burst} takes longer than 31d to fill at this rate, make it smaller`,
    );
  }
}

/** A header that is verified for nothing is mostly one that is spelled differently in a limit. */
function checkVerifiedHeaders({ identity, fallback, entries }: ValidParts, report: Report): void {
  // With a mistaken entry among them nobody knows what its limits are per.
  if (entries.includes(undefined) || fallback === undefined) return;
  const limits = [fallback, ...entries].flatMap((entry) => (entry ? allLimits(entry) : []));
  for (const [index, name] of (identity?.verified_headers ?? []).entries()) {
    if (limits.some(({ per }) => per === `header:${name}`)) continue;
    report(
      'verified-header-unused',
      ['identity', 'verified_headers', index],
      `no limit is per header:${name}, remove it`,
    );
  }
}

/** Each source once, and none that is never reached: every request has an address. */
function checkSources(identity: IdentitySection | undefined, report: Report): void {
  const sources = (identity?.sources ?? []).map(sourceName);
  for (const [index, source] of sources.entries()) {
    const path = ['identity', 'sources', index];
    if (sources.indexOf(source) !== index)
      report('source-twice', path, `${source} is listed twice, keep the first`);
    else if (sources.slice(0, index).includes('ip')) {
      report(
        'source-never-reached',
        path,
        `${source} is never reached after ip, which every request has: put ip last`,
      );
    }
  }
}

/** Two policies of which no rule prefers one. Those that always apply do not compete. */
function checkTies(
  { entries, caseSensitive }: ValidParts,
  report: Report,
  placeOf: (path: Path) => string,
): void {
  const taken = new Map<string, number>();
  for (const [index, entry] of entries.entries()) {
    if (entry === undefined || entry.always) continue;
    for (const key of routeKeys(routeMatchOf(entry, caseSensitive))) {
      const other = taken.get(key);
      if (other === undefined) {
        taken.set(key, index);
        continue;
      }
      const name = entries[other]?.name ?? '';
      report(
        'policies-tie',
        ['policies', index, 'match'],
        `matches the same requests as policy "${name}" of ${placeOf(['policies', other])}, ` +
          'narrow one of them, or set "always: true" to apply both',
      );
      break;
    }
  }
}

function checkKeys(identity: IdentitySection | undefined, report: Report): void {
  const keys = identity?.api_key.keys ?? [];
  // Those of a file are checked where it is read.
  if (typeof keys === 'string') return;
  for (const index of doubledKeys(keys)) {
    report('key-twice', ['identity', 'api_key', 'keys', index, 'sha256'], DOUBLED);
  }
}

/** A key that is exempt or blocked must be one that is known. */
function checkListedClients(
  section: 'exempt' | 'block',
  { identity, keys, ...parts }: ValidParts,
  report: Report,
): void {
  // With mistakes among them nobody knows the keys.
  if (identity === undefined || keys === undefined) return;
  const ids = new Set(keys.map(({ id }) => id));
  for (const [index, { key }] of (parts[section] ?? []).entries()) {
    if (key === undefined) continue;
    const path = [section, index, 'key'];
    if (!ids.has(key)) {
      report('key-unknown', path, `no key with this id is listed${hint(key, [...ids])}`);
    } else if (!identity.sources.includes('api_key')) {
      const message = 'nobody is known by api_key, add api_key to identity.sources';
      report('key-without-source', path, message);
    }
  }
}
