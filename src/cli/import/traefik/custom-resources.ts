/** Traefik's custom resources of Kubernetes, and Ingress objects that name its middlewares. */

import type { FilePlace } from '../../proxy-files/file-place.ts';
import { annotationsOf, type KubernetesObject, objectsIn } from '../shared/kubernetes.ts';
import type { YamlNode } from '../shared/yaml-node.ts';
import { middlewareOf } from './dynamic.ts';
import { type Parts, type Router, withoutProvider } from './parts.ts';

const ANNOTATION = 'traefik.ingress.kubernetes.io/router.middlewares';

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
    findings: [],
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
  const routes = node.get('spec', 'routes')?.items() ?? [];
  return routes.map((route, i) => ({
    name: routes.length === 1 ? name : `${name}-${i + 1}`,
    rule: route.get('match')?.text ?? '',
    middlewares: references(route.get('middlewares'), namespace),
    hasPriority: route.get('priority') !== undefined,
    place: route.get('match')?.place ?? route.place,
  }));
}

/** Traefik makes a router for each path of an Ingress. */
function ingressRoutes(object: KubernetesObject): Router[] {
  const annotation = annotationsOf(object).find(([name]) => name === ANNOTATION)?.[1].text ?? '';
  const middlewares = annotation
    .split(',')
    .filter((each) => each.trim() !== '')
    .map(withoutProvider);
  const rules = object.node.get('spec', 'rules')?.items() ?? [];
  return rules.flatMap((rule) =>
    (rule.get('http', 'paths')?.items() ?? []).map((path): Router => {
      const host = rule.get('host')?.text;
      const written = path.get('path')?.text ?? '/';
      const isExact = path.get('pathType')?.text === 'Exact';
      const conditions = [
        ...(host === undefined
          ? []
          : [
              host.startsWith('*.')
                ? `HostRegexp(\`{any:.+}${host.slice(1)}\`)`
                : `Host(\`${host}\`)`,
            ]),
        `${isExact ? 'Path' : 'PathPrefix'}(\`${written}\`)`,
      ];
      const place: FilePlace = path.get('path')?.place ?? path.place;
      return {
        name: object.name,
        rule: conditions.join(' && '),
        middlewares,
        hasPriority: false,
        place,
      };
    }),
  );
}
