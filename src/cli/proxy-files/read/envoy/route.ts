import { matchesExpression } from '../expression.ts';
import { at, isMap, textAt, type YamlMap } from '../yaml.ts';
import type { Filter } from './config.ts';

/** With other conditions, a route may not take a request. */
const PATH_KEYS = ['prefix', 'path', 'path_separated_prefix', 'safe_regex', 'case_sensitive'];

export function isCertain(match: unknown): boolean {
  return isMap(match) && Object.keys(match).every((key) => PATH_KEYS.includes(key));
}

export function isExactPath(match: unknown): boolean {
  return textAt(match, 'path') !== undefined;
}

/** True if the route takes some paths only, and each request for them. */
export function isNarrow(match: unknown): boolean {
  return isCertain(match) && (isExactPath(match) || mayMatch(match, '/') === false);
}

export function routeName(match: unknown): string {
  return `the route for ${pathOf(match) ?? 'this expression'}`;
}

export function pathOf(match: unknown): string | undefined {
  return textAt(match, 'prefix') ?? textAt(match, 'path') ?? textAt(match, 'path_separated_prefix');
}

/** Returns true also for other conditions, and undefined if the expression may match. */
export function mayMatch(match: unknown, path: string): boolean | undefined {
  const ignoresCase = at(match, 'case_sensitive') === false;
  const plain = (text: string | undefined) => (ignoresCase ? text?.toLowerCase() : text);
  const subject = plain(path) ?? '';
  const [prefix, exact] = [plain(textAt(match, 'prefix')), plain(textAt(match, 'path'))];
  if (prefix !== undefined) return subject.startsWith(prefix);
  if (exact !== undefined) return subject === exact;
  const folder = plain(textAt(match, 'path_separated_prefix'));
  if (folder !== undefined) return subject === folder || subject.startsWith(`${folder}/`);
  const expression = textAt(match, 'safe_regex', 'regex');
  if (expression === undefined) return true;
  return matchesExpression(`^${expression}$`, path, ignoresCase);
}

export type Setting = ReturnType<typeof settingsOf>[number];

export const PER_FILTER = 'typed_per_filter_config';

export function settingsOf(level: YamlMap) {
  const all = level[PER_FILTER];
  return Object.entries(isMap(all) ? all : {}).map(([filter, outer]) => {
    const inner = at(outer, 'config') ?? outer;
    const check = at(inner, 'check_settings');
    return {
      filter,
      isOff: at(outer, 'disabled') === true || at(inner, 'disabled') === true,
      hasRequestId: at(check, 'context_extensions', 'request_id') !== undefined,
      policy: textAt(check, 'context_extensions', 'policy'),
      hasService:
        at(check, 'http_service') !== undefined || at(check, 'grpc_service') !== undefined,
      isExtAuthz: textAt(inner, '@type')?.endsWith('.ExtAuthzPerRoute') ?? false,
    };
  });
}

/** The first level with a setting for the filter decides. */
export function isSwitchedOff(filter: Filter, levels: readonly YamlMap[]): boolean {
  for (const level of levels) {
    const own = settingsOf(level).find((setting) => setting.filter === filter.name);
    if (own !== undefined) return own.isOff;
  }
  return at(filter.map, 'disabled') === true;
}
