import type { FilePlace } from '../../proxy-files/file-place.ts';
import { type Directive, directiveText, named } from '../../proxy-files/nginx-syntax/directive.ts';
import { onePath, type PathTemplates, templatesOf, templatesOfPath } from '../shared/path-regex.ts';
import { ANY_PATH } from '../shared/paths.ts';
import { type Level, levelOf, NO_LIMITS } from './limits.ts';
import { type Rewrite, rewritesOf, targetsOf } from './targets.ts';

type LocationKind = 'exact' | 'final' | 'prefix' | 'regex' | 'named' | 'server';

export interface Location {
  /** `location = /login` */
  readonly title: string;
  readonly place: FilePlace;
  /** `final` is `^~`: NGINX does not try regular expressions. */
  readonly kind: LocationKind;
  readonly path: string;
  /** The paths of a policy file; undefined if it cannot name the location. */
  readonly paths: PathTemplates | undefined;
  readonly isInternal: boolean;
  readonly level: Level;
  readonly children: readonly Location[];
  /** Where NGINX may go on with a request: `@app`, `/index.php`. */
  readonly targets: readonly string[];
  readonly rewrites: readonly Rewrite[];
}

/** The whole server, with its locations inside. */
export function serverLocation(server: Directive, http: Level): Location {
  const level = levelOf(server.block, http);
  return {
    ...{ title: 'server', place: server.place, kind: 'server', path: '', level },
    ...{ paths: onePath(ANY_PATH), isInternal: false, children: within(server, level) },
    targets: targetsOf(server.block, []),
    rewrites: rewritesOf(server.block),
  };
}

function within(outer: Directive, level: Level, errorPages: readonly Directive[] = []): Location[] {
  const own = named(outer.block, 'error_page');
  const pages = own.length > 0 ? own : errorPages;
  return named(outer.block, 'location').map((location) => locationOf(location, level, pages));
}

function locationOf(location: Directive, outer: Level, pages: readonly Directive[]): Location {
  const level = returnsAtOnce(location) ? NO_LIMITS : levelOf(location.block, outer);
  const { kind, path } = nameOf(location);
  const isInternal = named(location.block, 'internal').length > 0;
  return {
    ...{ title: directiveText(location), place: location.place, kind, path, level },
    isInternal,
    paths: isInternal ? undefined : pathsOf(kind, path),
    children: within(location, level, pages),
    targets: targetsOf(location.block, pages),
    rewrites: rewritesOf(location.block),
  };
}

/** NGINX answers by `return` before it counts, unless a line before it goes elsewhere. */
export function returnsAtOnce({ block }: Directive): boolean {
  const at = block.findIndex(({ name }) => name === 'return');
  return at !== -1 && !block.slice(0, at).some(leaves);
}

function leaves({ name, args, block }: Directive): boolean {
  if (name === 'if') return block.some(leaves);
  return name === 'break' || (name === 'rewrite' && /^(last|break)$/.test(args[2] ?? ''));
}

/** `location ~^/api` and `location =/login` need no space. */
function nameOf({ args: [first = '', second] }: Directive): { kind: LocationKind; path: string } {
  const sign = second === undefined ? (/^(=|~\*|~|\^~)/.exec(first)?.[0] ?? '') : first;
  const path = second ?? first.slice(sign.length);
  if (path.startsWith('@')) return { kind: 'named', path };
  const kinds: Readonly<Record<string, LocationKind>> = {
    '=': 'exact',
    '^~': 'final',
    '': 'prefix',
  };
  return { kind: kinds[sign] ?? 'regex', path };
}

function pathsOf(kind: LocationKind, path: string): PathTemplates | undefined {
  if (kind === 'named') return undefined;
  if (kind === 'regex') return templatesOf(path);
  return templatesOfPath(path, kind === 'exact' ? 'exact' : 'prefix');
}

export function everyLocation(location: Location): Location[] {
  return [location, ...location.children.flatMap(everyLocation)];
}

interface Chosen {
  /** Those that NGINX prefers. One of them may match only a part of its templates. */
  readonly before: readonly Location[];
  /** The one whose text the path begins with. */
  readonly last: Location | undefined;
}

/**
 * The locations that match all requests of a set, the one that NGINX chooses first. Those behind the last one that NGINX
 * may choose have the limits that hold in place of limits that are left out.
 */
export function inOrder(server: Location, matches: (location: Location) => boolean): Location[] {
  const { before, last } = choose(server, matches);
  const around = everyLocation(server)
    .filter((each) => (each.kind === 'prefix' || each.kind === 'final') && matches(each))
    .sort((a, b) => b.path.length - a.path.length);
  const chosen = last === undefined ? before : [...before, last];
  return [...new Set([...chosen, ...around, server])];
}

function choose({ children }: Location, matches: (location: Location) => boolean): Chosen {
  const own = children.filter(matches);
  const exact = own.find(({ kind }) => kind === 'exact');
  if (exact !== undefined) return { before: [], last: exact };
  const [prefix] = own
    .filter(({ kind }) => kind === 'prefix' || kind === 'final')
    .sort((a, b) => b.path.length - a.path.length);
  const inner = prefix === undefined ? undefined : choose(prefix, matches);
  const last = inner?.last ?? prefix;
  const isFinal = last?.kind === 'final' || last?.kind === 'exact';
  const regexes = isFinal ? [] : own.filter(({ kind }) => kind === 'regex');
  const ofRegexes = regexes.flatMap((each) => {
    const nested = choose(each, matches);
    return [...nested.before, ...(nested.last === undefined ? [] : [nested.last]), each];
  });
  return { before: [...(inner?.before ?? []), ...ofRegexes], last };
}
