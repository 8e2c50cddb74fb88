import { lineText } from '../../proxy-files/file-place.ts';
import { approximate, type Finding, leftOut } from '../shared/finding.ts';
import type { LimitedRoute } from '../shared/limited-route.ts';
import { ANY_PATH, commonPath } from '../shared/paths.ts';
import { notLimited } from '../shared/routes.ts';
import { continued, locationAt, reached } from './continued.ts';
import { type Level, signatureOf } from './limits.ts';
import { everyLocation, type Location } from './locations.ts';
import type { Rules } from './rules.ts';
import { answering, type Server } from './server.ts';
import type { Rewrite } from './targets.ts';

export interface NginxRoute extends LimitedRoute {
  readonly server: Server;
  readonly location: Location;
  readonly isRewrite: boolean;
  readonly zones: readonly string[];
}

type Way = Pick<
  NginxRoute,
  'title' | 'place' | 'condition' | 'isNarrower' | 'isRewrite' | 'location'
>;

export class RouteReader {
  readonly findings: Finding[] = [];
  readonly #general: ReadonlySet<Server>;
  readonly #rules: Rules;

  constructor(servers: readonly Server[], rules: Rules) {
    this.#general = new Set(answering(servers, undefined));
    this.#rules = rules;
  }

  routesOf(server: Server): NginxRoute[] {
    const hosts = [...(this.#general.has(server) ? [undefined] : []), ...server.hosts];
    const known = reached(server.location);
    const all = everyLocation(server.location);
    const routes = all.flatMap((location) => [
      ...this.#ofLocation(server, location, known),
      ...location.rewrites.flatMap((each) => this.#ofRewrite(server, location, each)),
    ]);
    return hosts.flatMap((host) => routes.map((route) => ({ ...route, host })));
  }

  #ofLocation(server: Server, location: Location, known: ReadonlySet<Location>): NginxRoute[] {
    const { paths, title, place, kind } = location;
    const { level, from } = continued(server.location, location);
    if (paths === undefined) {
      if (!known.has(location) || kind === 'regex') this.#leave(server, location);
      return [];
    }
    for (const { title: next } of from) {
      const why = `NGINX goes on to "${next}", whose limits hold. headgate counts all requests of ${paths.templates.join(', ')}, those that NGINX answers before, too.`;
      this.findings.push(approximate(place, title, why));
    }
    const condition = paths.isWider ? 'this expression' : undefined;
    const { isNarrower } = paths;
    const way: Way = { title, place, condition, isNarrower, isRewrite: false, location };
    return paths.templates.flatMap((template) => this.#routes(server, level, { ...way, template }));
  }

  /** Requests of a location that a policy file cannot name have the limits of the paths around it. */
  #leave(server: Server, { title, place, kind, level, isInternal }: Location): void {
    const isLater = kind === 'named' || isInternal;
    const isSame = levelsAround(server).every((each) => each === signatureOf(level));
    if (isLater ? level.limits.length === 0 || isSame : isSame) return;
    this.findings.push(leftOut(place, title, isLater ? LATER : UNNAMED));
  }

  /** A rewrite matters if it leads to limits. */
  #ofRewrite(server: Server, location: Location, rewrite: Rewrite): NginxRoute[] {
    const { title, place, paths, target, isConditional } = rewrite;
    const next = locationAt(server.location, target);
    if (next === undefined || next === location) return [];
    const { level } = continued(server.location, next);
    if (level.limits.length === 0) return [];
    if (paths === undefined) {
      this.findings.push(leftOut(place, title, UNNAMED));
      return [];
    }
    const condition = isConditional || paths.isWider ? 'this condition' : undefined;
    const { isNarrower } = paths;
    const way: Way = { title, place, condition, isNarrower, isRewrite: true, location };
    const inside = paths.templates.map((each) =>
      each === ANY_PATH ? (location.paths?.templates[0] ?? each) : each,
    );
    return inside.flatMap((template) => this.#routes(server, level, { ...way, template }));
  }

  #routes(server: Server, level: Level, way: Way & { template: string }): NginxRoute[] {
    const where = `${way.title}, ${lineText(way.place)}`;
    const mode = level.dryRun ? ('shadow' as const) : undefined;
    return this.#rules.of(level).flatMap((each): NginxRoute[] => {
      const { methods, path, zones, limits, comments } = each;
      const template = path === undefined ? way.template : commonPath(way.template, path);
      if (template === undefined) return [];
      const isLimited = limits.length > 0;
      const route = {
        ...way,
        ...{ template, server, methods, zones, host: undefined, name: way.title },
        entry: String(server.number),
        isLeftOut: !isLimited && (each.isLeftOut || level.isOpen === true),
        owner: isLimited ? `${signatureOf(level)} ${methods ?? ''} ${path ?? ''}` : '',
        rules: isLimited ? { limits, comments, mode } : notLimited(where),
      };
      return [route];
    });
  }
}

/** The limits of requests whose location has the longest text, unless NGINX tries no expressions then. */
function levelsAround({ location }: Server): string[] {
  const all = everyLocation(location).filter(({ kind }) => kind === 'prefix');
  const isWhole = all.some(({ path }) => path === '/');
  return (isWhole ? all : [location, ...all]).map(({ level }) => signatureOf(level));
}

const LATER =
  'headgate sees the path that the client sent, and NGINX comes to this location later. Write policies for the paths that you mean.';
const UNNAMED =
  'a policy file has paths such as /login, /users/:id and /files/*. headgate applies the policy of the path around it. Write policies for the paths that you mean.';
