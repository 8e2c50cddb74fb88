import { routeKeys } from '../../core/matching/matcher.ts';
import { hint } from '../closest-word.ts';
import type { DiagnosticDraft, Path } from '../diagnostic.ts';
import { limitMistakes, type Mistakes, verifiedHeaderMistakes } from './cross-check-limits.ts';
import { keyTwice, repeatedKeys } from './key-list.ts';
import { routeMatchOf } from './match.ts';
import { inlineKeys, keySources, type Sections, sourceName } from './valid-file.ts';

/** Lines count from 1. */
type LineAt = (path: Path) => number;

export function crossCheck(sections: Sections, lineAt: LineAt, max: number): DiagnosticDraft[] {
  const found: DiagnosticDraft[] = [];
  for (const mistake of mistakesIn(sections, lineAt)) {
    if (found.length >= max) break;
    found.push(mistake);
  }
  return found;
}

function* mistakesIn(sections: Sections, lineAt: LineAt): Mistakes {
  yield* nameMistakes(sections, lineAt);
  yield* limitMistakes(sections);
  yield* tieMistakes(sections, lineAt);
  yield* keyMistakes(sections);
  yield* listedClientMistakes('exempt', sections);
  yield* listedClientMistakes('block', sections);
  yield* sourceMistakes(sections);
  yield* planMistakes(sections);
  yield* verifiedHeaderMistakes(sections);
}

function* nameMistakes({ names }: Sections, lineAt: LineAt): Mistakes {
  const firsts = new Map<string, number>();
  for (const [index, name] of names.entries()) {
    if (typeof name !== 'string') continue;
    const first = firsts.get(name);
    if (first === undefined) {
      firsts.set(name, index);
      continue;
    }
    const path = ['policies', index, 'name'];
    const line = lineAt(['policies', first]);
    const message = `the policy in line ${line} has the name "${name}" too, rename one of them`;
    yield { rule: 'name-taken', path, message };
  }
}

/** Two policies tie if neither is more specific. Policies that always apply do not compete. */
function* tieMistakes({ entries, caseSensitive }: Sections, lineAt: LineAt): Mistakes {
  const taken = new Map<string, number>();
  for (const [index, entry] of entries.entries()) {
    if (entry === undefined || entry.always) continue;
    for (const key of routeKeys(routeMatchOf(entry, caseSensitive))) {
      const other = taken.get(key);
      if (other === undefined) {
        taken.set(key, index);
        continue;
      }
      const name = entries[other]?.name;
      const line = lineAt(['policies', other]);
      const message =
        `matches the same requests as policy "${name}" in line ${line}, ` +
        'make one of them more specific, or set "always: true" to apply both';
      yield { rule: 'policies-tie', path: ['policies', index, 'match'], message };
      break;
    }
  }
}

function* sourceMistakes({ identity }: Sections): Mistakes {
  const sources = (identity?.sources ?? []).map(sourceName);
  for (const [index, source] of sources.entries()) {
    const path = ['identity', 'sources', index];
    if (sources.indexOf(source) !== index) {
      const message = `${source} is listed twice, keep the first one`;
      yield { rule: 'source-twice', path, message };
    } else if (sources.slice(0, index).includes('ip')) {
      const message = `${source} is never used, because every request has an ip: put ip last`;
      yield { rule: 'source-never-reached', path, message };
    }
  }
}

/** Clients can send a header that no proxy sets. */
function* planMistakes({ identity }: Sections): Mistakes {
  const plan = identity?.plan;
  if (plan === undefined || !('header' in plan)) return;
  if (identity?.verified_headers.includes(plan.header)) return;
  const path = ['identity', 'plan', 'header'];
  const message = `clients can send ${plan.header}, too: have each proxy set or remove it, then add ${plan.header} to identity.verified_headers`;
  yield { rule: 'plan-not-verified', path, message };
}

function* keyMistakes({ identity }: Sections): Mistakes {
  // A key file is checked when it is read.
  for (const index of repeatedKeys(identity === undefined ? [] : inlineKeys(identity))) {
    yield keyTwice(['identity', 'api_key', 'keys', index, 'sha256']);
  }
}

function* listedClientMistakes(
  section: 'exempt' | 'block',
  { identity, keys, ...lists }: Sections,
): Mistakes {
  // Keys with mistakes are unknown.
  if (identity === undefined || keys === undefined) return;
  const ids = new Set(keys.map(({ id }) => id));
  for (const [index, { key }] of (lists[section] ?? []).entries()) {
    if (key === undefined) continue;
    const path = [section, index, 'key'];
    if (!ids.has(key) && !keySources(identity).inStore) {
      const message = `no key with this id is listed${hint(key, [...ids])}`;
      yield { rule: 'key-unknown', path, message };
    } else if (!identity.sources.includes('api_key')) {
      const message = 'no client has an api_key: add api_key to identity.sources';
      yield { rule: 'key-without-source', path, message };
    }
  }
}
