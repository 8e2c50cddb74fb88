import type { FilePlace } from '../../proxy-files/file-place.ts';
import { type Directive, directiveText, named } from '../../proxy-files/nginx-syntax/directive.ts';
import { approximate, type Finding } from '../shared/finding.ts';
import { templatesOf, templatesOfPath } from '../shared/path-regex.ts';
import { ANY_PATH, covers } from '../shared/paths.ts';
import { type Level, levelOf, NO_LIMITS } from './limits.ts';

export interface LocationLimits {
  /** A path of a policy file; undefined if it cannot name the location. */
  readonly template: string | undefined;
  readonly level: Level;
  /** `location = /login` */
  readonly title: string;
  readonly place: FilePlace;
  readonly isRegex: boolean;
  /** `^~` and `=`: NGINX does not try regular expressions. */
  readonly isFinal: boolean;
}

/** The whole server, and then its locations at any depth. The whole server is what `location /` says, if there is one. */
export function locationsOf(server: Directive, outer: Level): LocationLimits[] {
  const level = levelOf(server.block, outer);
  const all = within(server.block, level);
  const root = all.find(({ template, isRegex }) => template === ANY_PATH && !isRegex);
  const whole: LocationLimits = root ?? {
    ...{ template: ANY_PATH, level, title: 'server', place: server.place },
    ...{ isRegex: false, isFinal: false },
  };
  return [whole, ...all.filter((each) => each !== root)];
}

function within(block: readonly Directive[], outer: Level): LocationLimits[] {
  return named(block, 'location').flatMap((location) => {
    const level = returnsAtOnce(location) ? NO_LIMITS : levelOf(location.block, outer);
    const isInternal = named(location.block, 'internal').length > 0;
    const own = isInternal ? [] : ofLocation(location, level);
    return [...own, ...within(location.block, level)];
  });
}

/** NGINX answers by `return` before it counts. */
export function returnsAtOnce({ block }: Directive): boolean {
  return named(block, 'return').length > 0;
}

function ofLocation(location: Directive, level: Level): LocationLimits[] {
  const [first = '', second] = location.args;
  const [modifier, path] = second === undefined ? splitModifier(first) : [first, second];
  const isRegex = modifier.startsWith('~');
  const common = {
    level,
    title: directiveText(location),
    place: location.place,
    isRegex,
    isFinal: modifier === '=' || modifier === '^~',
  };
  // Without ^, an expression matches inside of paths.
  const templates = isRegex
    ? templatesOf(path)
    : templatesOfPath(path, modifier === '=' ? 'exact' : 'prefix');
  return (templates ?? [undefined]).map((template) => ({ ...common, template }));
}

/** `location ~^/api` and `location =/login` need no space. */
function splitModifier(text: string): [string, string] {
  const modifier = /^(=|~\*|~|\^~)/.exec(text)?.[0] ?? '';
  return [modifier, text.slice(modifier.length)];
}

/** Regular expressions win over longer prefixes in NGINX, and not in headgate. */
export function orderFindings(locations: readonly LocationLimits[]): Finding[] {
  return locations.flatMap((regex) => {
    if (!regex.isRegex || regex.template === undefined) return [];
    const hidden = locations.find(
      (each) =>
        !each.isRegex &&
        !each.isFinal &&
        each.template !== ANY_PATH &&
        each.level.limits !== regex.level.limits &&
        covers(regex.template, each.template),
    );
    if (hidden === undefined) return [];
    const why = `NGINX prefers this location to "${hidden.title}", and headgate does not. Check which limits requests of ${hidden.template} should have.`;
    return [approximate(regex.place, regex.title, why)];
  });
}
