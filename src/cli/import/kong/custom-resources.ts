/** Plugins of Kong's ingress controller, and the Ingress and Service objects that name them. */
import {
  annotationList,
  annotationsOf,
  type IngressPath,
  ingressPaths,
  type KubernetesObject,
  objectsIn,
} from '../shared/kubernetes.ts';
import type { YamlNode } from '../shared/yaml-node.ts';
import type { Entities, Plugin, RoutePath } from './entities.ts';

export function kubernetesEntities(documents: readonly YamlNode[]): Entities {
  const objects = objectsIn(documents);
  const ofKind = (kind: RegExp) => objects.filter((object) => kind.test(object.kind));
  const defined = ofKind(/^Kong(Cluster)?Plugin$/);
  const plugins = new Map(defined.map((object) => [keyOf(object), pluginOf(object)]));
  const attachedTo = (object: KubernetesObject): Plugin[] =>
    annotationList(object, 'konghq.com/plugins').flatMap(
      (name) =>
        plugins.get(`${object.namespace}/${name}`) ?? plugins.get(name) ?? missing(name, object),
    );
  const services = new Map(
    ofKind(/^Service$/).map((object) => {
      const { namespace, name } = object;
      return [`${namespace}/${name}`, { name, plugins: attachedTo(object) }];
    }),
  );
  const routes = ofKind(/^Ingress$/).flatMap((object) =>
    routesOf(object).map(({ backend, ...route }) => {
      const service = services.get(`${object.namespace}/${backend}`);
      return { ...route, plugins: attachedTo(object), service };
    }),
  );
  const ofConsumers = ofKind(/^Kong(Consumer|ConsumerGroup)$/).flatMap((object) =>
    attachedTo(object).map((plugin) => ({ plugin, consumer: object.name })),
  );
  const others = ofKind(/^(?!(?:Kong.*|Ingress|Service)$)/).flatMap(attachedTo);
  const global = defined.filter(isGlobal).flatMap((object) => plugins.get(keyOf(object)) ?? []);
  const attached = new Set([
    ...[...routes, ...services.values()].flatMap((each) => each.plugins),
    ...[...global, ...others, ...ofConsumers.map(({ plugin }) => plugin)],
  ]);
  const consumers = ofConsumers.map(({ plugin, consumer }) => ({ ...plugin, consumer }));
  const unused = [...plugins.values()].filter((plugin) => !attached.has(plugin));
  return { routes, global, loose: [...consumers, ...others, ...unused] };
}

function missing(name: string, { node }: KubernetesObject): Plugin {
  return { name, config: undefined, place: node.place, isMissing: true };
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

const CONDITION = /^konghq\.com\/(headers\..+|snis|protocols)$/;

function routesOf(object: KubernetesObject) {
  const others = annotationsOf(object).flatMap(([name]) => CONDITION.exec(name)?.[1] ?? []);
  const methods = annotationList(object, 'konghq.com/methods');
  return ingressPaths(object).map(({ host, backend, place, ...path }) => {
    const hosts = host === undefined ? [] : [host];
    const paths = [pathOf(path, place)];
    return { name: object.name, others, regexPriority: 0, hosts, paths, methods, place, backend };
  });
}

/** A path that begins with `/~` is a regular expression. */
function pathOf(
  { written, type }: Pick<IngressPath, 'written' | 'type'>,
  place: RoutePath['place'],
): RoutePath {
  if (written.startsWith('/~')) return { text: written.slice(2), kind: 'regex', place };
  return { text: written, kind: type === 'Exact' ? 'exact' : 'prefix', place };
}
