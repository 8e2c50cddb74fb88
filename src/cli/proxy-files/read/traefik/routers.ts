import { readRule } from '../../traefik-rule.ts';
import { addressOf } from '../addresses.ts';
import { fitsRule } from '../unchecked-paths.ts';
import { at, isMap, lineOfKey, listAt, mapsWith, textAt, type YamlMap } from '../yaml.ts';

/** The routers of one section, `http` or `tcp`. */
export interface Routing {
  readonly section: YamlMap;
  readonly routers: readonly Router[];
}

export type Router = Named & ReturnType<typeof routerOf>;
type Named = { readonly name: string; readonly place: string };

type Rule = NonNullable<ReturnType<typeof ruleOf>>;

export function routingsIn(yaml: unknown, file: string): Routing[] {
  return mapsWith(yaml, 'routers').map((section) => {
    const all = isMap(section.routers) ? section.routers : {};
    const routers = Object.entries(all).flatMap(([name, router]) => {
      const place = `${file}:${lineOfKey(all, name)}`;
      return isMap(router) ? [{ name, place, ...routerOf(router, section) }] : [];
    });
    return { section, routers };
  });
}

export function leadsToHeadgate(forwardAuth: unknown): boolean {
  return /\/traefik\/?$/.test(textAt(forwardAuth, 'address') ?? '');
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

function routerOf(value: YamlMap, http: unknown) {
  const middlewares = partsOf(listAt(value, 'middlewares'), http);
  const rule = textAt(value, 'rule') ?? '';
  return {
    entryPoints: listAt(value, 'entryPoints').map(String).sort().join(),
    priority: Number(value.priority) || rule.length,
    servers: serversOf(plainName(value.service ?? ''), http),
    middlewares,
    isChecked: middlewares.some((each) => isCheck(each, http)),
    rule: ruleOf(rule),
  };
}

export function plainName(name: unknown): string {
  return String(name).replace(/@file$/, '');
}

/** Follows the services that a service is made of. A service of another provider stands for itself. */
function serversOf(name: string, http: unknown): string[] {
  const servers = new Set<string>();
  // A set goes on while it grows.
  const names = new Set([name]);
  for (const each of names) {
    const service = at(http, 'services', each);
    if (service === undefined && each.includes('@') && !each.endsWith('@internal'))
      servers.add(each);
    for (const server of listAt(service, 'loadBalancer', 'servers')) {
      const address = textAt(server, 'url') ?? textAt(server, 'address');
      if (address !== undefined) servers.add(addressOf(address));
    }
    const parts = [
      ...listAt(service, 'weighted', 'services').map((part) => textAt(part, 'name')),
      textAt(service, 'mirroring', 'service'),
      textAt(service, 'failover', 'service'),
      textAt(service, 'failover', 'fallback'),
    ];
    for (const part of parts) if (part !== undefined) names.add(plainName(part));
  }
  return [...servers];
}

const READABLE: readonly string[] = ['Host', 'Path', 'PathPrefix'];

/**
 * Returns undefined if the rule has more than one host, or other conditions. Path prefixes end with a star. Without paths,
 * any path fits.
 */
function ruleOf(text: string) {
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
