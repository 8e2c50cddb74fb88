/** Plugins of Kong's ingress controller, and the Ingress and Service objects that name them. */
import { annotationsOf, type KubernetesObject, objectsIn } from '../shared/kubernetes.ts';
import type { YamlNode } from '../shared/yaml-node.ts';
import type { Entities, Plugin, Route, RoutePath } from './entities.ts';

export function kubernetesEntities(documents: readonly YamlNode[]): Entities {
  const objects = objectsIn(documents);
  const defined = objects.filter(({ kind }) => /^Kong(Cluster)?Plugin$/.test(kind));
  const plugins = new Map(defined.map((object) => [keyOf(object), pluginOf(object)]));
  const attachedTo = (object: KubernetesObject): Plugin[] =>
    annotation(object, 'konghq.com/plugins')
      .split(',')
      .map((name) => name.trim())
      .flatMap((name) => plugins.get(`${object.namespace}/${name}`) ?? plugins.get(name) ?? []);
  const services = new Map(
    objects
      .filter(({ kind }) => kind === 'Service')
      .map((object) => [
        `${object.namespace}/${object.name}`,
        { name: object.name, plugins: attachedTo(object) },
      ]),
  );
  const routes = objects
    .filter(({ kind }) => kind === 'Ingress')
    .flatMap((object) =>
      routesOf(object).map(({ route, backend }) => {
        const service = services.get(`${object.namespace}/${backend}`);
        return { ...route, plugins: attachedTo(object), service };
      }),
    );
  /** Plugins of consumers. */
  const named = new Set<Plugin>();
  const consumers = objects
    .filter(({ kind }) => /^Kong(Consumer|ConsumerGroup)$/.test(kind))
    .flatMap((object) =>
      attachedTo(object).map((plugin) => {
        named.add(plugin);
        return { ...plugin, consumer: object.name };
      }),
    );
  const others = objects
    .filter(({ kind }) => !/^(Kong.*|Ingress|Service)$/.test(kind))
    .flatMap(attachedTo);
  const global = defined.filter(isGlobal).flatMap((object) => plugins.get(keyOf(object)) ?? []);
  const attached = new Set([
    ...[...routes, ...services.values()].flatMap((each) => each.plugins),
    ...[...global, ...consumers, ...others],
  ]);
  const unused = [...plugins.values()].filter(
    (plugin) => !attached.has(plugin) && !named.has(plugin),
  );
  return { routes, global, loose: [...consumers, ...others, ...unused] };
}

/** Cluster plugins have no namespace. */
function keyOf({ kind, namespace, name }: KubernetesObject): string {
  return kind === 'KongClusterPlugin' ? name : `${namespace}/${name}`;
}

function isGlobal({ kind, node }: KubernetesObject): boolean {
  return kind === 'KongClusterPlugin' && node.get('metadata', 'labels', 'global')?.isTrue === true;
}

function pluginOf({ node }: KubernetesObject): Plugin {
  const plugin = node.get('plugin');
  return {
    name: plugin?.text ?? '',
    config: node.get('config'),
    place: plugin?.place ?? node.place,
  };
}

function annotation(object: KubernetesObject, name: string): string {
  return annotationsOf(object).find(([key]) => key === name)?.[1].text ?? '';
}

interface IngressRoute {
  readonly route: Omit<Route, 'plugins' | 'service'>;
  readonly backend: string;
}

function routesOf(object: KubernetesObject): IngressRoute[] {
  const rules = object.node.get('spec', 'rules')?.items() ?? [];
  const methods = annotation(object, 'konghq.com/methods')
    .split(',')
    .map((each) => each.trim());
  return rules.flatMap((rule) =>
    (rule.get('http', 'paths')?.items() ?? []).map((node): IngressRoute => {
      const host = rule.get('host')?.text;
      const path = pathOf(node);
      const route = {
        ...{ name: object.name, others: [], paths: [path], place: path.place },
        hosts: host === undefined || host === '' ? [] : [host],
        methods: methods.filter((each) => each !== ''),
      };
      const backend = node.get('backend', 'service', 'name')?.text ?? '';
      return { route, backend };
    }),
  );
}

/** A path that begins with `/~` is a regular expression. */
function pathOf(node: YamlNode): RoutePath {
  const written = node.get('path')?.text ?? '/';
  const place = node.get('path')?.place ?? node.place;
  if (written.startsWith('/~')) return { text: written.slice(2), kind: 'regex', place };
  const isExact = node.get('pathType')?.text === 'Exact';
  return { text: written, kind: isExact ? 'exact' : 'prefix', place };
}
