import { readRule } from '../../traefik-rule.ts';
import { fitsRule, type Site } from '../unchecked-paths.ts';
import { at, isMap, lineOfKey, listAt, mapsWith, textAt, type YamlMap } from '../yaml.ts';

export interface Routing {
  readonly yaml: unknown;
  readonly file: string;
}

export interface Router {
  readonly name: string;
  readonly place: string;
  readonly entryPoints: string;
  readonly service: string;
  readonly middlewares: readonly string[];
  readonly priority: number;
  readonly isChecked: boolean;
  /** Undefined if the rule has conditions besides a host and paths. */
  readonly rule: Rule | undefined;
}

interface Rule {
  readonly host: string | undefined;
  /** Path prefixes end with a star. If it is empty, any path fits. */
  readonly paths: readonly string[];
}

export function traefikSites(routing: Routing): Site[] {
  return mapsWith(routing.yaml, 'routers').flatMap((map) => {
    const routers = routersIn(map, routing);
    const checked = routers.filter(({ isChecked }) => isChecked);
    return [...new Set(checked.map(({ entryPoints }) => entryPoints))].flatMap((entryPoints) => {
      const own = routers.filter((each) => each.entryPoints === entryPoints);
      const hosts = new Set(own.map(({ rule }) => rule?.host));
      return [...hosts].map((host) => siteOf(host, own));
    });
  });
}

export function leadsToHeadgate(forwardAuth: unknown): boolean {
  return /\/traefik\/?$/.test(textAt(forwardAuth, 'address') ?? '');
}

export function routersIn(http: YamlMap, { file }: Routing): Router[] {
  const { routers } = http;
  if (!isMap(routers)) return [];
  return Object.entries(routers).flatMap(([name, router]) => {
    const place = `${file}:${lineOfKey(routers, name)}`;
    return isMap(router) ? [routerOf({ name, place }, router, http)] : [];
  });
}

function siteOf(host: string | undefined, all: readonly Router[]): Site {
  const routers = all
    .filter(({ rule }) => rule === undefined || rule.host === undefined || rule.host === host)
    .sort(byPriority);
  return {
    hosts: host === undefined ? undefined : [host],
    paths: routers.flatMap(({ rule }) => (rule?.paths ?? []).map((each) => each.replace('*', ''))),
    choose(path) {
      const router = routers.find(({ rule }) => rule === undefined || takes(rule, path));
      if (router?.rule === undefined) return undefined;
      const { name, place, isChecked } = router;
      return { what: `the router ${name}`, place, isUnchecked: !isChecked };
    },
  };
}

/** Traefik tries the highest priority first. */
export function byPriority(a: Router, b: Router): number {
  return b.priority - a.priority;
}

export function takes({ paths }: Rule, path: string): boolean {
  return paths.length === 0 || paths.some((rule) => fitsRule(path, rule));
}

/** Replaces chains by their middlewares. */
export function partsOf(
  names: readonly unknown[],
  http: unknown,
  seen: Set<string> = new Set(),
): string[] {
  return names.map(plainName).flatMap((name) => {
    if (seen.has(name)) return [];
    seen.add(name);
    const parts = listAt(http, 'middlewares', name, 'chain', 'middlewares');
    return parts.length === 0 ? [name] : partsOf(parts, http, seen);
  });
}

export function isCheck(middleware: string, http: unknown): boolean {
  return leadsToHeadgate(at(http, 'middlewares', middleware, 'forwardAuth'));
}

function routerOf(named: Pick<Router, 'name' | 'place'>, value: YamlMap, http: unknown): Router {
  const middlewares = partsOf(listAt(value, 'middlewares'), http);
  const rule = textAt(value, 'rule') ?? '';
  return {
    ...named,
    entryPoints: listAt(value, 'entryPoints').map(String).sort().join(),
    priority: Number(value.priority) || rule.length,
    service: plainName(value.service ?? ''),
    middlewares,
    isChecked: middlewares.some((each) => isCheck(each, http)),
    rule: ruleOf(rule),
  };
}

export function plainName(name: unknown): string {
  return String(name).replace(/@file$/, '');
}

const READABLE: readonly string[] = ['Host', 'Path', 'PathPrefix'];

/** Returns undefined if the rule has more than one host, or other conditions. */
function ruleOf(text: string): Rule | undefined {
  const alternatives = readRule(text) ?? [];
  const isReadable = alternatives.flat().every(({ name, args: [arg = ''], isNegated }) => {
    return READABLE.includes(name) && !isNegated && !/[{}]/.test(arg);
  });
  const rules = alternatives.map((conditions) => ({
    hosts: conditions.flatMap(({ name, args }) => (name === 'Host' ? args : [])),
    paths: conditions.flatMap(({ name, args: [path = ''] }) => {
      if (name === 'Host') return [];
      return name === 'PathPrefix' ? `${path}*` : path;
    }),
  }));
  const hosts = new Set(rules.map(({ hosts: [host] }) => host?.toLowerCase()));
  const isSimple = rules.every((rule) => rule.hosts.length <= 1 && rule.paths.length <= 1);
  if (!isReadable || !isSimple || hosts.size !== 1) return undefined;
  const [host] = hosts;
  const isForAnyPath = rules.some(({ paths }) => paths.length === 0);
  return { host, paths: isForAnyPath ? [] : rules.flatMap(({ paths }) => paths) };
}
