import { routeKeys } from '../../core/matching/matcher.ts';
import { callText } from '../../core/mcp/mcp-calls.ts';
import { hint } from '../closest-word.ts';
import type { DiagnosticDraft, Path } from '../diagnostic.ts';
import { limitMistakes, type Mistakes, verifiedHeaderMistakes } from './cross-check-limits.ts';
import { keyTwice, repeatedKeys } from './key-list.ts';
import { pathRoutesOf, routesOf, type WrittenRoute } from './match.ts';
import { mcpMistakes } from './mcp-servers.ts';
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
  yield* pathMistakes(sections);
  yield* tieMistakes(sections, lineAt);
  yield* mcpMistakes(sections);
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

function* pathMistakes({ entries, caseSensitive }: Sections): Mistakes {
  for (const [index, entry] of entries.entries()) {
    const firsts = new Map<string, string | undefined>();
    for (const { match, written, at } of entry ? pathRoutesOf(entry, caseSensitive) : []) {
      // The paths of a policy have the same methods, so one of the keys tells.
      const [key = ''] = routeKeys(match);
      if (firsts.has(key)) {
        const message = `matches the same requests as "${firsts.get(key)}" in this list, remove one of them`;
        yield { rule: 'path-twice', path: ['policies', index, ...at], message };
      } else firsts.set(key, written);
    }
  }
}

/** Two policies tie if neither is more specific. Policies that always apply do not compete. */
function* tieMistakes({ entries, caseSensitive }: Sections, lineAt: LineAt): Mistakes {
  const taken = new Map<string, { readonly index: number; readonly route: WrittenRoute }>();
  for (const [index, entry] of entries.entries()) {
    if (entry === undefined || entry.always) continue;
    for (const route of routesOf(entry, caseSensitive)) {
      const keys = routeKeys(route.match);
      const other = [...keys]
        .map((key) => taken.get(key))
        .find((each) => each !== undefined && each.index !== index);
      for (const key of keys) if (!taken.has(key)) taken.set(key, { index, route });
      if (other === undefined) continue;
      const policy = `policy "${entries[other.index]?.name}" in line ${lineAt(['policies', other.index])}`;
      const namesPaths = route.isInList || other.route.isInList;
      const both = namesPaths
        ? `"${route.written}" matches the same requests as "${other.route.written}" of ${policy}`
        : `matches the same requests as ${policy}`;
      const { mcp } = route.match;
      const message = mcp
        ? `calls of "${callText(mcp)}" to ${route.written} match ${policy}, too: keep them in one of the two`
        : `${both}, make one of them more specific, or set "always: true" to apply both`;
      const at = route.isInList ? route.at : ['match'];
      yield { rule: 'policies-tie', path: ['policies', index, ...at], message };
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
