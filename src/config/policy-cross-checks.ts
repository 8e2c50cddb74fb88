/** Mistakes that no part of a policy file shows by itself: what two of them say together. */
import { routeKey } from '../core/matcher.ts';
import type { DefaultEntry, IdentitySection, LimitEntry, PolicyEntry } from './policy-schema.ts';
import type { LocatedMistake } from './schema-mistakes.ts';
import type { Path, YamlText } from './yaml-text.ts';

/** Parts that are mistaken in themselves are undefined here. */
interface ValidParts {
  readonly identity: IdentitySection | undefined;
  readonly fallback: DefaultEntry | undefined;
  readonly entries: readonly (PolicyEntry | undefined)[];
  /** Of the entries, also of the mistaken ones. */
  readonly names: readonly unknown[];
  readonly caseSensitive: boolean;
}

type Report = (path: Path, message: string) => void;

export function crossMistakes(parts: ValidParts, yaml: YamlText): LocatedMistake[] {
  const mistakes: LocatedMistake[] = [];
  const report: Report = (path, message) => {
    mistakes.push({ offset: yaml.offsetOf(path), path, message });
  };
  const placeOf = (path: Path) => `line ${yaml.place(yaml.offsetOf(path)).split(':')[0]}`;

  checkNames(parts.names, report, placeOf);
  for (const [index, entry] of parts.entries.entries()) {
    if (entry) checkLimits(entry.limits, entry.cost, ['policies', index], report);
  }
  if (parts.fallback) checkLimits(parts.fallback.limits, parts.fallback.cost, ['default'], report);
  checkTies(parts, report, placeOf);
  checkKeys(parts.identity, report);
  return mistakes;
}

function checkNames(
  names: readonly unknown[],
  report: Report,
  placeOf: (path: Path) => string,
): void {
  for (const [index, name] of names.entries()) {
    const first = names.indexOf(name);
    if (typeof name !== 'string' || first === index) continue;
    const place = placeOf(['policies', first]);
    report(['policies', index, 'name'], `"${name}" is taken by the policy of ${place}`);
  }
}

function checkLimits(limits: readonly LimitEntry[], cost: number, at: Path, report: Report): void {
  const seen = new Set<string>();
  for (const [index, { rate, per }] of limits.entries()) {
    const path = [...at, 'limits', index];
    const key = `${per} ${rate.windowMs}`;
    if (seen.has(key)) {
      report(
        path,
        `is the second limit per ${per} for a window of ${rate.window}, keep the lower one`,
      );
    }
    seen.add(key);
    if (cost > rate.limit) {
      report(
        path,
        `a request costs ${cost}, more than the ${rate.limit} of its window: none would pass`,
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
    const { method, host, path } = entry.match ?? {};
    const route = { host, path: caseSensitive ? path : path?.toLowerCase() };
    const methods = method === undefined ? [undefined] : [method].flat();
    for (const key of new Set(methods.map((each) => routeKey(each, route)))) {
      const other = taken.get(key);
      if (other === undefined) {
        taken.set(key, index);
        continue;
      }
      const name = entries[other]?.name ?? '';
      report(
        ['policies', index, 'match'],
        `matches the same requests as policy "${name}" of ${placeOf(['policies', other])}, ` +
          'narrow one of them, or set "always: true" to apply both',
      );
      break;
    }
  }
}

function checkKeys(identity: IdentitySection | undefined, report: Report): void {
  const digests = new Set<string>();
  for (const [index, { sha256 }] of (identity?.api_key.keys ?? []).entries()) {
    if (digests.has(sha256)) {
      report(
        ['identity', 'api_key', 'keys', index, 'sha256'],
        'is listed twice, each key has one entry',
      );
    }
    digests.add(sha256);
  }
}
