/** The limits of requests that NGINX takes from location to location. */
import { covers, literalPath } from '../shared/paths.ts';
import { joinedLevel, type Level } from './limits.ts';
import { everyLocation, inOrder, type Location } from './locations.ts';

/** Longer ways than people write. */
const MAX_STEPS = 16;
const MAX_TARGETS = 8;

/** The location that answers in the end, if the text has the path up to its variables. */
export function locationAt(server: Location, target: string): Location | undefined {
  if (target.startsWith('@')) return server.children.find(({ path }) => path === target);
  const path = /^[^?$]*/.exec(target)?.[0] ?? '';
  const literal = literalPath(path);
  if (literal === undefined) return undefined;
  const hasTemplate = ({ paths }: Location) =>
    paths?.templates.some((each) => covers(each, literal)) === true;
  return inOrder(
    server,
    (each) => hasTemplate(each) || each.path === path || hasEnding(each, path),
  )[0];
}

/** `\.php$`, `\.(php|phtml)$` and `\.php(/|$)` */
function hasEnding({ kind, path }: Location, target: string): boolean {
  const [, several, one] =
    /\\\.(?:\((?:\?:)?([\w|]+)\)|(\w+))(?:\$|\(\/\|\$\)|\(\?:\/\|\$\))?$/.exec(path) ?? [];
  const endings = (several ?? one)?.split('|') ?? [];
  return kind === 'regex' && endings.some((each) => target.endsWith(`.${each}`));
}

export interface Continued {
  readonly level: Level;
  /** The locations whose limits these are, if the location has none. */
  readonly from: readonly Location[];
}

/** NGINX counts a request in the first location with limits that it comes to. */
export function continued(
  server: Location,
  location: Location,
  seen = new Set<Location>(),
): Continued {
  const { level, targets } = location;
  if (level.limits.length > 0 || seen.size > MAX_STEPS) return { level, from: [] };
  seen.add(location);
  const all = targets.slice(0, MAX_TARGETS).flatMap((each) => locationAt(server, each) ?? []);
  const from = all.filter((each) => !seen.has(each));
  const levels = from.map((each) => continued(server, each, seen).level);
  const limited = levels.filter(({ limits }) => limits.length > 0);
  if (limited.length === 0) return { level, from: [] };
  return {
    level: joinedLevel(limited),
    from: from.filter((_, i) => levels[i]?.limits.length !== 0),
  };
}

/** The named and internal locations that requests come to from elsewhere. */
export function reached(server: Location): Set<Location> {
  const all = everyLocation(server);
  return new Set(all.flatMap((each) => continued(server, each).from));
}
