/** Traefik's custom resources of Kubernetes, and Ingress objects that name its middlewares. */
import {
  annotationList,
  ingressPaths,
  type KubernetesObject,
  objectsIn,
} from '../shared/kubernetes.ts';
import type { YamlNode } from '../shared/yaml-node.ts';
import { entryOf, middlewareOf, type Parts, type Router, withoutProvider } from './parts.ts';

const ANNOTATION = 'traefik.ingress.kubernetes.io/router.';

/** Middlewares are named `namespace-name`, as Traefik names them. */
export function kubernetesParts(documents: readonly YamlNode[]): Parts {
  const objects = objectsIn(documents);
  const ofKind = (kind: string) => objects.filter((object) => object.kind === kind);
  return {
    middlewares: ofKind('Middleware').flatMap(({ name, namespace, node }) => {
      const spec = node.get('spec');
      if (spec === undefined) return [];
      return middlewareOf(`${namespace}-${name}`, spec).map((each) => ({
        ...each,
        chain: chainOf(spec, namespace),
      }));
    }),
    routers: [
      ...ofKind('IngressRoute').flatMap(routesOf),
      ...ofKind('Ingress').flatMap(ingressRoutes),
    ],
  };
}

function chainOf(spec: YamlNode, namespace: string): string[] {
  return references(spec.getAnyCase('chain')?.get('middlewares'), namespace);
}

function references(list: YamlNode | undefined, namespace: string): string[] {
  return (list?.items() ?? []).map((each) => {
    const name = each.get('name')?.text ?? '';
    if (name.includes('@')) return withoutProvider(name);
    return `${each.get('namespace')?.text ?? namespace}-${name}`;
  });
}

function routesOf({ name, namespace, node }: KubernetesObject): Router[] {
  const routes = node.itemsAt('spec', 'routes');
  const entryPoints = node.get('spec', 'entryPoints')?.texts() ?? [];
  const entry = entryOf(entryPoints, node.get('spec', 'tls') !== undefined);
  return routes.map((route, i) => ({
    name: routes.length === 1 ? name : `${name}-${i + 1}`,
    rule: route.get('match')?.text ?? '',
    middlewares: references(route.get('middlewares'), namespace),
    priority: route.get('priority')?.text,
    entry,
    place: route.get('match')?.place ?? route.place,
  }));
}

/** Traefik makes a router for each path of an Ingress. */
function ingressRoutes(object: KubernetesObject): Router[] {
  const middlewares = annotationList(object, `${ANNOTATION}middlewares`).map(withoutProvider);
  const hasTls = object.node.get('spec', 'tls') !== undefined;
  const entry = entryOf(annotationList(object, `${ANNOTATION}entrypoints`), hasTls);
  const [priority] = annotationList(object, `${ANNOTATION}priority`);
  return ingressPaths(object).map(({ host, written, type, place }) => {
    const isDomain = host?.startsWith('*.');
    const rule = [
      ...(host === undefined || isDomain ? [] : [`Host(\`${host}\`)`]),
      ...(isDomain ? [`HostRegexp(\`{any:.+}${host?.slice(1)}\`)`] : []),
      `${type === 'Exact' ? 'Path' : 'PathPrefix'}(\`${written}\`)`,
    ].join(' && ');
    return { name: object.name, rule, middlewares, priority, entry, place };
  });
}
