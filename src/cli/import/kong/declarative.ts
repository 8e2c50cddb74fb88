/** Kong's declarative configuration, as decK and DB-less Kong have it. */
import { refuseTooMany } from '../shared/routes.ts';
import type { YamlNode } from '../shared/yaml-node.ts';
import type { Entities, Plugin, Route, RoutePath, Service } from './entities.ts';

const LISTS = ['services', 'routes', 'plugins', 'consumers', 'consumer_groups'];

export function declarativeEntities(document: YamlNode): Entities[] {
  if (!LISTS.some((list) => document.get(list)?.isList)) return [];
  const topLevel = document.itemsAt('plugins').filter(isEnabled);
  for (const list of LISTS.slice(0, 3)) {
    refuseTooMany(document.itemsAt(list).length, document.place.file);
  }
  const reader = new Reader(topLevel, isOldFormat(document));
  const services = document
    .itemsAt('services')
    .map((node) => ({ node, ids: idsOf(node), service: reader.serviceOf(node) }));
  const nested = services.flatMap(({ node, service }) =>
    node.itemsAt('routes').map((route) => reader.routeOf(route, service)),
  );
  const apart = document.itemsAt('routes').map((route) => {
    const wanted = nameIn(route.get('service'));
    const of = services.find(({ ids }) => wanted !== undefined && ids.includes(wanted));
    return reader.routeOf(route, of?.service);
  });
  const consumers = ['consumers', 'consumer_groups'].flatMap((list) =>
    document.itemsAt(list).flatMap((node) => reader.pluginsOfConsumer(node)),
  );
  const loose = [...consumers, ...reader.loosePlugins()];
  return [{ routes: [...nested, ...apart], global: reader.globalPlugins(), loose }];
}

/** Before version 3, a path with signs of an expression was one. */
function isOldFormat(document: YamlNode): boolean {
  return Number.parseInt(document.get('_format_version')?.text ?? '3', 10) < 3;
}

const CONDITIONS = ['headers', 'snis', 'sources', 'destinations', 'expression'];

/** Without protocols, a route is for HTTP and HTTPS. */
function isOfSomeProtocols(protocols: readonly string[]): boolean {
  return protocols.length > 0 && !['http', 'https'].every((each) => protocols.includes(each));
}

function isEnabled(plugin: YamlNode): boolean {
  return plugin.get('enabled')?.text !== 'false';
}

function idsOf(entity: YamlNode): string[] {
  return ['name', 'id'].flatMap((key) => entity.get(key)?.text ?? []);
}

/** A reference is a name or an id, or a map with one of them. */
function nameIn(reference: YamlNode | undefined): string | undefined {
  return (
    reference?.text ??
    reference?.get('name')?.text ??
    reference?.get('id')?.text ??
    reference?.get('username')?.text
  );
}

interface Attached {
  readonly plugin: Plugin;
  readonly service: string | undefined;
  readonly route: string | undefined;
}

class Reader {
  readonly #topLevel: readonly Attached[];
  readonly #isOld: boolean;
  readonly #attachedPlugins = new Set<Plugin>();

  constructor(topLevel: readonly YamlNode[], isOld: boolean) {
    this.#topLevel = topLevel.map((node) => ({
      plugin: pluginOf(node),
      service: nameIn(node.get('service')),
      route: nameIn(node.get('route')),
    }));
    this.#isOld = isOld;
  }

  serviceOf(node: YamlNode): Service {
    const plugins = [...this.#nested(node), ...this.#attached('service', node)];
    return { name: node.get('name')?.text ?? 'service', plugins };
  }

  routeOf(node: YamlNode, service: Service | undefined): Route {
    const list = (key: string) => node.get(key)?.texts() ?? [];
    const others = CONDITIONS.filter(
      (key) =>
        (node.get(key)?.entries().length ?? 0) > 0 ||
        (node.get(key)?.items().length ?? 0) > 0 ||
        node.get(key)?.text !== undefined,
    );
    if (isOfSomeProtocols(list('protocols'))) others.push('protocols');
    return {
      ...{ name: node.get('name')?.text ?? service?.name ?? 'route', service, others },
      regexPriority: node.get('regex_priority')?.number ?? 0,
      hosts: list('hosts'),
      methods: list('methods'),
      paths: node.itemsAt('paths').map((path) => this.#pathOf(path)),
      plugins: [...this.#nested(node), ...this.#attached('route', node)],
      place: node.place,
    };
  }

  #pathOf(node: YamlNode): RoutePath {
    const written = node.text ?? '';
    const isRegex = written.startsWith('~') || (this.#isOld && /[^\w\-./~%]/.test(written));
    const text = written.replace(/^~/, '');
    return { text, kind: isRegex ? 'regex' : 'prefix', place: node.place };
  }

  globalPlugins(): Plugin[] {
    return this.#topLevel
      .filter(({ service, route }) => service === undefined && route === undefined)
      .map(({ plugin }) => plugin);
  }

  /** Plugins of services and routes that are not in the file. */
  loosePlugins(): Plugin[] {
    const global = this.globalPlugins();
    return this.#topLevel
      .map(({ plugin }) => plugin)
      .filter((plugin) => !this.#attachedPlugins.has(plugin) && !global.includes(plugin));
  }

  pluginsOfConsumer(node: YamlNode): Plugin[] {
    const name =
      node.get('username')?.text ?? node.get('name')?.text ?? node.get('custom_id')?.text;
    return this.#nested(node).map((plugin) => ({ ...plugin, consumer: name ?? 'consumer' }));
  }

  #nested(node: YamlNode): Plugin[] {
    return node.itemsAt('plugins').filter(isEnabled).map(pluginOf);
  }

  /** A plugin that names both a service and a route is attached to the route. */
  #attached(kind: 'service' | 'route', entity: YamlNode): Plugin[] {
    const ids = idsOf(entity);
    const attached = this.#topLevel
      .filter((each) => kind === 'route' || each.route === undefined)
      .filter((each) => ids.includes(each[kind] ?? '\0'))
      .map(({ plugin }) => plugin);
    for (const plugin of attached) this.#attachedPlugins.add(plugin);
    return attached;
  }
}

function pluginOf(node: YamlNode): Plugin {
  const consumer = nameIn(node.get('consumer')) ?? nameIn(node.get('consumer_group'));
  const name = node.get('name')?.text ?? '';
  return { name, config: node.get('config'), place: node.place, consumer };
}
